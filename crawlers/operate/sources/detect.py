"""Finds out what an address is, in a few requests: asks each kind of catalogue, the strongest first."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import scrapy
from scrapy import Request, signals
from scrapy.exceptions import StopDownload

from crawlers import arguments, kind
from crawlers.causes import ADVICE
from crawlers.components.politeness import failures
from crawlers.components.politeness.failures import challenge
from crawlers.exceptions import AnswerError, CrawlersError, SourcesError
from crawlers.listing.answers import other_answer
from crawlers.operate.pages import crawl_error, end_at_once
from crawlers.records.rdf import formats
from crawlers.safety.addresses import linked

if TYPE_CHECKING:
    from scrapy.commands import ScrapyCommand
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.kind import Answer, Asking, Finding, GuardedDetector


MOST = 8
"""Requests, at most, until it is known what an address is."""
HEAD = 2 * 1024 * 1024
"""Bytes of an answer that are looked at."""

_LINKS = 5
"""A page with this number of links is one of the portal's, even if a form on it has a captcha."""
_ENOUGH = f"not requested, {MOST} requests are enough"
_OVER = {"dns", "connection", "timeout", "blocked", "forbidden_address"}  # the host is unreachable
_NO_ROBOTS = "is unreachable"  # as `crawlers.components.politeness.robots` says it
_BUSY = re.compile(r"HTTP (408|425|429|5\d\d)\b")


class RefusalError(AnswerError):
    """An HTTP error with the answer itself: an API may say in its body that it refuses."""

    def __init__(self, error: AnswerError, response: Response) -> None:
        super().__init__(error.kind, str(error))
        self.response = response


