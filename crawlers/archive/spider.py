"""Looks at the files that the datasets of a source link, and keeps them: a crawl of many hosts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self
from urllib.parse import urlsplit

from scrapy import Request, signals
from scrapy.spidermiddlewares.httperror import HttpError

from crawlers import arguments
from crawlers.archive import findings
from crawlers.archive.blobs import Blobs, open_blobs
from crawlers.archive.content import look
from crawlers.archive.download import FileResponse
from crawlers.archive.forms import Forms
from crawlers.archive.links import data_links
from crawlers.archive.looks import Asked, Looks, asked_about, header, length, redirects, subjects_of
from crawlers.archive.names import file_name
from crawlers.archive.partial import sweep
from crawlers.archive.services import exception, is_capabilities, service
from crawlers.archive.targets import (
    Choice,
    Subject,
    check,
    is_fresh,
    is_put_off,
    left_out,
    requestable,
    targets,
    utc,
)
from crawlers.arguments import Argument
from crawlers.exceptions import ArgumentError
from crawlers.listing.completeness import Ending
from crawlers.listing.spider import CatalogueSpider, source_name
from crawlers.politeness import failures
from crawlers.politeness.robots import Robots
from crawlers.store.index.description import RESOURCES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.archive.services import Service
    from crawlers.items import Capture

_HEADERS = {"Accept": "*/*", "Accept-Encoding": "identity"}
_LARGEST_PAGE = 10 * 1024 * 1024  # bytes of a page that is searched for links
_NO_HEAD = (400, 403, 404, 405, 501)  # what servers answer to HEAD that have the file


def _formats(text: str) -> list[str]:
    found = [word.strip().upper() for word in text.split(",") if word.strip()]
    if not found:
        raise ValueError("formats with commas between them: CSV,XLSX")
    return found


class ArchiveSpider(CatalogueSpider):
    """The files of one source, which ``-a of=`` names; its own source is ``archive-of-<source>``."""

    address = "of"
    crosses_hosts = True
    arguments: ClassVar[dict[str, Argument]] = {
        "of": Argument(help="The source whose files are archived: the name of its folder.", parse=source_name),
        "dataset": Argument(help="Only the files of this dataset: its id or its name.", parse=arguments.text),
        "publisher": Argument(help="Only the files of this publisher's datasets.", parse=arguments.text),
        "format": Argument(help="Only files that the catalogue says are of these formats: CSV,XLSX.", parse=_formats),
        "max_files": Argument(help="Stop after this many addresses.", parse=arguments.positive),
        "mode": Argument(
            help="archive: keep the files. check: only find out whether they are there.",
            parse=arguments.choice("archive", "check"),
            default="archive",
        ),
    }
    custom_settings: dict[str, Any] | None = {  # noqa: RUF012  # as Scrapy declares it
        "CONCURRENT_REQUESTS": 200,  # default 16; of many hosts
        "CONCURRENT_REQUESTS_PER_DOMAIN": 2,  # default 8
        "RETRY_TIMES": 2,  # a file that fails is asked for again in the next run
        "DOWNLOAD_HANDLERS": {
            **dict.fromkeys(("file", "data", "ftp", "s3")),
            **dict.fromkeys(("http", "https"), "crawlers.archive.download.ArchiveHandler"),
        },
        "REQUEST_FINGERPRINTER_CLASS": "crawlers.archive.fingerprinter.ArchiveFingerprinter",
        "ITEM_PIPELINES": {"pipelines.archive.Store": 300, "pipelines.archive.Captures": 400},
        "HTTPCACHE_ENABLED": False,
    }
    of: str | None = None
    output: Path
    blobs: Blobs
    forms: Forms
    obeys_robots: bool
    max_size: int
    links_per_page: int

    def __init__(self, **given: str) -> None:
        super().__init__(**given)
        self.of = self.args["of"] or self.of
        if self.of is None:
            raise ArgumentError(f"spider {self.name} needs to know the source whose files it archives: -a of=hdx")
        choice = {name: self.args[name] for name in ("dataset", "publisher")}
        self.choice = Choice(of=self.of, formats=self.args["format"] or (), **choice)
        self.looks = Looks(self.source, self.args["mode"])
        self.is_check = self.args["mode"] == "check"
        self.is_online = False

    @classmethod
    def from_crawler(cls, crawler: Crawler, **given: str) -> Self:
        spider = super().from_crawler(crawler, **given)
        spider.output = Path(crawler.settings["OUTPUT_DIR"])
        check(spider.output, str(spider.of))
        spider.blobs = open_blobs(crawler.settings)
        spider.forms = Forms.read(Path(crawler.settings["FORMS_FILE"]))
        spider.obeys_robots = crawler.settings.getbool("ARCHIVE_ROBOTSTXT_OBEY")
        spider.max_size = crawler.settings.getint("ARCHIVE_MAX_SIZE")
        spider.links_per_page = crawler.settings.getint("ARCHIVE_LINKS_PER_PAGE")
        crawler.signals.connect(spider.conclude, signals.spider_idle)
        return spider

    @property
    def source(self) -> str:
        """The archive's own."""
        return f"archive-of-{self.of}"

    @property
    def reported(self) -> dict[str, Any]:
        """How many files were found in which state, how many were not due, and whose robots.txt counted."""
        settled = self.records.counts()
        captures = self.opened_index().captures.counts(self.records.job.state["run"])
        not_due = {name: settled[name] for name in ("fresh", "put off") if name in settled}
        return {"captures": captures | not_due, "robotstxt_obeyed": self.obeys_robots}

    # What is looked at

    async def start(self) -> AsyncIterator[Any]:
        """Yield a request for each address that is due, and the captures of those that can't be requested."""
        sweep(self.blobs.scratch)
        self.completeness.begin("files")
        for number, subjects in enumerate(targets(self.output, self.choice)):
            if self.args["max_files"] and number >= self.args["max_files"]:
                self.run_state.is_limited = True
                break
            for wanted in self.begin(subjects):
                yield wanted

    def begin(self, subjects: list[Subject]) -> Iterator[Request | Capture]:
        """Yield the request for the file of some resources, or their captures if it can't be requested."""
        due = [subject for subject in subjects if self.is_due(subject, subject.resource_id)]
        if not due:
            return
        asked = asked_about(due)
        try:
            yield self.first_request(requestable(due[0].url), asked)
        except ValueError as error:
            word = "unsupported_scheme" if str(error).startswith("unsupported") else "invalid_address"
            yield from self.looks.captures(asked, findings.INVALID, error=word, reason=str(error))

    def is_due(self, subject: Subject, expected: str) -> bool:
        """Expect a file; return whether it is to be requested. Settle it if it is not.

        Args:
            expected: what the ledger knows the file by: the resource, with the address if a page links it.
        """
        key = ("file", subject.dataset_id, expected)
        self.expect(*key, listed_by=subject.url)
        self.run_state.count_listed(self.records.expected)
        if self.records.is_settled(key):  # before a kill
            return False
        last, now = self.last(subject), utc()
        if is_put_off(last, now):
            self.records.settle(key, "put off")
        elif not self.is_check and is_fresh(last, now):
            self.records.settle(key, "fresh")
        else:
            return True
        return False

    def last(self, subject: Subject) -> Capture | None:
        """Return what the last look at a file found."""
        return self.opened_index().captures.last(subject.dataset_id, subject.resource_id, subject.url)

    def first_request(self, url: str, asked: Asked) -> Request:
        """Return the first request for an address: for the file, the form before it, or the API's capabilities."""
        rule, api = self.forms.of(url), service(url, subjects_of(asked)[0].format)
        if self.is_check:
            return self.request(url, asked, self.parse_check, method="HEAD")
        if rule is not None:
            asked["request_type"] = "form"
            return self.request(rule.page or url, asked, self.parse_form, is_file=False)
        if api is not None:
            asked["request_type"] = api.name
            return self.capabilities_request(api, asked, 0)
        return self.request(url, asked, self.parse_file, headers=self.conditions(asked))

    def request(
        self,
        url: str,
        asked: Asked,
        callback: Any,
        *,
        method: str = "GET",
        headers: dict[str, str] | None = None,
        body: bytes = b"",
        is_file: bool = True,
        max_size: int | None = None,
        **more: Any,
    ) -> Request:
        """Return a request about a file.

        Args:
            is_file: whether the answer goes into a file.
            max_size: bytes of that; by default ARCHIVE_MAX_SIZE.
            more: what the callback is called with.
        """
        meta: dict[str, Any] = {"handle_httpstatus_list": [304]}
        if is_file and method != "HEAD":
            size = self.max_size if max_size is None else max_size
            meta["archive"] = {"scratch": str(self.blobs.scratch), "max_size": size}
        if asked["origin"] is None and not self.obeys_robots:
            meta["dont_obey_robotstxt"] = True
        sent, about = _HEADERS | (headers or {}), {"asked": asked, **more}
        keywords: dict[str, Any] = {"method": method, "body": body, "headers": sent, "meta": meta, "cb_kwargs": about}
        return Request(url, callback, errback=self.file_failed, **keywords)

    def held(self, asked: Asked) -> Capture | None:
        """Return the last look at a file, if we hold what it found and the server may be asked whether that changed."""
        known = map(self.last, subjects_of(asked))
        found = (last for last in known if last and last.sha256)
        return next((last for last in found if self.blobs.get(str(last.sha256)) is not None), None)

    def conditions(self, asked: Asked) -> dict[str, str]:
        """Return the headers of a conditional request; none if the file is not held."""
        held = self.held(asked)
        found = {"If-None-Match": held.etag, "If-Modified-Since": held.last_modified} if held else {}
        return {name: value for name, value in found.items() if value}

    # What came

    async def parse_file(self, response: Response, asked: Asked) -> AsyncIterator[Any]:
        """Yield the captures of a file, or of a page, and the requests for the data that the page links."""
        self.is_online = True
        if response.status == 304:
            found: Any = self.not_modified(response, asked)
        elif isinstance(response, FileResponse) and response.file is not None:
            found = await self.look_at(response, asked)
        else:
            found = self.looks.too_large(asked, response, self.max_size)
        for one in found:
            yield one

    def not_modified(self, response: Response, asked: Asked) -> Iterator[Capture]:
        """Yield the captures of a file that is still the one we hold."""
        held = self.held(asked)
        if held is not None:
            return self.looks.not_modified(asked, response, held)
        given = {"error": "http", "reason": "HTTP 304 to a request that was not conditional"}
        return self.looks.captures(asked, findings.NOT_SURE, response, **given)

    async def look_at(self, response: FileResponse, asked: Asked) -> Iterator[Any]:
        """Return what a downloaded answer gives: a file to keep, a page to search, an exception, nothing."""
        assert response.file is not None  # noqa: S101  # parse_file asks
        hint = file_name(response.url, header(response, "Content-Disposition"))
        declared, claimed = header(response, "Content-Type"), subjects_of(asked)[0].format
        content = look(response.head, response.file.size, declared, hint, claimed)
        seen = {"found_type": content.found_type, "extension": content.extension, "finding": content.finding}
        if content.verdict == "file":
            return self.looks.kept(asked, response, **seen)
        if content.verdict == "page":
            refusal = None if asked["origin"] else await self.robots_refusal(response)
            return self.search(response, asked, refusal, seen)
        is_empty = content.verdict == "empty"
        reason = "the file has no bytes" if is_empty else f"an exception came instead of the file: {content.detail}"
        seen |= {"error": content.verdict, "reason": reason}
        return self.looks.captures(asked, findings.NO_CONTENT, response, **seen)

    # Pages

    async def robots_refusal(self, response: Response) -> str | None:
        """Return why robots.txt forbids to search a page; ``None`` if it does not."""
        robots = self.crawler.get_downloader_middleware(Robots)
        if robots is None or response.request is None:
            return None
        page = response.request.replace(url=response.url)
        rules = await robots.of_host(page)
        return rules.refusal(urlsplit(page.url).netloc, page.url, robots.agent(page))

    def search(
        self, response: FileResponse, asked: Asked, refusal: str | None, seen: dict[str, Any]
    ) -> Iterator[Request | Capture]:
        """Yield the requests for the data that a page links, and the page's captures."""
        links: list[str] = []
        if asked["origin"] is not None:
            reason = "an HTML page came instead of the file that another page links"
        elif refusal:
            reason = f"an HTML page came instead of a file, and it is not searched for links: {refusal}"
        else:
            links = self.links(response)
            reason = f"an HTML page came instead of a file; it links {len(links)} data files"
        for url in links:
            yield from self.linked(url, response.url, asked)
        given = seen | {"error": "page", "reason": reason, "request_type": "page"}
        yield from self.looks.captures(asked, findings.NOT_TAKEN, response, **given)

    def links(self, response: FileResponse) -> list[str]:
        """Return the addresses of the data that a page links."""
        assert response.file is not None  # noqa: S101  # look_at asks
        with response.file.path.open("rb") as file:
            body = file.read(_LARGEST_PAGE)
        return [link.url for link in data_links(body, response.url, None, self.links_per_page)]

    def linked(self, url: str, page: str, asked: Asked) -> Iterator[Request]:
        """Yield the request for a file that a page links, if it is due."""
        subjects = (subject._replace(url=url, format=None) for subject in subjects_of(asked))
        due = [subject for subject in subjects if self.is_due(subject, f"{subject.resource_id} {url}")]
        if due:
            below = asked_about(due, page)
            yield self.request(url, below, self.parse_file, headers=self.conditions(below))

    # Forms, APIs, checks

    def parse_form(self, response: Response, asked: Asked) -> Iterator[Request | Capture]:
        """Yield the request that the form before a file makes."""
        self.is_online = True
        rule = self.forms.of(requestable(subjects_of(asked)[0].url))
        assert rule is not None  # noqa: S101  # first_request asked
        try:
            method, url, body, content_type = rule.request(response)
        except ValueError as error:
            given = {"error": "form", "reason": str(error)}
            yield from self.looks.captures(asked, findings.FAILED_HERE, response, **given)
            return
        headers = {"Content-Type": content_type} if content_type else {}
        yield self.request(url, asked, self.parse_file, method=method, headers=headers, body=body)

    def parse_service(self, response: Response, asked: Asked, attempt: int) -> Iterator[Request | Capture]:
        """Yield the captures of an API's capabilities, or the next request for them."""
        self.is_online = True
        api = self.api(asked)
        head = response.head if isinstance(response, FileResponse) else b""
        if isinstance(response, FileResponse) and response.file is not None and is_capabilities(api, head):
            yield from self.looks.kept(asked, response, found_type=header(response, "Content-Type"))
        elif attempt + 1 < len(api.addresses):
            yield self.capabilities_request(api, asked, attempt + 1)
        else:
            said = exception(head)
            reason = f"the API answered with an exception: {said}" if said else "the API gives no capabilities"
            given = {"error": "exception", "reason": reason}
            yield from self.looks.captures(asked, findings.NO_CONTENT, response, **given)

    def api(self, asked: Asked) -> Service:
        """Return the API that an address leads to."""
        first = subjects_of(asked)[0]
        found = service(requestable(first.url), first.format)
        assert found is not None  # noqa: S101  # first_request asked
        return found

    def capabilities_request(self, api: Service, asked: Asked, attempt: int) -> Request:
        """Return one of the requests for an API's capabilities."""
        headers = {"Accept": api.accept}
        return self.request(api.addresses[attempt], asked, self.parse_service, headers=headers, attempt=attempt)

    def parse_check(self, response: Response, asked: Asked) -> Iterator[Capture]:
        """Yield the captures of a link that is alive."""
        self.is_online = True
        size = getattr(response, "declared_size", None) or length(response)
        yield from self.looks.captures(asked, findings.ALIVE, response, size=size)

    # What failed

    def file_failed(self, failure: Failure) -> Iterator[Request | Capture]:
        """Yield another request for a file, if there is another way, or its captures."""
        request, status = failures.request(failure), failures.status(failure)
        self.is_online = self.is_online or status is not None
        asked: Asked = request.cb_kwargs["asked"]
        yield from self.another_way(request, asked, status) or self.lost(failure, request, asked, status)

    def another_way(self, request: Request, asked: Asked, status: int | None) -> list[Request]:
        """Return the request after one that was refused: GET after HEAD, the next one for an API's capabilities."""
        if self.is_check and request.method == "HEAD" and status in _NO_HEAD:
            ranged = {"Range": "bytes=0-0"}
            return [self.request(request.url, asked, self.parse_check, headers=ranged, max_size=1)]
        attempt = request.cb_kwargs.get("attempt")
        if attempt is None or status is None or attempt + 1 >= len(self.api(asked).addresses):
            return []
        return [self.capabilities_request(self.api(asked), asked, attempt + 1)]

    def lost(self, failure: Failure, request: Request, asked: Asked, status: int | None) -> Iterator[Capture]:
        """Yield the captures of a file that is not available."""
        error = failures.from_failure(failure)
        response = failure.value.response if isinstance(failure.value, HttpError) else None
        meaning = findings.of_failure(error.kind, status, is_online=self.is_online)
        given = {"error": error.kind, "reason": str(error), "redirects": redirects(request, request.url)}
        yield from self.looks.captures(asked, meaning, response, **given)

    def conclude(self, **_: Any) -> None:
        """Judge the run when no request is left: it is whole if each resource was looked at, or need not be."""
        if "files" not in self.completeness.open_lists:
            return
        lacking = left_out(self.output, str(self.of), RESOURCES)
        left = f"{lacking} more are not in the index, which keeps {RESOURCES} resources of a dataset" if lacking else ""
        listed = self.run_state.expected = self.records.expected
        if self.run_state.is_limited:
            self.completeness.end("files")
        else:
            self.completeness.conclude("files", Ending(listed=listed, is_one_file=True, left=left))
