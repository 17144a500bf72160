"""Recognises CKAN portals by the answers of their API."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urljoin, urlsplit

from crawlers import arguments
from crawlers.exceptions import AnswerError
from crawlers.kind import Detector, Finding
from crawlers.records.rdf import formats
from crawlers.safety import strict_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

    from crawlers.kind import Asking, Probe

_SITE_ROOT = re.compile(rb"""data-site-root=["']([A-Za-z0-9:/._~%-]{1,500})["']""")
_OWN_PAGE = re.compile(rb"""data-site-root=|<meta[^>]{0,99}\bcontent=["']ckan [0-9]""", re.IGNORECASE)
_LOCALE = re.compile(r"/[a-z]{2}([_-][A-Za-z]{2,4})?$")
_NARROWER = re.compile(r"/(organization|group)/([A-Za-z0-9_-]{1,100})/?$")
_QUERY = {"q": "q", "organization": "organization", "groups": "group", "tags": "tag"}
_CUT_OFF = re.compile(rb'\s*\{\s*"help"\s*:\s*"[^"]{0,2000}"\s*,\s*"success"\s*:\s*true\b')


class CKANDetector(Detector):
    """Asks for the number of datasets at the places where a CKAN may be."""

    kind = "ckan"

    def recognise(self, response: Response) -> str | None:
        is_api = getattr(formats.of_answer(response), "family", None) == "json" and _is_api(response.body)
        return "an answer of CKAN's API" if is_api else None

    def find(self, probe: Probe) -> Asking[list[Finding]]:
        first = probe.first
        url, body = (probe.url, b"") if isinstance(first, AnswerError) else (first.url, first.body)
        for root in dict.fromkeys(roots(url, body)):
            if probe.is_unreachable:
                break
            address = f"{root}/api/3/action/package_search?rows=0"
            answer = yield from probe.ask(address)
            count = None if isinstance(answer, AnswerError) else _count(_content(answer.body))
            if count is not None:
                probe.say(address, f"CKAN, {count} dataset{'s' * (count != 1)}")
                reason = f"CKAN's API is there, and says that it has {count} datasets"
                is_led = bool(_OWN_PAGE.search(body)) or urlsplit(root).path == _without_locale(url)
                return [Finding(self.kind, root, reason, is_led=is_led)]
            probe.say(address, str(answer) if isinstance(answer, AnswerError) else "not an answer of CKAN's API")
            if probe.is_inconclusive(address):
                break
        return []

    def refusal(self, response: Response) -> str | None:
        refuses = self.recognise(response) is not None and _count(_content(response.body)) is None
        return "CKAN's API refuses" if refuses else None

    def narrowed(self, url: str) -> dict[str, str]:
        """
        >>> CKANDetector().narrowed("https://demo.ckan.org/organization/rivers")
        {'organization': 'rivers'}
        >>> CKANDetector().narrowed("https://demo.ckan.org/dataset?q=a+b&tags=x")
        {'q': 'a b', 'tag': 'x'}
        """
        parts = urlsplit(url)
        path = _NARROWER.search(parts.path)
        if path:
            return {path[1]: path[2]}
        if not parts.path.rstrip("/").endswith("/dataset"):
            return {}
        query = parse_qs(parts.query)
        return {ours: query[theirs][0] for theirs, ours in _QUERY.items() if len(query.get(theirs, [])) == 1}

    def is_same(self, address: str, other: str) -> bool:
        """Return whether both are of the same host: portals are known under several paths."""
        return urlsplit(address).netloc.lower() == urlsplit(other).netloc.lower()


def roots(url: str, body: bytes) -> Iterator[str]:
    """Yield where CKAN may be: what its pages say, what precedes its own paths, the host.

    Args:
        url: of a page, as it answered.
        body: the page.
    """
    named = _SITE_ROOT.search(body)
    parts = urlsplit(url)
    if named:
        with suppress(ValueError):
            root = arguments.portal(urljoin(url, named[1].decode("utf-8", "replace")))
            if parts.scheme == "https":  # behind a proxy that does TLS, CKAN may take its own address for an http one
                root = root.replace("http:", "https:", 1)
            yield from [root] if urlsplit(root).netloc == parts.netloc else []
    host = f"{parts.scheme}://{parts.netloc}"
    yield from (host + arguments.folder(url), host + _without_locale(url), host)


def _without_locale(url: str) -> str:
    """Return the path of a portal whose pages are below one more part for each language."""
    return _LOCALE.sub("", arguments.folder(url))


def _is_api(body: bytes) -> bool:
    content = _content(body)
    is_envelope = isinstance(content, dict) and {"help", "success"} <= content.keys()
    return is_envelope or _count(content) is not None


def _count(content: Any) -> int | None:
    """Return how many datasets an answer of package_search says there are; ``None`` if it is not such an answer.

    >>> _count({"success": True, "result": {"count": 7, "results": []}}), _count({"success": True})
    (7, None)
    """
    result = content.get("result") if isinstance(content, dict) and content.get("success") is True else None
    count = result.get("count") if isinstance(result, dict) and "results" in result else None
    return count if type(count) is int and count >= 0 else None


def _content(body: bytes) -> Any:
    """Return the JSON value; of an answer that was cut off, only what CKAN's envelope begins with."""
    try:
        return strict_json.loads(body)
    except (ValueError, AnswerError):
        return {"help": None, "success": True, "result": {"results": []}} if _CUT_OFF.match(body) else None
