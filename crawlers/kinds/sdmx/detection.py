"""Recognises SDMX services by the beginning of their list of dataflows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from crawlers.exceptions import AnswerError
from crawlers.kind import Detector, Finding
from crawlers.kinds.sdmx.mapping import list_address, service

if TYPE_CHECKING:
    from scrapy.http import Response

    from crawlers.kind import Answer, Asking, Probe

_HINT = re.compile(r"sdmx|/dataflow(/|$)", re.IGNORECASE)
_HEAD = 8192
_ROOT = re.compile(rb"<(?:[\w.-]{1,60}:)?Structure[\s>]")
_NAMESPACE = b"http://www.sdmx.org/resources/sdmxml/schemas/"


class SDMXDetector(Detector):
    """Asks for the dataflows of an address that looks like a service's, or that the user says is one."""

    kind = "sdmx"

    def recognise(self, response: Response) -> str | None:
        return "a list of SDMX" if _is_list(response) else None

    def find(self, probe: Probe) -> Asking[list[Finding]]:
        root, is_named = service(probe.url), probe.is_named(self.kind)
        if not isinstance(probe.first, AnswerError) and _is_list(probe.first):
            return [self._finding(root)]
        parts = urlsplit(probe.url)
        is_hinted = bool(_HINT.search(f"{parts.hostname}{parts.path}"))
        if probe.is_unreachable or (probe.is_settled and not is_named) or not (is_named or is_hinted):
            return []
        answer = yield from probe.ask(list_address(root))
        probe.say(root, _described(answer))
        return [] if isinstance(answer, AnswerError) or not _is_list(answer) else [self._finding(root)]

    def _finding(self, root: str) -> Finding:
        return Finding(self.kind, root, "it is an SDMX service", is_led=True)


def _is_list(response: Response) -> bool:
    """Return whether an answer begins as a list of structures does; it may be cut, for it is large."""
    head = response.body[:_HEAD]
    return bool(_ROOT.search(head)) and _NAMESPACE in head


def _described(answer: Answer) -> str:
    if isinstance(answer, AnswerError):
        return str(answer)
    return "SDMX" if _is_list(answer) else "not a list of SDMX"
