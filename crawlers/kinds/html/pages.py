"""Datasets' pages -> items: requested, read with the RDF that they link to, and asked again if a listing lacks them."""

from __future__ import annotations

import hashlib
import re
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

from scrapy import Request

from crawlers.components.politeness import failures
from crawlers.exceptions import AnswerError
from crawlers.kinds.dcat.answer import read
from crawlers.kinds.dcat.page import RDFPage
from crawlers.kinds.dcat.translation import TaughtPage
from crawlers.kinds.html.answer import page_of
from crawlers.kinds.html.links import at_home, canonical, chosen, has_no_id
from crawlers.kinds.html.links import dataset_id as identify
from crawlers.kinds.html.mapping import dataset, document, missing
from crawlers.kinds.html.paging import anchors, best
from crawlers.listing.confirmation import Confirmation, Fate
from crawlers.listing.crawl import in_turns
from crawlers.listing.withdrawals import CONTROLS
from crawlers.records.moment import now
from crawlers.records.rdf import formats
from crawlers.safety import strict_json

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.items import Dataset
    from crawlers.kinds.html.links import Link
    from crawlers.kinds.html.rules import PageRDF, Rules
    from crawlers.listing.crawl import Crawl
    from crawlers.listing.withdrawals import Withdrawals
    from crawlers.records.html_page import Page
    from crawlers.signals import Stage
    from crawlers.store.index import Held


_SEVERAL = 2
_MOST = 10_000  # datasets of one file that are searched for the page's own
GONE = (404, 410)
SOURCES = ("html", "schema_org", "rdf", "schema_org+html", "rdf+html")
"""The ``metadata_source`` of a record that began with a page."""


