"""What `scrapy try` does with the declaration of a JSON API: it shows how many records of a page fill each field.

A path that is wrong gives nothing, and no error: it shows here, as a field that no record fills.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scrapy
from scrapy.exceptions import UsageError

from crawlers.components.politeness import failures
from crawlers.exceptions import AnswerError
from crawlers.kinds.api import query
from crawlers.kinds.api.declaration import Variable
from crawlers.kinds.api.file import PORTAL, load
from crawlers.kinds.api.mapping import Reading
from crawlers.kinds.api.query import Answer, Ask, Query
from crawlers.kinds.api.spider import detail, detail_address
from crawlers.listing.walk import Walk
from crawlers.operate.pages import PagesError, crawl_error, end_at_once, is_address
from crawlers.operate.sources.dry_run import Coverage, coverage, lines
from crawlers.safety import strict_json
from crawlers.safety.redact import one_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Iterator, Mapping

    from scrapy import Request
    from scrapy.commands import ScrapyCommand
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.items import Dataset
    from crawlers.kinds.api.declaration import Declaration

_LARGEST = 64 * 1024 * 1024  # bytes of a saved page
_NOWHERE = "https://portal.invalid"
"""What ``{portal}`` stands for in a saved page."""
_ROWS = 20
_NAMES = 16  # characters of the first column


@dataclass(frozen=True, slots=True)
class Tried:
    """A page of an API, read by a declaration.

    Args:
        url: of the page.
        declaration: what it was read by.
        portal: what ``{portal}`` stood for.
        page: its JSON.
        headers: of the answer; a saved page has none.
        details: what was requested for its first dataset, by `Follow.into`: the JSON, or why there is none.
    """

    url: str
    declaration: Declaration
    portal: str
    page: Any
    headers: query.Headers = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)

    def found(self) -> dict[str, Any]:
        """Return what the page holds, as ``--json`` prints it."""
        declaration = self.declaration
        refusal = query.refusal(self.page, declaration.list)
        records = query.records(self.page, declaration.list)
        read = [Reading(record, declaration) for record in records or []]
        kept = [record for record in read if record.is_dataset]
        followed = {into: one for into, one in self.details.items() if not isinstance(one, AnswerError)}
        if kept and followed:
            kept[0] = Reading(kept[0].record | followed, declaration)
        items = [record.dataset(self.portal, "try") for record in kept]
        shown = [self._fields(item) for item in items]
        is_torn = len(followed) < len(self.details)
        nameless = sum(1 for one in shown if one["id"] is None)
        return {
            "url": self.url,
            "declaration": declaration.name,
            "refusal": refusal,
            "records": None if records is None else len(records),
            "skipped": len(records or []) - len(kept),
            "total": query.total(self.page, declaration.list.total, self.headers),
            "next": self._next(read),
            "follow": {into: _found(one) for into, one in self.details.items()},
            "fields": [asdict(one) for one in coverage(shown)],
            "flaws": sorted({flaw for item in items for flaw in item.flaws}),
            "missing": ["records"] if refusal or not kept else ["id"] * bool(nameless) + ["follow"] * is_torn,
        }

    def _fields(self, item: Dataset) -> dict[str, Any]:
        """Return the fields that the declaration names, and those of the resources."""
        found = {"id": item.id or None} | {name: _plain(getattr(item, name)) for name in self.declaration.fields}
        if self.declaration.resources:
            names = dict.fromkeys(name for each in self.declaration.resources for name in each.fields)
            each = [{name: _plain(getattr(one, name)) for name in ("id", *names)} for one in item.resources]
            found["resources"] = each
        return found

    def _next(self, records: list[Reading]) -> Any:
        try:
            query, walk = Query(self.declaration, self.portal, _ROWS), Walk(ask=Ask())
            following = query.following(Answer(self.page, records, self.url, self.headers), walk)
            return None if following is None else query.place(replace(walk, ask=following))
        except AnswerError as error:
            return str(error)


def _found(detail: Any) -> Any:
    """Return how much of a detail came, or why nothing did."""
    return str(detail) if isinstance(detail, AnswerError) else len(detail) if isinstance(detail, list) else 1


def _plain(value: Any) -> Any:
    """Return a field's value as plain JSON."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def preview(command: ScrapyCommand, args: list[str], opts: argparse.Namespace) -> bool:
    """Print what a declaration finds on pages of an API.

    Returns:
        whether each has records with ids, and what is requested for its first dataset came.

    Args:
        args: the declaration, then addresses or files of pages; the address of a portal stands for its first page.
        opts: the command's options.

    Raises:
        CrawlersError: the declaration is invalid, or a page is not available.
    """
    declaration = load(args[0])
    named = args[1:] or _own(declaration)
    asked = [one for one in dict.fromkeys(named) if is_address(one)]
    came: dict[str, Any] = {one: _saved(Path(one)) for one in named if one not in asked}
    if asked:
        _crawl(command, declaration, asked, came)
    pages = {one: _page(one, came) for one in named}
    results = [
        Tried(
            one,
            declaration,
            _portal(one, declaration),
            page,
            came[one].get("headers", query.NONE),
            came[one].get("details", {}),
        ).found()
        for one, page in pages.items()
    ]
    if opts.json:
        print(json.dumps(results, ensure_ascii=False, indent=2))
    else:
        width = shutil.get_terminal_size().columns
        print("\n".join(line for one in results for line in _lines(one, declaration, width)))
    return not any(one["missing"] for one in results)


