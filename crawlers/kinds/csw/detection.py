"""Recognises catalogue services by their capabilities."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from crawlers import arguments
from crawlers.exceptions import AnswerError
from crawlers.kind import Detector, Finding
from crawlers.kinds.csw.answers import is_csw
from crawlers.kinds.csw.getrecords import endpoint, with_parameters
from crawlers.records import xml
from crawlers.safety.addresses import linked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

    from crawlers.kind import Answer, Asking, Probe

_QUESTION = {"service": "CSW", "request": "GetCapabilities"}
_PATH = re.compile(r"(^|[/_.-])csw([/_.-]|$)", re.IGNORECASE)
_USUAL = ("/srv/eng/csw", "/geonetwork/srv/eng/csw", "/csw")
_ROOT = re.compile(rb"<(?:[\w.-]{1,60}:)?(?:Capabilities|GetRecords(?:ById)?Response)[\s>]")


class CSWDetector(Detector):
    """Asks an address that looks like a service's, or a link of the page that does, or the service of a GeoNetwork.

    If the user names the kind, the usual places are asked, too.
    """

    kind = "csw"

    def recognise(self, response: Response) -> str | None:
        return "an answer of a CSW" if _is_answer(response) else None

    def find(self, probe: Probe) -> Asking[list[Finding]]:
        if not isinstance(probe.first, AnswerError) and _is_answer(probe.first):
            return [self._finding(endpoint(probe.url))]
        if probe.is_settled and not probe.is_named(self.kind):
            return []
        led = [*_led(probe.url), *_linked(probe.first)]
        usual = _usual(probe.url) if probe.is_named(self.kind) else ()
        for address in dict.fromkeys((*led, *usual)):
            if probe.is_unreachable:
                break
            answer = yield from probe.ask(with_parameters(address, _QUESTION))
            probe.say(address, _described(answer))
            if not isinstance(answer, AnswerError) and _is_answer(answer):
                return [self._finding(address, is_led=address in led)]
        return []

    def _finding(self, address: str, *, is_led: bool = True) -> Finding:
        return Finding(self.kind, address, "it is a catalogue service (CSW)", is_led=is_led)


def _led(url: str) -> Iterator[str]:
    """Yield where an address that looks like a service's, or a GeoNetwork's, leads.

    >>> list(_led("https://example.org/geonetwork/srv/fre/catalog.search"))
    ['https://example.org/geonetwork/srv/eng/csw']
    """
    parts = urlsplit(url)
    if _is_hinted(url):
        yield endpoint(url.partition("#")[0])
    elif "/srv/" in parts.path:
        yield f"{parts.scheme}://{parts.netloc}{parts.path.partition('/srv/')[0]}/srv/eng/csw"


def _usual(url: str) -> Iterator[str]:
    """Yield the address itself, then where services usually are: below it, and below the host."""
    parts = urlsplit(url)
    host = f"{parts.scheme}://{parts.netloc}"
    yield endpoint(url.partition("#")[0])
    for path in _USUAL:
        yield from dict.fromkeys((host + arguments.folder(url).rstrip("/") + path, host + path))


def _linked(first: Answer) -> list[str]:
    found = () if isinstance(first, AnswerError) else linked(first.body, first.url)
    return [endpoint(address) for address in found if _is_hinted(address)][:1]


def _is_hinted(url: str) -> bool:
    parts = urlsplit(url)
    query = {name.lower(): value.lower() for name, value in parse_qsl(parts.query)}
    return bool(_PATH.search(parts.path)) or query.get("service") == "csw"


def _is_answer(response: Response) -> bool:
    if not _ROOT.search(response.body[:8192]):
        return False
    with suppress(AnswerError, ValueError):
        return is_csw(xml.root(response))
    return False


def _described(answer: Answer) -> str:
    if isinstance(answer, AnswerError):
        return str(answer)
    return "CSW" if _is_answer(answer) else "not an answer of a CSW"