class DatasetPages:
    """Requests and reads the datasets' pages; with ``since=last`` only those that have changed.

    The spider has it as an attribute: its callbacks are stored so.

    Args:
        own: the fields that the spider's class says in Python.
    """

    def __init__(self, crawl: Crawl, site: Rules, own: Callable[[Page], dict[str, Any]]) -> None:
        self.crawl, self.site, self.own = crawl, site, own
        self.linked_rdf = LinkedRDF(crawl, site, self.items)

    # Requests

    def requests(self, link: Link, modified: str | None = None) -> Iterator[Request]:
        """Yield the request for a dataset's page, unless its sitemap's date shows that it has not changed.

        Args:
            modified: the day its page last changed, if the listing states it.
        """
        known = self.crawl.opened_index().documents.get("dataset", link.id, None) if self.crawl.args["since"] else None
        stamp = ""  # of the version on disk; none if the file is gone, or other rules read it
        if known and known.status != "withdrawn":
            document = strict_json.of_file(self.crawl.opened_index().folder, known.file)
            valid = (known.metadata_modified or "").rpartition("#")[0]
            stamp = valid if known.metadata_modified == self._stamp(valid, document) else ""
        dated, _, validator = stamp.partition(" ") if stamp.startswith("lastmod=") else ("", "", stamp)
        if modified and dated == f"lastmod={modified}":
            self._settle_unchanged(link.id)
            return
        request = self.request(link.url, link.id, self.parse_dataset, self.dataset_failed)
        if modified:
            request = request.replace(cb_kwargs={**request.cb_kwargs, "modified": modified})
        if validator:  # on the condition that the page differs from the version on disk
            name = "If-None-Match" if validator.endswith('"') else "If-Modified-Since"
            meta = {**request.meta, "handle_httpstatus_list": [304], "dont_cache": True}
            request = request.replace(headers={**request.headers, name: validator}, meta=meta)
        yield request

    def request(self, url: str, dataset_id: str, callback: Any, errback: Any) -> Request:
        """Return the request for a dataset's page."""
        meta = {"browser": {"kind": None, "times": 0}} if "datasets" in self.site.browser else {}
        return Request(url, callback=callback, errback=errback, cb_kwargs={"dataset_id": dataset_id}, meta=meta)

    def dataset_failed(self, failure: Failure) -> None:
        request = failures.request(failure)
        subject = {"dataset_id": request.cb_kwargs["dataset_id"], "missing": "dataset"}
        error, status = failures.from_failure(failure), failures.status(failure)
        self.crawl.failed("fetch", error, request, http_status=status, **subject)

    # What has not changed

    def _settle_unchanged(self, dataset_id: str) -> None:
        """Count a dataset as unchanged; what this run itself wrote before it was killed keeps its status."""
        index, records = self.crawl.opened_index(), self.crawl.records
        known = index.documents.get("dataset", dataset_id, None)
        if known:
            index.put("dataset", dataset_id, None, known._replace(seen=now("milliseconds")))
        is_written = known is not None and known.run == records.job.state.get("run")
        records.settle(("dataset", dataset_id, None), known.status if known and is_written else "unchanged")

    # Answers

    def parse_dataset(
        self, response: Response, dataset_id: str, modified: str | None = None
    ) -> Iterator[Dataset | Request]:
        if response.status == 304:
            self._settle_unchanged(dataset_id)
            return
        yield from self.crawl.guarded(self._read(response, dataset_id, modified), response, {"id": dataset_id})

    def _read(self, response: Response, dataset_id: str, modified: str | None) -> Iterator[Dataset | Request]:
        try:
            found, link = self.read(response, dataset_id)
        except AnswerError as error:
            _report_unread(self.crawl, error, response.request, dataset_id, response.status)
            return
        about: dict[str, Any] = {"dataset_id": dataset_id, "found": found, "validator": validator(response, modified)}
        if link and self.crawl.seen(link, list_name="rdf", listed_by=dataset_id):  # several pages' RDF: the catalogue's
            about["validator"] = ""  # it would be the page's, not its RDF's
            yield self.linked_rdf.request(link, about)
        else:
            if link and self.site.rdf:
                add_flaw(found, "the RDF that the page links to is that of another page, too")
            yield from self.items(response.request, **about)

    def read(self, response: Response, dataset_id: str) -> tuple[dict[str, Any], str | None]:
        """Return the document of a dataset's page, and the address of its RDF.

        Raises:
            AnswerError: it is not an HTML page, or it redirects elsewhere: to the listing, to a login.
        """
        if self._is_elsewhere(response, dataset_id):
            raise AnswerError("missing_field", f"the dataset's page leads to {response.url}, which is no dataset")
        page = page_of(response)
        found = document(page, self.site)
        found["fields"] |= self.own(page)
        needs_rdf = self.site.rdf or found.keys().isdisjoint(("schema_org", "rdf"))
        return found, rdf_link(page, self.site, dataset_id) if needs_rdf else None

    def _is_elsewhere(self, response: Response, dataset_id: str) -> bool:
        """Return whether a redirect led to the listing, to no dataset's address, or to another dataset's page."""
        if "redirect_urls" not in response.meta:
            return False
        here = canonical(response.url, self.site.links.drop)
        if here in {canonical(start, self.site.links.drop) for start in self.site.start}:
            return True
        if self.site.links.id or self.site.links.pattern:
            return not chosen([here], self.site) or has_no_id(here, self.site)
        return not self.crawl.seen(here, list_name="landed", listed_by=dataset_id)

    # The item

    def items(
        self, request: Request | None, *, dataset_id: str, found: dict[str, Any], validator: str
    ) -> Iterator[Dataset]:
        """Yield the item of a page's document; report a page that lacks a required field."""
        lacking = missing(found, self.site)
        if lacking:
            message = f"{found['url']} has no {' and no '.join(lacking)}, so it is not kept: look at the rules"
            _report_unread(self.crawl, AnswerError("missing_field", message), request, dataset_id)
            return
        item = dataset(found, source=self.crawl.source, id=dataset_id)
        item.name = _slug(found["url"], dataset_id)
        item.metadata_url = found["url"]
        item.metadata_modified = self._stamp(validator, found)
        item.retrieved = now()
        self.crawl.run_state.resources += len(item.resources)
        yield item

    def _stamp(self, validator: str, found: dict[str, Any]) -> str:
        """Return what identifies a page's version: its validator, the catalogue, a digest of what the rules found."""
        read = hashlib.sha256(self.site.digest.encode() + strict_json.dumps(found)).hexdigest()[:16]
        return f"{validator}#{self.owner}.{read}"

    @cached_property
    def owner(self) -> str:
        """What tells this catalogue's documents from another's in the same folder, however its rules change."""
        return hashlib.sha256("\n".join(sorted(self.site.start)).encode()).hexdigest()[:8]


