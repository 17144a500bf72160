"""A spider walked through a catalogue in this process: a function answers its requests, and no engine, pipeline or
network is there. What a listing decides takes milliseconds so: which page follows, what an end proves, what is missing.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from scrapy import Request, Spider
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes
from scrapy.spidermiddlewares.httperror import HttpError
from scrapy.utils.misc import build_from_crawler, load_object
from scrapy.utils.test import get_crawler
from twisted.python.failure import Failure

from crawlers import causes, settings, signals
from crawlers.components.ledger import Job
from crawlers.components.scheduler import place_of
from crawlers.store.index import Index
from tests.site import Asked, Site

FINGERPRINTER = settings.REQUEST_FINGERPRINTER_CLASS
SETTINGS = {name: getattr(settings, name) for name in ("JSON_MAXSIZE", "LINKED_DATASETS_MAX", "SHRINK_LIMIT")}
MOST = 1000  # requests
Answers = Callable[[Request], Response]


@dataclass
class Walked:
    """What a spider collected.

    Attributes:
        asked: its requests, in order; one that is repeated is sent once.
        twice: the number of the request whose answer is read twice, as after a kill before what follows was stored.
        again: what the repeated request is answered; by default the same.
        is_late: whether it is read again behind all others, instead of at once.
        errors: the signals of what is missing.
        flaws: those of what could not be read of records that are kept.
    """

    spider: Any
    asked: list[Request] = field(default_factory=list)
    items: list[Any] = field(default_factory=list)
    errors: list[signals.Failed] = field(default_factory=list)
    flaws: list[signals.Failed] = field(default_factory=list)
    twice: int = 0
    again: Callable[[Response], Response] | None = None
    is_late: bool = False

    def ids(self) -> list[str]:
        return sorted(item.id for item in self.items)

    def kinds(self) -> Counter[str]:
        return Counter(error.kind for error in self.errors)

    @property
    def evidence(self) -> dict[str, str]:
        return self.spider.run_state.walks.evidence

    @property
    def judged(self) -> tuple[str, int | None, int]:
        """The verdict that a crawl's report would give, how many datasets are expected, and how many were listed."""
        state = self.spider.run_state
        is_whole = self.kinds().keys() <= set(causes.FINDINGS) and set(state.walks.lists.values()) == {"ended"}
        is_all = state.expected is not None and state.listed >= state.expected
        verdict = "partial" if state.is_limited else "complete" if state.walks.evidence and is_all else "incomplete"
        return verdict if is_whole else "incomplete", state.expected, state.listed

    def note(self, failed: signals.Failed) -> None:
        (self.flaws if failed.kind in causes.FLAWS else self.errors).append(failed)

    async def run(self, answers: Answers) -> None:
        waiting, late = [each async for each in self.spider.start()], None
        while waiting:
            request = waiting.pop(0)
            job = Job.from_crawler(self.spider.crawler)
            place = place_of(request, self.spider.crawler)
            if not job.execute("INSERT OR IGNORE INTO seen VALUES (?)", (place,)).rowcount and not request.dont_filter:
                continue
            self.asked.append(request)
            assert len(self.asked) < MOST, "it has no end"
            response = followed(request, answers)
            if len(self.asked) == self.twice and self.is_late:
                late = request, response
            elif len(self.asked) == self.twice:
                await self.outputs(request, response)
                if self.again:
                    Job.from_crawler(self.spider.crawler).resumed = True
                    response = self.again(response)
            for each in await self.outputs(request, response):
                (waiting if isinstance(each, Request) else self.items).append(each)
            if late and not waiting:
                job.resumed = True
                waiting = [each for each in await self.outputs(*late) if isinstance(each, Request)]
                late = None

    async def outputs(self, request: Request, response: Response) -> list[Any]:
        if 200 <= response.status < 300 or response.status in request.meta.get("handle_httpstatus_list", ()):
            found = request.callback(response, **request.cb_kwargs)
        else:
            failure = Failure(HttpError(response))
            failure.request = request
            found = request.errback(failure)
        return [each async for each in found] if isinstance(found, AsyncIterator) else list(found or ())


def followed(request: Request, answers: Answers) -> Response:
    """Return the answer at the end of redirects, as Scrapy's middleware gives it."""
    asked, response = request, answers(request)
    while response.status in {301, 302}:
        address = urljoin(asked.url, response.headers["Location"].decode())
        was = [*asked.meta.get("redirect_urls", []), asked.url]
        asked = asked.replace(url=address, meta={**asked.meta, "redirect_urls": was})
        response = answers(asked)
    response.request = asked
    return response


def walk(
    spider: type[Spider],
    answers: Answers,
    folder: Path,
    changes: dict[str, Any] | None = None,
    *,
    twice: int = 0,
    again: Callable[[Response], Response] | None = None,
    is_late: bool = False,
    **given: str,
) -> Walked:
    """Walk a spider through a catalogue.

    Args:
        answers: returns the answer to a request.
        folder: where the index is, which nothing fills.
        changes: other settings.
        twice: the number of a request whose answer is read twice.
        again: what the repeated request is answered.
        is_late: whether it is read again behind all others, instead of at once.
        given: the spider's arguments.
    """
    crawler = get_crawler(spider, SETTINGS | (changes or {}))
    crawler.spider = spider.from_crawler(crawler, **given)
    crawler.request_fingerprinter = build_from_crawler(load_object(FINGERPRINTER), crawler)
    index = Index(folder, crawler.spider.source)
    crawler.spider.opened_index = lambda: index
    walked = Walked(crawler.spider, twice=twice, again=again, is_late=is_late)
    crawler.signals.connect(walked.note, signal=signals.record_failed)
    try:
        asyncio.run(walked.run(answers))
    finally:
        index.close()
        Job.from_crawler(crawler).db.close()
    return walked


def answers_of(site: Site) -> Answers:
    """Return what a site of the loopback answers, asked without the loopback."""

    def answers(request: Request) -> Response:
        headers = Message()
        for name, values in request.headers.items():
            headers[name.decode()] = values[0].decode()
        site.asked.append(Asked(path(request), headers, request.method, request.body))
        given = site.answer(site.asked[-1])
        return response(request, given.body, given.status, given.headers)

    return answers


def response(request: Request, body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return an answer of the class that Scrapy chooses for it."""
    chosen = responsetypes.from_args(headers=Headers(headers or {}), url=request.url, body=body)
    return chosen(request.url, status=status, headers=headers, body=body)


def path(request: Request) -> str:
    """Return the path of a request with its query, as a server sees it."""
    parts = urlsplit(request.url)
    return parts.path + (f"?{parts.query}" if parts.query else "")
