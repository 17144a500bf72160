"""Recognises SPARQL endpoints by the answer to a question: is there a dcat:Dataset?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

from crawlers.exceptions import AnswerError
from crawlers.kind import Detector, Finding
from crawlers.kinds.sparql.queries import ANY, ASK, ASK_GRAPHS
from crawlers.safety import strict_json

if TYPE_CHECKING:
    from scrapy.http import Response

    from crawlers.kind import Answer, Asking, Probe

_RESULTS = "application/sparql-results+json"
_HINT = re.compile(r"sparql", re.IGNORECASE)
_XML = re.compile(rb"<(?:\w+:)?boolean>\s*(true|false)\s*</(?:\w+:)?boolean>")


class SPARQLDetector(Detector):
    """Asks an address that looks like an endpoint's, or that the user says is one."""

    kind = "sparql"

    def recognise(self, response: Response) -> str | None:
        return "an answer of a SPARQL endpoint" if answered(response.body) is not None else None

    def find(self, probe: Probe) -> Asking[list[Finding]]:
        root = probe.url.partition("?")[0].partition("#")[0]
        is_hinted = _HINT.search(urlsplit(root).path) or _HINT.search(urlsplit(root).hostname or "")
        if probe.is_unreachable or not (is_hinted or probe.is_named(self.kind)):
            return []
        for graph, question in (("", ASK), (ANY, ASK_GRAPHS)):
            answer = yield from probe.ask(f"{root}?{urlencode({'query': question, 'format': _RESULTS})}")
            found = None if isinstance(answer, AnswerError) else answered(answer.body)
            where = "in a named graph" if graph else "in its default graph"
            probe.say(root, _described(answer, found, where))
            if found:
                reason = f"it is a SPARQL endpoint, with dcat:Dataset {where}"
                return [Finding(self.kind, root, reason, arguments={"graph": graph} if graph else {})]
            if found is None:
                break
        return []


def _described(answer: Answer, found: bool | None, where: str) -> str:
    if isinstance(answer, AnswerError):
        return str(answer)
    if found is None:
        return "not an answer of a SPARQL endpoint"
    return f"SPARQL, with{'' if found else 'out'} dcat:Dataset {where}"


def answered(body: bytes) -> bool | None:
    """Return the answer to an ASK; ``None`` if it is no such answer.

    >>> answered(b'{"head": {}, "boolean": true}'), answered(b"<html>")
    (True, None)
    """
    found = _XML.search(body[:10_000])
    if found and b"http://www.w3.org/2005/sparql-results#" in body[:10_000]:
        return found[1] == b"true"
    try:
        content = strict_json.loads(body)
    except (ValueError, AnswerError):
        return None
    value = content.get("boolean") if isinstance(content, dict) else None
    return value if isinstance(value, bool) else None