def _report_unread(
    crawl: Crawl, error: AnswerError, request: Request | None, dataset_id: str, status: int | None = None
) -> None:
    crawl.failed("parse", error, request, http_status=status, dataset_id=dataset_id, missing="dataset")


def _slug(url: str, dataset_id: str) -> str | None:
    """Return the readable end of an address, for the file's name.

    >>> _slug("https://example.org/d/Street-trees.html", "https://example.org/d/street-trees.html")
    'Street-trees'
    >>> _slug("https://example.org/view.aspx?id=7", "7"), _slug("https://example.org/d/7", "7")
    (None, None)
    """
    parts = urlsplit(url)
    end = unquote(parts.path.rstrip("/").rpartition("/")[2]).partition(";")[0]
    name = re.sub(r"\.(s?html?|php|aspx?|jsp|do)$", "", end)
    return name if name and name != dataset_id and not parts.query else None


def validator(response: Response, modified: str | None) -> str:
    """Return what shows a later crawl whether the page has changed: sitemap's date, ETag or Last-Modified, or ""."""
    values = [(response.headers.get(name) or b"").decode("latin-1").strip() for name in ("ETag", "Last-Modified")]
    day, over = modified or "", (datetime.now(UTC) - timedelta(days=2)).date().isoformat()
    # a day that is over everywhere: what changes again on the same day has the same date
    is_past = bool(re.fullmatch(r"\d{4}-\d\d-\d\d[^\s#]{0,30}", day)) and day[:10] < over
    return (f"lastmod={modified} " if is_past else "") + next(filter(None, values), "")


# The RDF that a dataset's page links to


def rdf_link(page: Page, rules: Rules, dataset_id: str | None = None) -> str | None:
    """Return the address of the page's RDF: the rule's, else that of ``<link rel="alternate">``.

    Args:
        dataset_id: the dataset's, for an address that has it in it.
    """
    asked = rules.rdf
    if asked and asked.way:
        name = asked.way.attr or "href"
        given = (each if isinstance(each, str) else each.get(name) or "" for each in page.find(str(asked.way.xpath)))
        return next(filter(None, map(page.absolute, given)), None)
    if asked and asked.link:
        if "{id}" in asked.link or "{url}" in asked.link:
            url, is_query = page.url.partition("#")[0], "?" in asked.link.partition("{url}")[0]
            written = asked.link.replace("{url}", quote(url, safe="") if is_query else url)
            return page.absolute(written.replace("{id}", quote(dataset_id or identify(canonical(page.url), rules))))
        found = best(anchors(page, page.root), asked.link)
        return str(found.address) if found else None
    if not rules.structured and not asked:
        return None
    offered: dict[Any, str] = {}
    for element in page.find("//link[@href and @type and contains(concat(' ', @rel, ' '), ' alternate ')]"):
        format_ = formats.by_media_type(element.get("type"))
        address = page.absolute(element.get("href"))
        if format_ is not None and address:
            offered.setdefault(format_, address)
    ranked = (offered[format_] for format_ in formats.FORMATS if format_ in offered)
    return next(filter(rules.follows, ranked), None)