@dataclass(slots=True)
class Detection:
    """A `crawlers.kind.Probe` of one address.

    detection = Detection("https://demo.ckan.org")
    found = yield from detection.run()

    Args:
        url: what the user typed.
        kinds: the names of the kinds that it may be; by default all.
        given: the spider's arguments that the user gave.

    Attributes:
        first: the answer to the address itself.
        found: what it may be harvested as, the best first.
        notes: each address that was asked for, and what it gave, for messages.
        choice: why the user has to choose among several catalogues, as a sentence; empty if not.
    """

    url: str
    kinds: Collection[str] | None = None
    given: Mapping[str, str] = field(default_factory=dict)
    first: Answer = field(init=False)
    found: list[Finding] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)
    choice: str = ""
    _doubts: dict[str, str] = field(default_factory=dict)
    _limit: int = MOST

    def run(self) -> Asking[list[Finding]]:
        """Return what it may be harvested as, the best first.

        While a stronger kind may be there, nothing weaker is taken for want of it.
        """
        self.first = first = yield from self.ask(self.url)
        here = getattr(first, "url", self.url)
        self.say(here, _described(first))
        if urlsplit(here).hostname != urlsplit(self.url).hostname:
            self.say(self.url, f"leads to another host: if nothing is found, add {here}")
        names = kind.registered() if self.kinds is None else self.kinds
        asked = [detector for detector in _detectors() if detector.kind in names]
        for place, detector in enumerate(asked, 1):
            self._limit = MOST - sum(later.requests for later in asked[place:])
            self.found += yield from detector.find(self)
        return self.found

    def ask(self, address: str) -> Asking[Answer]:
        """Return the answer of an address, which is requested once; an `AnswerError` after `MOST` requests."""
        if address not in self.answers:
            if len(self.answers) >= self._limit:
                return AnswerError("ignored", _ENOUGH)
            if not _is_plain(address):
                return AnswerError("ignored", "not an address that can be requested")
            self.answers[address] = answer = _checked((yield address))
            why = _unclear(answer)
            self._doubts |= {address: why} if why else {}
        return self.answers[address]

    def look(self, address: str) -> Asking[Answer]:
        """Return the answer of an address, like `ask`, and tell people what it is."""
        answer = yield from self.ask(address)
        self.say(address, _described(answer))
        return answer

    def say(self, address: str, text: str) -> None:
        """Tell people what an address gave."""
        self.notes.append((address, text))

    def leave_open(self, sentence: str) -> None:
        """Say why the user has to choose among several catalogues: then nothing weaker is looked for."""
        self.choice = sentence

    @property
    def is_settled(self) -> bool:
        """Whether a stronger kind was found, or may be there."""
        return bool(self.found or self._doubts or self.choice)

    @property
    def is_unreachable(self) -> bool:
        """Whether the host does not answer, or its robots.txt does not, without which nothing else is requested."""
        return any(isinstance(answer, AnswerError) and _is_over(answer) for answer in self.answers.values())

    def is_led(self, finding: Finding) -> bool:
        """Return whether what the user typed leads to a catalogue: it is below that, or below where that redirects."""
        places = (self.url, getattr(self.first, "url", self.url))
        return finding.is_led or any(arguments.is_within(finding.address, place) for place in places)

    @property
    def hindrance(self) -> str:
        """Why nothing can be added: the user has to choose, or a robot check came; empty if nothing of that is so."""
        if self.choice:
            return f"{self.url}: {self.choice}."
        blocked = [(url, found) for url, found in self.answers.items() if getattr(found, "kind", "") == "blocked"]
        return "".join(f"{url}: {found}. {ADVICE['blocked']}" for url, found in blocked[:1])

    @property
    def unclear(self) -> str | None:
        """The first address that did not show what is there, and why."""
        return next((f"{address}: {why}" for address, why in self._doubts.items()), None)

    def is_named(self, kind: str) -> bool:
        """Return whether the user says that the catalogue is of this kind."""
        return self.kinds is not None and [*self.kinds] == [kind]

    def is_inconclusive(self, address: str) -> bool:
        """Return whether the answer leaves open what is there."""
        return address in self._doubts

    @property
    def other(self) -> str | None:
        """What the answer to the address itself is, if it is known, and what to use instead."""
        return None if isinstance(self.first, AnswerError) else other_answer(self.first)

    def lines(self) -> Iterator[str]:
        """Yield which kinds can't be recognised, and what each address gave.

        Those addresses that are not there, and those left out, are on a line each.
        """
        yield from (detector.failure for detector in _detectors() if detector.failure)
        missing = [address for address, text in self.notes[1:] if "HTTP 404" in text]
        left = [address for address, text in self.notes if text == _ENOUGH]
        yield from (f"{address}: {text}" for address, text in self.notes if address not in (*missing, *left))
        for what, those in (("Not found", missing), (_ENOUGH.capitalize(), left)):
            if those:
                yield f"{what}: {', '.join(urlsplit(address).path for address in those)}"


@cache
def _detectors() -> tuple[GuardedDetector, ...]:
    """Return the detectors of all kinds, the strongest first; those that take nearly any page are last."""
    found = filter(None, map(kind.detector, kind.registered()))
    return tuple(sorted(found, key=lambda detector: detector.is_fallback))


def _checked(answer: Answer) -> Answer:
    """Return the answer; an error in place of a robot check, which has hardly a link, whatever its HTTP status."""
    if isinstance(answer, AnswerError) or len(list(islice(linked(answer.body, answer.url), _LINKS))) == _LINKS:
        return answer
    check = challenge(answer)
    return AnswerError("blocked", check) if check else answer


def _unclear(answer: Answer) -> str | None:
    """Return why a catalogue may be there all the same; ``None`` if the answer settles it."""
    if not isinstance(answer, AnswerError):
        return _refusal(answer)
    refusal = _refusal(answer.response) if isinstance(answer, RefusalError) else None
    if refusal:
        return f"{refusal} ({answer})"
    return str(answer) if _is_over(answer) or _BUSY.match(str(answer)) else None


def _is_over(error: AnswerError) -> bool:
    return error.kind in _OVER or (error.kind == "robots" and _NO_ROBOTS in str(error))


def _refusal(response: Response) -> str | None:
    return next(filter(None, (detector.refusal(response) for detector in _detectors())), None)


