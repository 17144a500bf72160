"""Finds the API of a portal: below its address in the catalogue, at its host, or where pages and redirects lead."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from w3lib.url import canonicalize_url

from crawlers import arguments
from crawlers.components.politeness import failures
from crawlers.components.politeness.blocked import challenge
from crawlers.components.spool.certificates import UntrustedCertificate
from crawlers.ecosystem.sites.listed import is_host
from crawlers.ecosystem.sites.questions import QUESTIONS, is_search
from crawlers.ecosystem.sites.visit import Visit, host
from crawlers.exceptions import AnswerError
from crawlers.kinds.ckan import api
from crawlers.kinds.ckan.detection import roots
from crawlers.kinds.ckan.dialect import Refusal, refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.ecosystem.sites.spider import SitesSpider
    from crawlers.items import Site

    Output = Iterator[Request | Site]
    Judged = tuple[str, str]

_HOPS = 5
_REFUSING = (401, 402, 403, 407, 429, 451)
_REDIRECTING = (301, 302, 303, 307, 308)
_NO_ANSWER = ("timeout", "dns", "connection", "truncated")
_ELSEWHERE = ("robots", "forbidden_address", "ignored", "too_large", "http")
"""Failures after which the API may be at another place."""
_FOLDERS = ("data", "katalog", "opendata", "ckan", "catalog")
"""Where a CKAN often is that does not have a host of its own."""
_ACTION = re.compile(r"(/.*|)/api/(?:3/)?action(?=/\w+$)")


class APISearch:
    """Asks a portal's places for the first question, one after another, until a CKAN answers."""

    def __init__(self, spider: SitesSpider) -> None:
        self.spider = spider

    def begin(self, visit: Visit) -> Output:
        """Yield the first request of a visit."""
        url = visit.site["url"]
        if url is None:
            yield from self.spider.end(visit, "unknown", "the catalogue gives no address of it")
            return
        visit.places, visit.pages = _places(url), [url]
        yield from self.following(visit)

    def following(self, visit: Visit) -> Output:
        """Yield the request for the next place, or page; where none is left, the site."""
        visit.post = False
        for waiting, ask in ((visit.places, self.ask_place), (visit.pages, self.ask_page)):
            while waiting:
                address = waiting.pop(0)
                known = canonicalize_url(address)  # as the dupefilter knows it: it would drop the request
                if known not in visit.tried:
                    visit.tried.append(known)
                    yield ask(visit, address)
                    return
        if visit.is_widened:
            yield from self.not_found(visit)
            return
        visit.is_widened, parts = True, urlsplit(str(visit.site.get("redirected_to") or visit.site["url"]))
        where = f"{parts.scheme}://{parts.netloc}"
        visit.places = [f"{where}/api/action", *(f"{where}/{folder}/api/3/action" for folder in _FOLDERS)]
        yield from self.following(visit)

    def not_found(self, visit: Visit) -> Output:
        where = f"{len(visit.tried)} addresses of {host(visit.tried[-1])} were asked, and CKAN's API is at none"
        if visit.doubt:
            yield from self.spider.end(visit, "unknown", f"{where}; {visit.doubt}")
        else:
            yield from self.spider.end(visit, "not_ckan", where)

    # Places

    def ask_place(self, visit: Visit, place: str) -> Request:
        visit.place, question = place, QUESTIONS["newest"]
        return visit.request(question.action, question.parameters, self.parse_place, self.failed)

    def parse_place(self, response: Response, visit: dict[str, Any]) -> Output:
        """Yield the questions if this is a CKAN; else what helps to find it, or the site."""
        here = self.heard(response, visit)
        if response.status in _REDIRECTING:
            yield from self.follow(response, here)
            return
        try:
            result = api.result(response)
        except AnswerError as error:
            yield from self.refused(here, refused(error, response), _judged(response))
            return
        if is_search(result):
            yield from self.spider.answers.begin(here, result)
        else:
            yield from self.following(here)

    def refused(self, visit: Visit, refusal: Refusal, judged: Judged | None) -> Output:
        """Yield what a refusal, or any other answer without a result, leads to.

        Args:
            judged: what it says of the whole host.
        """
        if refusal.wants_post and refusal.error.kind != "blocked" and not visit.post:
            visit.post = True
            yield self.ask_place(visit, visit.place)
        elif refusal.is_spoken:
            yield from self.spider.answers.begin(visit, None)
        elif judged:
            yield from self.spider.end(visit, *judged)
        elif refusal.error.kind == "truncated":
            yield from self.spider.end(visit, "down", str(refusal.error))
        else:
            yield from self.following(visit)

    # Pages

    def ask_page(self, visit: Visit, url: str) -> Request:
        return visit.page_request(url, self.parse_page, self.failed)

    def parse_page(self, response: Response, visit: dict[str, Any]) -> Output:
        """Yield the request for the place that a page names, or the next one."""
        here, judged = self.heard(response, visit), _judged(response)
        if response.status in _REDIRECTING:
            yield from self.follow(response, here)
        elif judged:
            yield from self.spider.end(here, *judged)
        else:
            here.places = _places(response.url, response.body)
            yield from self.following(here)

    # Both

    def heard(self, response: Response, visit: dict[str, Any]) -> Visit:
        self.spider.is_online = True
        here = Visit(**visit)
        here.hear(response)
        return here

    def follow(self, response: Response, visit: Visit) -> Output:
        """Yield the request for what a redirect leads to; from https it is not followed to http."""
        location = (response.headers.get("Location") or b"").decode("utf-8", "replace")
        visit.hops += 1
        try:
            target = arguments.url(urljoin(response.url, location))
        except ValueError:
            target = ""
        if not is_host(urlsplit(target).hostname or ""):
            yield from self.spider.end(visit, "unknown", "it redirects to what is no web address")
            return
        if visit.hops > _HOPS:
            yield from self.spider.end(visit, "unknown", f"it redirects more than {_HOPS} times")
        elif response.url.startswith("https:") and target.startswith("http:"):
            reason = f"it redirects from https to {target[:200]}, which is not followed"
            yield from self.spider.end(visit, "unknown", reason)
        else:
            self.lead(visit, target)
            yield from self.following(visit)

    def lead(self, visit: Visit, target: str) -> None:
        """Put first what a redirect leads to: the same action elsewhere, or a page."""
        parts = urlsplit(target)
        action = _ACTION.match(parts.path)
        root = f"{parts.scheme}://{parts.netloc}{action[1] if action else parts.path}"
        visit.site["redirected_to"] = root
        if action:
            visit.places.insert(0, f"{parts.scheme}://{parts.netloc}{action[0]}")
        else:
            visit.places = _places(target) + visit.places
            visit.pages.insert(0, target)

    def failed(self, failure: Failure) -> Output:
        """Yield what a request leads to that had no answer; an errback."""
        request, error = failures.request(failure), failures.from_failure(failure)
        here = Visit(**request.cb_kwargs["visit"])
        if isinstance(failure.value, UntrustedCertificate):
            here.note_certificate("refused", failure.value.expires)
            yield from self.spider.end(here, "down", str(error))
        elif error.kind in _NO_ANSWER:
            yield from self.spider.end(here, *self.spider.silence(error, failure.value))
        elif error.kind == "blocked":
            yield from self.spider.end(here, "blocked", str(error))
        elif error.kind in _ELSEWHERE:
            here.doubt = str(error)
            yield from self.following(here)
        else:
            self.spider.failed("fetch", error, request, dataset_id=here.site["id"])
            yield from self.spider.end(here, "unknown", str(error))


def _judged(response: Response) -> Judged | None:
    """Return the state that an answer shows its host to have, and the reason; ``None`` if it may have a CKAN."""
    check = challenge(response)
    if check or response.status in _REFUSING:
        return "blocked", check or f"the portal refuses access (HTTP {response.status})"
    return ("down", f"HTTP {response.status}") if response.status >= 500 else None


def _places(url: str, body: bytes = b"") -> list[str]:
    """Return where the API may be, by the address of a page and by what the page says."""
    return [f"{root}/api/3/action" for root in dict.fromkeys(roots(url, body))]