class LinkedRDF:
    """Requests the RDF that a dataset's page links to, and adds its description to the page's document.

    The spider has it as an attribute: its callbacks are stored so.

    Args:
        items: yields the item of a page's document: `DatasetPages.items`.
    """

    def __init__(self, crawl: Crawl, site: Rules, items: Callable[..., Iterator[Dataset]]) -> None:
        self.crawl, self.site, self.items = crawl, site, items

    def request(self, link: str, about: dict[str, Any]) -> Request:
        """
        Args:
            about: the arguments of `items`.
        """
        return Request(
            link,
            headers={"Accept": formats.ACCEPT},
            callback=self.parse_rdf,
            errback=self.rdf_failed,
            cb_kwargs=about,
            meta={"spool": True},
            priority=1,
        )

    async def parse_rdf(self, response: Response, **about: Any) -> AsyncIterator[Dataset]:
        most = self.crawl.crawler.settings.getint("JSON_MAXSIZE")
        try:
            await describe(response, about["found"], self.site.rdf, source=self.crawl.source, most_json=most)
        except AnswerError as error:
            for item in self._without_rdf("parse", error, response.request, None, about):
                yield item
            return
        items = self.items(response.request, **about)
        for item in self.crawl.guarded(items, response, {"id": about["dataset_id"]}):
            yield item

    def rdf_failed(self, failure: Failure) -> Iterator[Dataset]:
        request, status = failures.request(failure), failures.status(failure)
        yield from self._without_rdf("fetch", failures.from_failure(failure), request, status, request.cb_kwargs)

    def _without_rdf(
        self, stage: Stage, error: AnswerError, request: Request | None, status: int | None, about: dict[str, Any]
    ) -> Iterator[Dataset]:
        """Keep a document on disk that has the RDF; else yield the item of what the page itself says.

        RDF that can't be read is a flaw of that item.
        """
        dataset_id, index = about["dataset_id"], self.crawl.opened_index()
        known = index.documents.get("dataset", dataset_id, None)
        kept = known if known and known.status != "withdrawn" else None
        document = strict_json.of_file(index.folder, kept.file) if kept else None
        if isinstance(document, dict) and "rdf" in document:  # which a new one would lack
            self.crawl.failed(stage, error, request, http_status=status, dataset_id=dataset_id, missing="dataset")
            return
        if error.kind == "invalid_rdf":
            error = AnswerError("unreadable_statement", f"the RDF that the page links to can't be read: {error}")
        self.crawl.failed(stage, error, request, http_status=status, dataset_id=dataset_id, field="rdf")
        yield from self.items(request, **about)


async def describe(
    response: Response, found: dict[str, Any], asked: PageRDF | None, *, source: str, most_json: int
) -> None:
    """Add the RDF of the dataset that a page describes to the page's document; none if the RDF describes others.

    RDF that the rules ask for may describe several datasets, and is kept if it is about the page, whatever it calls it.
    Its only dataset is kept with a flaw if it has another address; several such are a flaw. Other RDF of several
    datasets is the whole catalogue's.

    Args:
        found: what the page itself says; gets ``rdf``, and ``rdf_by`` if it is not DCAT.

    Raises:
        AnswerError: it is not RDF, or cannot be read to its end.
    """
    taught = asked.taught if asked else None
    make = partial(TaughtPage, taught) if taught else RDFPage
    file = read(response, name=source, language=None, max_json=most_json, make=make)
    if not isinstance(file, RDFPage):
        raise AnswerError("not_rdf", "the link to the dataset's RDF leads to something else")
    with closing(file):
        await in_turns(file.load())
        if file.faults:
            raise AnswerError("invalid_rdf", file.faults[0].message)
        if not asked and len(list(islice(file.records(), 2))) > 1:
            return
        own, is_other = _own(file, found, response.url)
        taught_by = {"rdf_by": asked.content} if asked and taught else {}
        document = own.document if own and isinstance(own.document, dict) else None
        if document is not None and not is_other:
            found |= {"rdf": document, **taught_by}
        elif asked and (name := next(filter(file.is_described, (found["url"], response.url)), None)):
            found |= {"rdf": file.record(name).item().document, "rdf_by": {}}
            said = "the RDF of the page calls it no dataset, and is kept as it is"
            add_flaw(found, f"{said}: say its class and [rdf.fields] in the rules")
        elif asked and own and document is not None:
            found |= {"rdf": document, **taught_by}
            add_flaw(found, f"the RDF of the page names another address, and is kept as its only dataset: {own.uri}")
        elif asked:
            add_flaw(found, "the RDF that the page links to describes no dataset of this page")


def add_flaw(found: dict[str, Any], sentence: str) -> None:
    """Add what is wrong to a page's document."""
    found["flaws"] = [*found.get("flaws", ()), sentence]


