"""What a repository says of itself: Identify and ListMetadataFormats, which come before the list."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from scrapy import Request

from crawlers.exceptions import AnswerError
from crawlers.kinds.oai import answer as answers
from crawlers.kinds.oai.answer import OAIError
from crawlers.kinds.oai.dialect import Question
from crawlers.listing.faults import Fault
from crawlers.listing.since import beginning
from crawlers.listing.walk import Walk, restored
from crawlers.politeness import failures
from crawlers.values.moment import moment, written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.kinds.oai.endpoint import Endpoint
    from crawlers.listing.crawl import Crawl
    from crawlers.listing.lister import Lister

LEAST = "oai_dc"
"""The format that every repository has to give."""
_RICHEST = ("dcat_ap", "dcat", "oai_datacite", "datacite", "iso19115-3", "iso19139", LEAST)
"""The formats that are read, the richest first; a longer name is of the first that it begins with: datacite4."""
_IDENTITY = ("earliestDatestamp", "granularity")


class Repository:
    """Asks a repository for its granularity and its formats, then begins the list."""

    def __init__(self, crawl: Crawl, endpoint: Endpoint, lister: Lister[Question]) -> None:
        self.crawl, self.endpoint, self.lister = crawl, endpoint, lister

    def begin(self) -> Request:
        self.lister.walks.begin("datasets")
        return Request(self.endpoint.address("Identify"), self.parse_identity, errback=self.identity_failed)

    def parse_identity(self, response: Response) -> Iterator[Request]:
        try:
            answers.content(response)
        except AnswerError as error:
            if error.kind == "refused" and not isinstance(error, OAIError):  # a page of another kind
                yield from self.lister.short(Walk(ask=Question()), error, response.request, response.status)
                return
        yield from self.identified(self.content(response))

    def identity_failed(self, failure: Failure) -> Iterator[Request]:
        if self.is_closed(failure):
            yield from self.closed(failure)
        else:
            yield from self.identified(self.content_of(failure))

    def identified(self, root: Any) -> Iterator[Request]:
        """Yield the request for its formats, or for the first page if the user names one."""
        found = None if root is None else root.find("{*}Identify")
        texts = {} if found is None else {name: found.findtext("{*}" + name) or "" for name in _IDENTITY}
        known = {name: text.strip() for name, text in texts.items()}
        ask = self.question(known.get("earliestDatestamp", ""), "hh" not in known.get("granularity", "").lower())
        if self.crawl.args["prefix"]:
            yield from self.lister.begin(Walk(ask=ask))
        else:
            address, keywords = self.endpoint.address("ListMetadataFormats"), {"walk": Walk(ask=ask).plain()}
            yield Request(address, self.parse_formats, errback=self.formats_failed, cb_kwargs=keywords)

    def question(self, earliest: str, is_daily: bool) -> Question:
        """Return what the list is asked by; what changed since a moment is requested from one granule before it."""
        since = moment(beginning(self.crawl))
        begin = "" if since is None else _widened(written(since), is_daily=is_daily)
        earliest = written(known) if (known := moment(earliest)) else ""
        prefix = self.crawl.args["prefix"] or LEAST
        return Question(prefix=prefix, is_daily=is_daily, earliest=earliest, since=begin, begin=begin)

    def parse_formats(self, response: Response, walk: dict[str, Any]) -> Iterator[Request]:
        yield from self.begun(self.content(response), walk)

    def formats_failed(self, failure: Failure) -> Iterator[Request]:
        if self.is_closed(failure):
            yield from self.closed(failure)
        else:
            yield from self.begun(self.content_of(failure), **failures.request(failure).cb_kwargs)

    def begun(self, root: Any, walk: dict[str, Any]) -> Iterator[Request]:
        """Yield the request for the first page, in the best of its formats."""
        found = () if root is None else root.iterfind(".//{*}metadataPrefix")
        names, held = [(element.text or "").strip() for element in found], self.held_prefix()
        formats = tuple(dict.fromkeys((*ordered(names or [held], held), LEAST)))
        self.crawl.logger.info("%s gives %s; requesting %s", self.endpoint.url, ", ".join(names)[:500], formats[0])
        here = restored(walk, Question)
        yield from self.lister.begin(replace(here, ask=replace(here.ask, prefix=formats[0], formats=formats)))

    def held_prefix(self) -> str:
        """Return the format of the records on disk: another one would change every document; empty if there is none."""
        held = next(self.crawl.opened_index().documents.held(), None)
        found = parse_qs(urlsplit(held.metadata_url or "").query).get("metadataPrefix", []) if held else []
        return next(iter(found), "")

    # What precedes a list is a hint: where it fails, the list is asked for all the same

    def content(self, response: Response) -> Any:
        """Return the root of an answer; ``None`` if it is another one."""
        try:
            return answers.content(response)
        except AnswerError as error:
            self.crawl.logger.info("%s: %s; listing all the same", response.url, error)
            return None

    def content_of(self, failure: Failure) -> Any:
        """Return the same of an answer with an HTTP error; ``None`` if none came."""
        response = getattr(failure.value, "response", None)
        return None if response is None else self.content(response)

    def is_closed(self, failure: Failure) -> bool:
        """Return whether a request failed of its host, so that there is no list either."""
        return Fault(failures.from_failure(failure), failures.status(failure), is_first=True).is_of_host

    def closed(self, failure: Failure) -> Iterator[Request]:
        """Report such a failure; nothing is listed."""
        error, request, status = failures.from_failure(failure), failures.request(failure), failures.status(failure)
        yield from self.lister.short(Walk(ask=Question()), error, request, status)


def ordered(names: list[str], held: str = "") -> list[str]:
    """Return the formats that can be read, the best one first.

    Args:
        names: the metadataPrefixes of a repository.
        held: the one of the records on disk.

    >>> ordered(["oai_dc", "marcxml", "oai_datacite4", "datacite", "DCAT"])
    ['DCAT', 'oai_datacite4', 'datacite', 'oai_dc']
    >>> ordered(["oai_dc", "iso19139", "oai_dc_terms"], held="oai_dc")
    ['oai_dc', 'iso19139']
    """
    ranks = {name: rank for name in names if (rank := _rank(name)) is not None}
    return sorted(ranks, key=lambda name: (name != held, ranks[name], len(name)))


def _rank(name: str) -> int | None:
    word = name.lower()
    ranks = (rank for rank, known in enumerate(_RICHEST) if word.startswith(known))
    return next((rank for rank in ranks if _RICHEST[rank] != LEAST or word == LEAST), None)


def _widened(since: str, *, is_daily: bool) -> str:
    """Return a moment one granule earlier; of a repository that takes days, the day before."""
    found = moment(since[:10] if is_daily else since)
    assert found  # noqa: S101  # it was written by `written`
    return written(found - (timedelta(days=1) if is_daily else timedelta(seconds=1)))
