"""A visit to a portal: what it has found out so far, as plain data that travels with its requests."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import Request

from crawlers.components.spool.certificates import end
from crawlers.kinds.ckan.api import ApiVariant
from crawlers.records.moment import written

if TYPE_CHECKING:
    from datetime import datetime

    from scrapy.http import Response

_ACTIONS = re.compile(r"/api/(3/)?action$")


@dataclass(slots=True, kw_only=True)
class Visit:
    """What a visit has found out so far.

    Args:
        site: the fields of the `crawlers.items.Site` that are known.
        places: addresses of an action API that are worth a try.
        pages: pages that may say where the API is.
        tried: the places and pages that were asked.
        is_widened: whether the places where a CKAN often is were added.
        place: the place that is asked: https://example.org/api/3/action.
        post: whether it wants POST.
        hops: how many redirects were followed.
        doubt: why the portal's API may be somewhere although it was not found.
        questions: what is still to be asked of the API, by the names in `crawlers.ecosystem.sites.questions`.
        gaps: what the portal does not say, a clause each.
        unanswered: how many questions in a row had no answer.
        newest: the id of the dataset that changed last, if there are others.
        counted: how many names of a list have come, if it is asked in parts.
        first: the first of them.
    """

    site: dict[str, Any]
    places: list[str] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)
    tried: list[str] = field(default_factory=list)
    is_widened: bool = False
    place: str = ""
    post: bool = False
    hops: int = 0
    doubt: str | None = None
    questions: list[str] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    unanswered: int = 0
    newest: str | None = None
    counted: int = 0
    first: str | None = None

    @property
    def root(self) -> str:
        """The portal's root, by the place that is asked."""
        return _ACTIONS.sub("", self.place)

    @property
    def has_moved(self) -> bool:
        """Whether the API is at another host than the catalogue says."""
        return host(self.place) != host(str(self.site["url"]))

    def request(self, action: str, parameters: dict[str, Any], callback: Any, errback: Any) -> Request:
        """Return the request for an action at the place that is asked."""
        asked = ApiVariant(self.place, self.post).request(action, parameters, callback=callback, errback=errback)
        if "response_time" not in self.site:  # a portal that is down is not asked for its robots.txt, too
            asked.meta["dont_obey_robotstxt"] = True
        return self.carried(asked)

    def page_request(self, url: str, callback: Any, errback: Any) -> Request:
        """Return the request for a page."""
        return self.carried(Request(url, callback, errback=errback))

    def carried(self, request: Request) -> Request:
        """Return a request that carries the visit; answers of any status come to its callback, redirects too."""
        request.cb_kwargs["visit"] = asdict(self)
        request.meta.update(handle_httpstatus_all=True, is_named=True)
        return request

    def hear(self, response: Response) -> None:
        """Note how long the first answer took, and the certificate."""
        if "response_time" not in self.site:
            latency = response.meta.get("download_latency")  # none of an answer from a cache
            self.site["response_time"] = None if latency is None else round(latency, 3)
        certificate = getattr(response.certificate, "original", None)
        if certificate is not None:
            self.note_certificate("valid", end(certificate))

    def note_certificate(self, how: str, expires: datetime | None) -> None:
        """Note a certificate: valid or refused, and when it ends."""
        self.site |= {"tls": how, "tls_valid_until": expires and written(expires)}


def host(url: str) -> str:
    """Return the host of an address; with and without www. it is the same.

    >>> host("https://www.Example.org:8000/x")
    'example.org'
    """
    return (urlsplit(url).hostname or "").removeprefix("www.")