def _own(file: RDFPage, found: dict[str, Any], link: str) -> tuple[Dataset | None, bool]:
    """Return the page's dataset: by its address, its title, or as the only one of a file below the page.

    Else it is the only one of the file, and ``True``: that it is the page's is not sure.
    """
    page = found["url"]
    titles = [found["fields"].get("title", {}).get("value"), (found.get("schema_org") or {}).get("name")]
    named = {*map(_plain, filter(None, titles))}
    here = canonical(page)
    items: list[Dataset] = []
    for item in (record.item() for record in islice(file.records(), _MOST)):
        if here in (_address(each, page) for each in (item.uri, item.landing_page, item.identifier)):
            return item, False
        items += [item] if _plain(item.title) in named or len(items) < _SEVERAL else []
    titled = next((item for item in items if _plain(item.title) in named), None)
    if titled or len(items) != 1:
        return titled, False
    return items[0], not link.startswith(page.partition("?")[0].removesuffix(".html"))


def _address(text: str | None, page: str) -> str:
    """Return an address in one notation, with the page's own spelling of its host; ``""`` for what is none."""
    try:
        return canonical(at_home(text or "", page))
    except ValueError:
        return ""


def _plain(text: Any) -> str:
    return " ".join(str(text or "").casefold().split())


# What happens to a dataset that a complete listing no longer has


class GonePages(Confirmation):
    """Requests the page of each dataset that is no longer listed, and withdraws the dataset if it is gone."""

    list_name = "unlisted"
    by = "its page"

    def __init__(self, crawl: Crawl, withdrawals: Withdrawals, pages: DatasetPages) -> None:
        super().__init__(crawl, withdrawals)
        self.pages, self.site = pages, pages.site

    def requests(self) -> Iterator[Any]:
        """Yield the questions about what this whole listing lacks, and does not list by another id."""
        withdrawals, records = self.withdrawals, self.crawl.records
        yield from withdrawals.compare(held.dataset_id for held in self._known())
        for dataset_id in withdrawals.ids():
            url = self._address(dataset_id)
            if self._is_another(url, dataset_id):
                withdrawals.mark(dataset_id, url)
            else:
                self.crawl.seen(dataset_id, list_name=self.list_name, listed_by=None)
        if not records.count(self.list_name):
            self.crawl.run_state.is_whole_listing = True
            return
        there = list(islice(records.received("dataset"), CONTROLS))  # their pages were there in this run
        controls = there or withdrawals.controls
        if withdrawals.is_to_ask(self.list_name, has_control=bool(controls)):
            yield from self.confirm(controls, {})

    def _address(self, dataset_id: str) -> str:
        known = self.crawl.opened_index().documents.get("dataset", dataset_id, None)
        return str(known.metadata_url if known else None)

    def question(self, dataset_id: str, about: dict[str, Any]) -> Request:
        return self.pages.request(self._address(dataset_id), dataset_id, None, None)

    def fate(self, response: Response, dataset_id: str, about: dict[str, Any]) -> Fate:
        """Return that a dataset is gone unless its page still describes it: then it exists, listed or not.

        A page that no longer describes it may be a night's maintenance.
        """
        if response.status >= 400 and response.status not in GONE:
            raise AnswerError("http", f"HTTP {response.status}")
        if response.status in GONE or self._is_another(response.url, dataset_id):
            return Fate("not found")
        try:
            found, link = self.pages.read(response, dataset_id)
        except AnswerError as error:
            if error.kind != "missing_field":
                raise
            return Fate("not found", is_doubtful=True)
        is_empty = not link and not found.get("flaws") and bool(missing(found, self.site))
        return Fate("not found" if is_empty else None, is_doubtful=is_empty)

    def settled(self, about: dict[str, Any]) -> Iterator[Any]:
        self.crawl.run_state.is_whole_listing = True
        yield from ()

    def _known(self) -> Iterator[Held]:
        """Yield the datasets on disk that are this catalogue's: another may be in the same folder."""
        for held in self.crawl.opened_index().documents.held():
            is_own = f"#{self.pages.owner}." in (held.metadata_modified or "")
            if is_own and held.metadata_url and held.metadata_source in SOURCES:
                yield held

    def _is_another(self, url: str, known_id: str) -> bool:
        """Return whether an address is that of a dataset that is listed, by another id."""
        current = identify(canonical(url, self.site.links.drop), self.site)
        return current != known_id and self.crawl.records.is_planned("dataset", current)
