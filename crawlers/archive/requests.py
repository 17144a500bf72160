"""The requests of an archive: for a file, the form before it, an API's capabilities, or a link check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from scrapy import Request
from w3lib.url import canonicalize_url

from crawlers.archive import cookies
from crawlers.archive.download import UNTRUSTED
from crawlers.archive.links import refreshed
from crawlers.archive.looks import Asked, header, subjects_of
from crawlers.archive.services import service
from crawlers.archive.targets import ANY, requestable
from crawlers.safety.addresses import absolute
from crawlers.safety.redact import without_logins

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from crawlers.archive.blobs import Blobs
    from crawlers.archive.forms import Forms
    from crawlers.archive.looks import Looks
    from crawlers.archive.services import Service
    from crawlers.archive.targets import Subject
    from crawlers.items import Capture

_HEADERS = {"Accept": "*/*", "Accept-Encoding": "identity"}
_LONGEST_DELAY = 10  # seconds of a Refresh; later, the page itself is what is to be seen


class ArchiveCrawl(Protocol):
    """What requests and answers need of the spider.

    Attributes:
        answers: the `crawlers.archive.answers.Answers`, whose methods are the callbacks.
        obeys_robots: whether robots.txt counts for what the catalogue links.
        max_size: bytes of a file that is kept.
        links_per_page: of a page that is searched.
        is_check: whether nothing is kept.
        is_online: whether any host has answered.
    """

    answers: Any
    looks: Looks
    forms: Forms
    blobs: Blobs
    obeys_robots: bool
    max_size: int
    links_per_page: int
    is_check: bool
    is_online: bool
    crawler: Crawler

    def is_due(self, subject: Subject, expected: str) -> bool:
        """Return whether a file is to be requested."""

    def last(self, subject: Subject) -> Capture | None:
        """Return what the last look at a file found."""

    async def any_answer(self) -> None:
        """Wait until a host has answered, or none can."""


class Requests:
    """Makes the requests of an archive."""

    def __init__(self, crawl: ArchiveCrawl) -> None:
        self.crawl = crawl

    def first(self, url: str, asked: Asked) -> Request:
        """Return the first request for an address."""
        crawl = self.crawl
        rule, api = crawl.forms.rule(url), service(url, subjects_of(asked)[0].format)
        if crawl.is_check:
            return self.make(url, asked, crawl.answers.check, method="HEAD")
        if rule is not None:
            asked["request_type"] = "form"
            return self.make(rule.page_of(url), asked, crawl.answers.form, is_file=False)
        if api is not None:
            asked["request_type"] = api.name
            return self.capabilities(api, asked, 0)
        return self.file(url, asked)

    def file(self, url: str, asked: Asked, after: Response | None = None) -> Request:
        """Return the request for a file; a conditional one if the file is held."""
        return self.make(url, asked, self.crawl.answers.file, headers=self._conditions(asked), after=after)

    def refreshed(self, response: Response, asked: Asked) -> Request | None:
        """Return the request that a header Refresh of a page asks for, as one more redirect; ``None`` for none.

        A page that asks for itself does so for ever, unless it has just set a cookie.
        """
        found = refreshed(header(response, "Refresh") or "")
        url = absolute(found[1], response.url) if found and found[0] <= _LONGEST_DELAY else None
        if url and canonicalize_url(url) == canonicalize_url(response.url) and "Set-Cookie" not in response.headers:
            return None
        before = response.meta.get("redirect_urls", [])
        if url is None or len(before) >= self.crawl.crawler.settings.getint("REDIRECT_MAX_TIMES"):
            return None
        request = self.make(url, asked, self.crawl.answers.file, after=response)
        request.meta.update(redirect_urls=[*before, response.url], redirect_times=len(before) + 1)
        return request

    def whole_file(self, asked: Asked) -> Request:
        """Return the request for a file after a 304 that is of no use: the store has lost it, or it is another's."""
        url = subjects_of(asked)[0].url
        return self.make(url, asked, self.crawl.answers.file).replace(dont_filter=True)

    def capabilities(self, api: Service, asked: Asked, attempt: int) -> Request:
        """Return one of the requests for an API's capabilities."""
        headers = {"Accept": api.accept}
        return self.make(
            api.addresses[attempt], asked, self.crawl.answers.capabilities, headers=headers, attempt=attempt
        )

    def another(self, request: Request, asked: Asked, kind: str, status: int | None) -> list[Request]:
        """Return the request after one that failed: GET after HEAD, the next one for an API's capabilities.

        Args:
            kind: of the failure.
            status: of the answer, if there was one.
        """
        if request.method == "HEAD":
            found: list[Request] = self.crawl.answers.one_byte(asked, kind)
            return found
        attempt = request.cb_kwargs.get("attempt")
        if attempt is None or status is None:
            return []
        api = api_of(asked)
        return [self.capabilities(api, asked, attempt + 1)] if attempt + 1 < len(api.addresses) else []

    def make(
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
        after: Response | None = None,
        **more: Any,
    ) -> Request:
        """Return a request about a file.

        Args:
            is_file: whether the answer goes into a file.
            max_size: bytes of that; by default ARCHIVE_MAX_SIZE.
            after: the answer of the same chain that led to this request: its cookies go on.
            more: what the callback is called with.

        Raises:
            AddressError: the address can't be asked.
        """
        crawl, sent = self.crawl, _HEADERS | (headers or {})
        meta: dict[str, Any] = {"handle_httpstatus_list": [304]}
        if is_file and method != "HEAD":
            size = crawl.max_size if max_size is None else max_size
            meta["archive"] = {"scratch": str(crawl.blobs.scratch), "max_size": size}
        before = after.request.meta if after is not None and after.request else {}
        meta |= {name: before[name] for name in (cookies.KEY, UNTRUSTED) if name in before}
        if asked["origin"] is None and asked["request_type"] != ANY and not crawl.obeys_robots:
            meta["dont_obey_robotstxt"] = True
        known: dict[str, Any] = {"method": method, "body": body, "headers": sent, "meta": meta}
        url = requestable(without_logins(url))
        return Request(url, callback, errback=crawl.answers.failed, cb_kwargs={"asked": asked, **more}, **known)

    def held(self, asked: Asked) -> Capture | None:
        """Return the last look at a file that is held; the store may have lost it."""
        return next((last for last in map(self.crawl.last, subjects_of(asked)) if last and last.sha256), None)

    def _conditions(self, asked: Asked) -> dict[str, str]:
        held = self.held(asked)
        found = {"If-None-Match": held.etag, "If-Modified-Since": held.last_modified} if held else {}
        return {name: value for name, value in found.items() if value}


def api_of(asked: Asked) -> Service:
    """Return the API that a request is about."""
    first = subjects_of(asked)[0]
    found = service(requestable(first.url), first.format)
    assert found is not None  # noqa: S101  # its first request was for the capabilities
    return found