def _described(answer: Answer) -> str:
    """Return what an answer is, for messages."""
    if isinstance(answer, AnswerError):
        return str(answer)
    recognised = next(filter(None, (detector.recognise(answer) for detector in _detectors())), None)
    if recognised:
        return recognised
    if other := other_answer(answer):
        return other
    format_ = formats.of_answer(answer)
    if not isinstance(format_, formats.Format):
        type_ = (answer.headers.get("Content-Type") or b"").decode("latin-1").partition(";")[0].strip()[:100]
        return f"neither RDF nor JSON nor HTML, but {type_ or 'of no stated type'}"
    what = "JSON" if format_.family == "json" else format_.name
    return f"{what} that is not a catalogue of a known kind"


def _is_plain(address: str) -> bool:
    try:
        arguments.url(address)
    except ValueError:
        return False
    return True


T = TypeVar("T")
_SECONDS = 30  # for an answer, or its start
_RETRIES = 1


class ProbeSpider(scrapy.Spider):
    """Requests what a generator asks for.

    Args:
        address: what the user typed; its host may be private, and robots.txt does not restrict its API.
        asking: yields the addresses and receives the answers.
        result: receives what the generator returns, or the exception that ended it.
    """

    name = "probe"
    custom_settings = {"ITEM_PIPELINES": {}, "HTTPCACHE_ENABLED": False}  # noqa: RUF012

    def __init__(self, address: str, asking: Asking[Any], result: dict[str, Any]) -> None:
        super().__init__()
        self.start_urls = [address]
        self.asking = asking
        self.result = result
        self.received: WeakKeyDictionary[Request, int] = WeakKeyDictionary()

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **keywords: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **keywords)
        exempt = crawler.settings.getlist("ROBOTS_EXEMPT_HOSTS")
        host = urlsplit(spider.start_urls[0]).hostname
        crawler.settings.set("ROBOTS_EXEMPT_HOSTS", [*exempt, host], "spider")
        crawler.signals.connect(spider.part, signals.bytes_received)
        crawler.signals.connect(spider.failed_with, signals.spider_error)
        return spider

    async def start(self) -> AsyncIterator[Request]:
        end_at_once()
        for request in self.next_request(None):
            yield request

    def next_request(self, answer: Answer | None) -> Iterator[Request]:
        """Yield the next request, if there is one."""
        try:
            address = next(self.asking) if answer is None else self.asking.send(answer)
        except StopIteration as end:
            self.result["value"] = end.value
        except CrawlersError as error:
            self.result["error"] = error
        else:
            yield self.request(address)

    def request(self, address: str) -> Request:
        headers = {
            "Accept": formats.ACCEPT,
            "Accept-Encoding": "identity",
        }  # of a part, too
        meta = {"probe": True, "download_timeout": _SECONDS, "max_retry_times": _RETRIES}
        return Request(address, self.next_request, errback=self.failed, headers=headers, meta=meta, dont_filter=True)

    def failed(self, failure: Failure) -> Iterator[Request]:
        error, response = failures.from_failure(failure), getattr(failure.value, "response", None)
        return self.next_request(error if response is None else RefusalError(error, response))

    def part(self, data: bytes, request: Request) -> None:
        """Count the bytes of an answer.

        Raises:
            StopDownload: enough of it has arrived.
        """
        self.received[request] = self.received.get(request, 0) + len(data)
        if request.meta.get("probe") and self.received[request] > HEAD:
            raise StopDownload(fail=False)

    def failed_with(self, failure: Failure) -> None:
        self.result["error"] = failure.value


def probe(command: ScrapyCommand, address: str, asking: Asking[T]) -> T:
    """Return what a generator returns, once it has all the answers that it asks for.

    Raises:
        SourcesError: the crawl ended before.
    """
    result: dict[str, Any] = {}
    failure = crawl_error(command, ProbeSpider, address=address, asking=asking, result=result)
    error = result.get("error") or failure
    if error is not None:
        raise error
    if "value" not in result:
        raise SourcesError(f"{address}: interrupted before it was recognised.")
    value: T = result["value"]
    return value
