"""Recognises OAI-PMH repositories by their answers, errors among them."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urljoin, urlsplit

from crawlers.exceptions import AnswerError
from crawlers.kind import Detector, Finding
from crawlers.kinds.oai.answers import is_oai
from crawlers.kinds.oai.spider import endpoint
from crawlers.records import xml
from crawlers.records.tables import toml_table
from crawlers.safety.addresses import linked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.http import Response

    from crawlers.kind import Answer, Asking, Probe

_PATH = re.compile(r"(^|[/_.-])oai(2d|2|-?pmh)?([/_.-]|$)", re.IGNORECASE)
_HEAD = 64 * 1024  # bytes of a page in which its software is looked for
_ROOT = re.compile(rb"<(?:[\w.-]{1,60}:)?OAI-PMH[\s>]")


class OAIDetector(Detector):
    """Asks an address that looks like a repository's, or that the user says is one, and where its software has it."""

    kind = "oai"

    def recognise(self, response: Response) -> str | None:
        return "an answer of OAI-PMH" if _is_answer(response) else None

    def find(self, probe: Probe) -> Asking[list[Finding]]:
        is_named = probe.is_named(self.kind)
        if _is_there(probe.first):
            return [self._finding(endpoint(probe.url))]
        if probe.is_settled and not is_named:
            return []
        own = [probe.url.partition("#")[0]] if is_named or _is_hinted(probe.url) else _linked(probe.first)
        led = [*own, *_doors(probe.url, probe.first)]
        for place in dict.fromkeys((*led, *(_all_doors(probe.url) if is_named else ()))):
            if probe.is_unreachable:
                break
            address = endpoint(place)
            answer = yield from probe.ask(f"{address}{'&' if urlsplit(address).query else '?'}verb=Identify")
            probe.say(address, _described(answer))
            if _is_there(answer):
                return [self._finding(address, is_led=place in led)]
        return []

    def _finding(self, address: str, *, is_led: bool = True) -> Finding:
        return Finding(self.kind, address, "it is an OAI-PMH repository", is_led=is_led)


def _linked(first: Answer) -> list[str]:
    found = () if isinstance(first, AnswerError) else linked(first.body, first.url)
    return [address for address in found if _is_hinted(address)][:1]


@cache
def _software() -> Mapping[str, Any]:
    return toml_table("crawlers.kinds.oai", "software.toml")


def _doors(url: str, first: Answer) -> list[str]:
    """Return where the repository is by the software that an address or its page shows: beside that, or at the host.

    >>> _doors("https://example.org/repo/id/eprint/7/", AnswerError("http", "HTTP 404"))
    ['https://example.org/repo/cgi/oai2', 'https://example.org/cgi/oai2']
    """
    page = b"" if isinstance(first, AnswerError) else first.body[:_HEAD].lower()
    path, doors = urlsplit(url).path, []
    for software in _software().values():
        above = min((path.partition(part)[0] for part in software["paths"] if part in path), default=None, key=len)
        if above is not None or any(text.encode() in page for text in software["page"]):
            doors += [urljoin(url, f"{place}{door}") for place in (above or "", "") for door in software["doors"]]
    return [*dict.fromkeys(doors)]


def _all_doors(url: str) -> list[str]:
    return [urljoin(url, door) for software in _software().values() for door in software["doors"]]


def _is_hinted(url: str) -> bool:
    """
    >>> [_is_hinted(f"https://a.org/{end}") for end in ("oai2d", "ws/oai-pmh/request", "x?verb=Identify", "oaim")]
    [True, True, True, False]
    """
    parts = urlsplit(url)
    return bool(_PATH.search(parts.path)) or "verb" in dict(parse_qsl(parts.query))


def _is_there(answer: Answer) -> bool:
    """Return whether an answer is a repository's, with whatever status: some send their errors with HTTP 422."""
    response = getattr(answer, "response", None) if isinstance(answer, AnswerError) else answer
    return response is not None and response.status < 500 and response.status != 429 and _is_answer(response)


def _is_answer(response: Response) -> bool:
    if not _ROOT.search(response.body[:8192]):
        return False
    with suppress(AnswerError, ValueError):
        return is_oai(xml.root(response))
    return False


def _described(answer: Answer) -> str:
    if _is_there(answer):
        return "OAI-PMH"
    return str(answer) if isinstance(answer, AnswerError) else "not an answer of OAI-PMH"
