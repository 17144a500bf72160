"""HTML pages that come instead of files: they are searched for the data that they link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from w3lib.encoding import http_content_type_encoding
from w3lib.url import canonicalize_url

from crawlers.archive import findings
from crawlers.archive.links import data_links
from crawlers.archive.looks import Asked, asked_about, header, subjects_of
from crawlers.archive.targets import AddressError
from crawlers.components.politeness.robots import Robots
from crawlers.exceptions import AnswerError
from crawlers.safety.redact import without_logins

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.http import Response

    from crawlers.archive.download import FileResponse
    from crawlers.archive.spider import ArchiveSpider
    from crawlers.items import Capture

_LARGEST = 10 * 1024 * 1024  # bytes of a page that are searched


class Pages:
    """Searches pages, for a spider."""

    def __init__(self, spider: ArchiveSpider) -> None:
        self.spider = spider

    async def refusal(self, response: Response) -> str | None:
        """Return why robots.txt forbids to search a page; ``None`` if it does not."""
        robots = self.spider.crawler.get_downloader_middleware(Robots)
        if robots is None or response.request is None:
            return None
        page = response.request.replace(url=response.url)
        rules = await robots.of_host(page)
        return rules.refusal(urlsplit(page.url).netloc, page.url, robots.agent(page))

    def search(
        self, response: FileResponse, asked: Asked, refusal: str | None, seen: dict[str, Any]
    ) -> Iterator[Request | Capture]:
        """Yield the requests for the data that a page links, and the page's captures.

        Args:
            refusal: why it may not be searched.
            seen: fields of the captures.
        """
        links: list[str] = []
        if asked["origin"] is not None:
            reason = "an HTML page came instead of the file that another page links"
        elif refusal:
            reason = f"an HTML page came instead of a file, and it is not searched for links: {refusal}"
        else:
            known = {*map(canonicalize_url, (response.url, *_led_here(response, asked)))}
            try:
                links = [url for url in self._links(response) if canonicalize_url(url) not in known]
                reason = f"an HTML page came instead of a file; it links {len(links)} data files"
            except AnswerError as error:
                reason = f"an HTML page came instead of a file, and it is not searched for links: {error}"
        for url in links:
            yield from self._linked(url, response, asked)
        given = seen | {"reason": reason, "request_type": "page"}
        yield from self.spider.looks.captures(asked, findings.CAUSES["page"], response, **given)

    def _links(self, response: FileResponse) -> list[str]:
        assert response.file is not None  # noqa: S101  # it was looked into
        with response.file.open() as file:
            body = file.read(_LARGEST)
        charset = http_content_type_encoding(header(response, "Content-Type"))
        return [
            without_logins(link.url) for link in data_links(body, response.url, charset, self.spider.links_per_page)
        ]

    def _linked(self, url: str, page: Response, asked: Asked) -> Iterator[Request | Capture]:
        subjects = (subject._replace(url=url, format=None) for subject in subjects_of(asked))
        due = [subject for subject in subjects if self.spider.is_due(subject, f"{subject.resource_id} {url}")]
        if due:
            linked = asked_about(due, page.url)
            try:
                yield self.spider.requests.file(url, linked, page)
            except AddressError as error:
                yield from self.spider.looks.unasked(linked, error)


def _led_here(response: Response, asked: Asked) -> list[str]:
    """Return the addresses that led to a page: many pages link the file that they stand for."""
    before = response.request.meta.get("redirect_urls", []) if response.request else []
    return [*before, *(subject.url for subject in subjects_of(asked))]
