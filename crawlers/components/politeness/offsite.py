"""A crawl stays on the hosts of its catalogue, and says what would have led away."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from scrapy.downloadermiddlewares.offsite import OffsiteMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.utils.httpobj import urlparse_cached

from crawlers.components.politeness.not_asked import NotAsked

if TYPE_CHECKING:
    from scrapy import Request, Spider


class LeadsAway(NotAsked):
    """A link or a redirect leads to a host that is not the catalogue's."""

    kind: ClassVar[str] = "offsite"


class Offsite(OffsiteMiddleware):
    """Scrapy's, but exact and audible: no subdomains, and what is refused reaches the request's errback.

    Scrapy's own drops such a request without a report. The hosts are the spider's
    ``allowed_domains``; a spider without any may go anywhere.
    """

    def request_scheduled(self, request: Request, spider: Spider) -> None:
        """Left to `process_request`."""

    def should_follow(self, request: Request, spider: Spider) -> bool:
        hosts = getattr(spider, "allowed_domains", None)
        return not hosts or urlparse_cached(request).hostname in hosts

    def process_request(self, request: Request) -> None:  # type: ignore[override]
        try:
            super().process_request(request)
        except IgnoreRequest:
            host = urlparse_cached(request).hostname
            raise LeadsAway(f"it leads to {host}, which is not one of the catalogue's hosts") from None
