"""A visit to a portal: where its API is found, what it is asked, and what its answers say.

What a visit has found out so far is plain data, which travels with its requests.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from scrapy import Request
from scrapy.exceptions import DownloadConnectionRefusedError
from w3lib.url import canonicalize_url

from crawlers import arguments
from crawlers.components.connections import UntrustedCertificate, end
from crawlers.components.politeness import failures
from crawlers.components.politeness.failures import challenge
from crawlers.ecosystem.site_list import is_host
from crawlers.exceptions import AnswerError
from crawlers.kinds.ckan import api
from crawlers.kinds.ckan.api import ApiVariant
from crawlers.kinds.ckan.detection import roots
from crawlers.kinds.ckan.dialect import Refusal, refused
from crawlers.records import values
from crawlers.records.moment import moment, written
from crawlers.records.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.items import Site
    from crawlers.listing.spider import CatalogueSpider

    Output = Iterator[Request | Site]
    Parameters = dict[str, Any]
    Judged = tuple[str, str]
    End = Callable[["Visit", str, str | None], Output]

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
        questions: what is still to be asked of the API, by the names in `QUESTIONS`.
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
        asked = ApiVariant(self.place, self.post).request(action, parameters, callback=callback, errback=errback)
        if "response_time" not in self.site:  # a portal that is down is not asked for its robots.txt, too
            asked.meta["dont_obey_robotstxt"] = True
        return self.carried(asked)

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
        self.site |= {"tls": how, "tls_valid_until": expires and written(expires)}


def host(url: str) -> str:
    """Return the host of an address; with and without www. it is the same.

    >>> host("https://www.Example.org:8000/x")
    'example.org'
    """
    return (urlsplit(url).hostname or "").removeprefix("www.")


_ROUND = 100
"""CKAN cuts its lists of names at 1,000, or at another round number that its operator sets."""
_MOST = 20_000  # names that are counted
_MOST_EXTENSIONS = 1000
_LONGEST = 5000  # characters of a text
_LARGEST = 10**12  # of a number
_STATUS = {
    "site_title": "site_title",
    "description": "site_description",
    "ckan_version": "ckan_version",
    "locale": "locale_default",
    "contact": "error_emails_to",
}
"""The fields of a site, by what status_show calls them."""


@dataclass(frozen=True, slots=True)
class Question:
    """An action that a portal is asked for.

    Args:
        read: notes in the visit what the result says; returns the parameters of the question's next part, if any. It
            raises AnswerError if the result is not what the action gives.
    """

    action: str
    parameters: Parameters
    read: Callable[[Any, Visit], Parameters | None]


def is_search(result: Any) -> bool:
    """Return whether a result is one of package_search."""
    return isinstance(result, dict) and isinstance(result.get("results"), list) and "count" in result


def _status(result: Any, visit: Visit) -> None:
    record = Record(_object(result))
    extensions = [name[:_LONGEST] for name in record.texts("extensions")[:_MOST_EXTENSIONS]]
    visit.site |= {field: (record.text(name) or "")[:_LONGEST] or None for field, name in _STATUS.items()}
    visit.site["extensions"] = extensions if "extensions" in record.data else None


def _newest(result: Any, visit: Visit) -> None:
    count = visit.site["num_datasets"] = _count(result)
    if not count:
        return
    identifier, visit.site["newest_modified"] = _first(result)
    if count == 1:
        visit.site["oldest_modified"] = visit.site["newest_modified"]
    else:
        visit.newest = identifier


def _oldest(result: Any, visit: Visit) -> None:
    identifier, oldest = _first(result)
    newest = visit.site.get("newest_modified")
    before, after = moment(oldest), moment(newest)
    if identifier == visit.newest or (before and after and after < before):
        visit.site["newest_modified"] = None
        raise AnswerError("refused", "the portal does not sort by metadata_modified")
    visit.site["oldest_modified"] = oldest


def _datasets(result: Any, visit: Visit) -> None:
    visit.site["num_datasets"] = _count(result)


def _resources(result: Any, visit: Visit) -> None:
    found, datasets = _count(result), visit.site.get("num_datasets")
    if not found and datasets != 0:
        of_many = "its" if datasets is None else f"its {datasets}"
        raise AnswerError("refused", f"the portal says that {of_many} datasets have no resource")
    visit.site["num_resources"] = found


def _names(result: Any, visit: Visit, field: str) -> Parameters | None:
    """Count a list of names; one of a round number may be cut, so that it is asked what comes behind it."""
    if not isinstance(result, list):
        raise AnswerError("refused", "the portal answered without a list")
    names = [str(name.get("name") if isinstance(name, dict) else name)[:_LONGEST] for name in result]
    total = visit.counted + len(names)
    is_repeated = bool(visit.counted and names and names[0] == visit.first)
    if is_repeated or total >= _MOST:
        raise AnswerError("refused", f"the portal lists {visit.counted or total}, and perhaps there are more")
    if not names or len(names) % _ROUND:
        visit.site[field] = total
        return None
    visit.counted, visit.first = total, visit.first or names[0]
    return {"offset": total}


def _object(result: Any) -> dict[str, Any]:
    if not isinstance(result, dict):
        raise AnswerError("refused", "the portal answered without an object")
    return result


def _count(result: Any) -> int:
    count = _object(result).get("count")
    if type(count) is not int or not 0 <= count < _LARGEST:
        raise AnswerError("refused", "the portal answered without a number")
    return count


def _first(result: Any) -> tuple[str, str | None]:
    found = _object(result).get("results")
    record = Record(found[0] if isinstance(found, list) and found and isinstance(found[0], dict) else {})
    identifier = record.text("id")
    if identifier is None:
        raise AnswerError("refused", "the portal answered without a dataset")
    return identifier, record.read(values.date, "metadata_modified")


QUESTIONS = {
    "newest": Question("package_search", {"rows": 1, "sort": "metadata_modified desc"}, _newest),
    "datasets": Question("package_search", {"rows": 0}, _datasets),
    "status": Question("status_show", {}, _status),
    "oldest": Question("package_search", {"rows": 1, "sort": "metadata_modified asc"}, _oldest),
    "organizations": Question("organization_list", {}, partial(_names, field="num_organizations")),
    "groups": Question("group_list", {}, partial(_names, field="num_groups")),
    "resources": Question("resource_search", {"query": "url:", "limit": 0}, _resources),
}
"""By their names; the first shows where the API is."""


_PATIENCE = 2
"""Questions in a row without an answer, before no more are asked."""


class Answers:
    """The answers of portals to their questions."""

    def __init__(self, end: End) -> None:
        self.end_visit = end

    def begin(self, visit: Visit, result: dict[str, Any] | None) -> Output:
        """Yield the second question.

        Args:
            result: of the first one; ``None`` if CKAN refuses to answer that.
        """
        visit.site["api_root"] = visit.root
        if result is not None:
            try:
                QUESTIONS["newest"].read(result, visit)
            except AnswerError as error:
                visit.gaps.append(f"package_search: {error}")
        needless = {"newest", "datasets" if result is not None else "", "oldest" if visit.newest is None else ""}
        visit.questions = [name for name in QUESTIONS if name not in needless]
        yield from self.following(visit)

    def following(self, visit: Visit, more: dict[str, Any] | None = None) -> Output:
        """Yield the next question; where none is left, the site.

        Args:
            more: parameters of the last question's next part.
        """
        if not visit.questions or visit.unanswered >= _PATIENCE:
            yield from self.end(visit)
            return
        if more is None:
            visit.counted, visit.first = 0, None
        question = QUESTIONS[visit.questions[0]]
        yield visit.request(question.action, question.parameters | (more or {}), self.parse, self.failed)

    def parse(self, response: Response, visit: dict[str, Any]) -> Output:
        """Yield the next question after an answer."""
        here, more = Visit(**visit), None
        question, here.unanswered = QUESTIONS[here.questions[0]], 0
        try:
            more = question.read(api.any_result(response), here)
        except AnswerError as error:
            is_plain = response.status < 400 or error.kind == "blocked" or api.refusal(response)
            here.gaps.append(f"{question.action}: {error if is_plain else f'HTTP {response.status}'}")
            here.unanswered = _PATIENCE if error.kind == "blocked" else 0
        here.questions = here.questions if more else here.questions[1:]
        yield from self.following(here, more)

    def failed(self, failure: Failure) -> Output:
        """Yield the next question after one that had no answer; an errback."""
        request, error = failures.request(failure), failures.from_failure(failure)
        here = Visit(**request.cb_kwargs["visit"])
        name, *here.questions = here.questions
        here.gaps.append(f"{QUESTIONS[name].action}: {error}")
        here.unanswered = _PATIENCE if error.kind == "blocked" else here.unanswered + 1
        yield from self.following(here)

    def end(self, visit: Visit) -> Output:
        """Yield the site of a visit in which CKAN answered."""
        gaps = "; ".join(visit.gaps)
        if visit.has_moved:
            moved = f"the address leads to {host(visit.place)}, where CKAN answers"
            yield from self.end_visit(visit, "moved", f"{moved}; {gaps}" if gaps else moved)
        else:
            yield from self.end_visit(visit, "up", gaps or None)


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
    """Asks a portal's places for the first question, one after another, until a CKAN answers.

    Args:
        end: yields the site that a visit found, by its state and the reason.

    Attributes:
        is_online: whether any host has answered in this run; if none has, our own network may be the reason.
    """

    def __init__(self, spider: CatalogueSpider, answers: Answers, end: End) -> None:
        self.spider = spider
        self.answers = answers
        self.end = end
        self.is_online = False

    def begin(self, visit: Visit) -> Output:
        url = visit.site["url"]
        if url is None:
            yield from self.end(visit, "unknown", "the catalogue gives no address of it")
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
            yield from self.end(visit, "unknown", f"{where}; {visit.doubt}")
        else:
            yield from self.end(visit, "not_ckan", where)

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
            yield from self.answers.begin(here, result)
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
            yield from self.answers.begin(visit, None)
        elif judged:
            yield from self.end(visit, *judged)
        elif refusal.error.kind == "truncated":
            yield from self.end(visit, "down", str(refusal.error))
        else:
            yield from self.following(visit)

    # Pages

    def ask_page(self, visit: Visit, url: str) -> Request:
        return visit.carried(Request(url, self.parse_page, errback=self.failed))

    def parse_page(self, response: Response, visit: dict[str, Any]) -> Output:
        """Yield the request for the place that a page names, or the next one."""
        here, judged = self.heard(response, visit), _judged(response)
        if response.status in _REDIRECTING:
            yield from self.follow(response, here)
        elif judged:
            yield from self.end(here, *judged)
        else:
            here.places = _places(response.url, response.body)
            yield from self.following(here)

    # Both

    def heard(self, response: Response, visit: dict[str, Any]) -> Visit:
        self.is_online = True
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
            yield from self.end(visit, "unknown", "it redirects to what is no web address")
            return
        if visit.hops > _HOPS:
            yield from self.end(visit, "unknown", f"it redirects more than {_HOPS} times")
        elif response.url.startswith("https:") and target.startswith("http:"):
            reason = f"it redirects from https to {target[:200]}, which is not followed"
            yield from self.end(visit, "unknown", reason)
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
            yield from self.end(here, "down", str(error))
        elif error.kind in _NO_ANSWER:
            yield from self.end(here, *self.silence(error, failure.value))
        elif error.kind == "blocked":
            yield from self.end(here, "blocked", str(error))
        elif error.kind in _ELSEWHERE:
            here.doubt = str(error)
            yield from self.following(here)
        else:
            self.spider.failed("fetch", error, request, dataset_id=here.site["id"])
            yield from self.end(here, "unknown", str(error))

    def silence(self, error: AnswerError, cause: BaseException | None) -> tuple[str, str]:
        """Return the state of a portal that did not answer, and the reason."""
        if self.is_online or isinstance(cause, DownloadConnectionRefusedError):
            return "down", str(error)
        return "unknown", f"{error}; no host has answered in this run yet, so it may be our own network"


def _judged(response: Response) -> Judged | None:
    """Return the state that an answer shows its host to have, and the reason; ``None`` if it may have a CKAN."""
    check = challenge(response)
    if check or response.status in _REFUSING:
        return "blocked", check or f"the portal refuses access (HTTP {response.status})"
    return ("down", f"HTTP {response.status}") if response.status >= 500 else None


def _places(url: str, body: bytes = b"") -> list[str]:
    return [f"{root}/api/3/action" for root in dict.fromkeys(roots(url, body))]