def _own(declaration: Declaration) -> list[str]:
    """Return the address of the listing, if it needs no portal.

    Raises:
        UsageError: it needs one.
    """
    if not PORTAL.isdisjoint(declaration.list.url.names):
        raise UsageError("name the portal's address, or a page of its API as an address or a file", print_help=False)
    return [Query(declaration, "").address(declaration.list.url)]


def _portal(address: str, declaration: Declaration) -> str:
    """Return the portal of an address, which is the portal's own or that of a page of its API; a file has none."""
    if not is_address(address):
        return _NOWHERE
    path = declaration.list.url.text.removeprefix("{portal}").partition("{")[0]
    is_page = bool(path) and path in address
    return address.rpartition(path)[0] if is_page else address.rstrip("/")


def _page(typed: str, came: dict[str, Any]) -> Any:
    found = came.get(typed, "the crawl ended before it was loaded")
    if isinstance(found, AnswerError | str):
        raise PagesError(f"{typed} is not available: {str(found).rstrip('.')}.")
    return found["json"]


def _saved(path: Path) -> dict[str, Any]:
    """Return a saved page.

    Raises:
        PagesError: the file is not readable, or has no JSON.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise PagesError(f"{path} is larger than {_LARGEST} bytes.")
        return {"json": strict_json.loads(path.read_bytes())}
    except OSError as error:
        raise PagesError(f"{path} is neither an http(s) address nor a readable file: {error.strerror}.") from None
    except (ValueError, AnswerError) as error:
        raise PagesError(f"{path} is not JSON: {error}.") from None


class AnswersSpider(scrapy.Spider):
    """Requests the first page of portals, or pages of their APIs; and what a crawl would for the first dataset there.

    Attributes:
        came: the JSON of each address, with the details of its first dataset, or the error.
        secret_headers: as `crawlers.safety.tokens` wants them.
    """

    name = "answers"
    custom_settings = {"ITEM_PIPELINES": {}}  # noqa: RUF012

    def __init__(self, declaration: Declaration, addresses: list[str], came: dict[str, Any]) -> None:
        super().__init__()
        self.start_urls = addresses  # so these hosts may be private
        self.declaration, self.came = declaration, came
        headers = declaration.list.headers.items()
        self.secret_headers = {
            name: value.env for name, several in headers for value in several if isinstance(value, Variable)
        }

    async def start(self) -> AsyncIterator[Request]:
        end_at_once()
        for address in self.start_urls:
            yield self.request(address)

    def request(self, address: str) -> Request:
        portal = _portal(address, self.declaration)
        query = Query(self.declaration, portal, _ROWS)
        keywords: dict[str, Any] = {"callback": self.parse_page, "errback": self.failed}
        keywords |= {"cb_kwargs": {"address": address}, "dont_filter": True}
        if portal != address.rstrip("/"):
            return scrapy.Request(address, headers=query.headers(), **keywords)
        return query.request(Walk(ask=Ask()), "", **keywords)

    def parse_page(self, response: Response, address: str) -> Iterator[Request]:
        try:
            page = strict_json.loads(response.body)
        except AnswerError as error:
            self.came[address] = error
            return
        except ValueError as error:
            self.came[address] = AnswerError("not_json", f"it is not JSON: {error}")
            return
        self.came[address] = {"json": page, "headers": query.headers(response), "details": {}}
        read = (Reading(one, self.declaration) for one in query.records(page, self.declaration.list) or [])
        if self.declaration.follow and (first := next((one for one in read if one.is_dataset), None)):
            yield from self.details(response, address, first.record)

    def details(self, response: Response, address: str, record: Any) -> Iterator[Request]:
        """Yield the request for the next thing that a record lacks."""
        portal, came = _portal(address, self.declaration), self.came[address]["details"]
        for wanted in self.declaration.follow:
            if wanted.into in came:
                continue
            reading = Reading(record, self.declaration)
            if target := detail_address(wanted, reading, portal, response.url):
                try:
                    Query(self.declaration, portal).check_host(target)
                except AnswerError as error:
                    came[wanted.into] = error
                    continue
                keywords = {"address": address, "record": record, "into": wanted.into}
                yield scrapy.Request(
                    target,
                    self.parse_detail,
                    errback=self.detail_failed,
                    headers=Query(self.declaration, portal, _ROWS).headers(),
                    cb_kwargs=keywords,
                    dont_filter=True,
                )
                return

    def parse_detail(self, response: Response, address: str, record: Any, into: str) -> Iterator[Request]:
        wanted = next(one for one in self.declaration.follow if one.into == into)
        try:
            found = detail(wanted, strict_json.loads(response.body))
        except AnswerError as error:
            found = error
        except ValueError as error:
            found = AnswerError("not_json", f"it is not JSON: {error}")
        self.came[address]["details"][into] = found
        yield from self.details(response, address, record | ({} if isinstance(found, AnswerError) else {into: found}))

    def detail_failed(self, failure: Failure) -> Iterator[Request]:
        known, error = failures.request(failure).cb_kwargs, failures.from_failure(failure)
        self.came[known["address"]]["details"][known["into"]] = error
        yield from ()

    def failed(self, failure: Failure) -> None:
        self.came[failures.request(failure).cb_kwargs["address"]] = failures.from_failure(failure)


def _crawl(command: ScrapyCommand, declaration: Declaration, addresses: list[str], came: dict[str, Any]) -> None:
    error = crawl_error(command, AnswersSpider, declaration=declaration, addresses=addresses, came=came)
    if error is not None:
        raise PagesError(f"The crawl could not start: {type(error).__name__}: {error}") from error


def _lines(result: dict[str, Any], declaration: Declaration, width: int) -> Iterator[str]:
    yield result["url"]
    if result["refusal"]:
        yield _line("refused", result["refusal"])
    if result["records"] is None:
        yield _line("records", f"no list at {declaration.list.records.text}")
    else:
        stated = "" if result["total"] is None else f" of {result['total']} that the page states"
        skipped = f", {result['skipped']} of them no datasets" if result["skipped"] else ""
        yield _line("records", f"{result['records']}{stated}{skipped}")
    if declaration.list.total and result["total"] is None:
        yield _line("total", f"no number at {declaration.list.total.text}")
    nothing = f", nothing at {declaration.list.next.text}" if declaration.list.next and not result["next"] else ""
    yield _line("next page", f"{result['next'] or 'none'}, by {declaration.list.paging.kind}{nothing}")
    yield from (_line("follow", _followed(one.into, result["follow"])) for one in declaration.follow)
    yield from lines([Coverage(**one) for one in result["fields"]], width)
    yield from (_line("flaw", one) for one in result["flaws"][:5])
    yield ""


def _followed(into: str, found: dict[str, Any]) -> str:
    """Return what was requested for the first dataset, as a line."""
    if into not in found:
        return f"{into}: not requested: the first dataset needs it not, or this is a saved page"
    came = found[into]
    return f"{into}: {came}" if isinstance(came, str) else f"{into}: {came} of the first dataset"


def _line(name: str, text: Any) -> str:
    return f"  {name:<{_NAMES}}{one_line(str(text), 200)}"
