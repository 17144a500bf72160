"""Recognises the software of JSON APIs, by what their declarations say of it in ``[recognise]``."""

from __future__ import annotations

import logging
import re
from contextlib import suppress
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from crawlers import arguments
from crawlers.exceptions import AnswerError, RulesError
from crawlers.kind import Detector, Finding
from crawlers.kinds.api.checks import CHECKS, UncheckedError
from crawlers.kinds.api.expressions import ExpressionError
from crawlers.kinds.api.file import FOLDER, load, shipped
from crawlers.kinds.api.mapping import portal_names
from crawlers.kinds.api.query import choice, collections
from crawlers.records.rdf import formats
from crawlers.records.toml import folders
from crawlers.safety import strict_json

if TYPE_CHECKING:
    from scrapy.http import Response

    from crawlers.kind import Answer, Asking, Probe
    from crawlers.kinds.api.declaration import Declaration


logger = logging.getLogger(__name__)
PROBES = 3
"""Requests for what the address, the page or the headers hint at."""
_LANDING = ("{portal}", "{portal}/", "{portal}?f=json")
"""Probes of what is at the address itself, so that the answer to the address may be the proof."""
_RDF = re.compile(rb"\b(rdf|dcat|turtle|json-?ld|n-?triples|sparql)\b|catalog\.(xml|ttl|rdf|jsonld)", re.IGNORECASE)
_HEAD = 512 * 1024  # bytes of a page in which its software is looked for


class APIDetector(Detector):
    """Asks what is hinted at, at most `PROBES` requests; at a bare host without hints, the common kinds of software."""

    kind = "api"

    def recognise(self, response: Response) -> str | None:
        found = _of_answer(response)
        return f"an answer of {found.title}" if found else None

    def find(self, probe: Probe) -> Asking[list[Finding]]:
        """Return what is there: at the address itself, at what is hinted at, or at a bare host."""
        first = probe.first
        if not isinstance(first, AnswerError) and (landing := _of_answer(first)):
            return [_finding(landing, _plain(first.url))]
        if name := probe.given.get("kind"):
            return (yield from self._named(probe, load(name)))
        if probe.is_settled:
            return []
        places = _hinted(probe)
        is_led = bool(places)
        if not places and (probe.is_named(self.kind) or _is_worth_a_guess(probe)):
            host = _host(_here(probe))
            places = [(declaration, host) for declaration in _declarations().values() if declaration.recognise.common]
        found = yield from _proven(probe, places, is_led=is_led)
        return found or (yield from _collections(probe))

    def _named(self, probe: Probe, declaration: Declaration) -> Asking[list[Finding]]:
        """Look for the software that the user names."""
        if declaration.recognise.proof is None or declaration.recognise.probe is None:
            return [] if isinstance(probe.first, AnswerError) else [_finding(declaration, probe.url)]
        here = _plain(probe.url)
        roots = dict.fromkeys((*_marked(declaration, here), here, *_roots(here)))
        found = yield from _proven(probe, [(declaration, root) for root in roots], is_led=False)
        return found or (yield from _collections(probe))


def _proven(probe: Probe, places: list[tuple[Declaration, str]], *, is_led: bool) -> Asking[list[Finding]]:
    """Return the catalogue at the first place that proves to have it.

    Args:
        is_led: whether the address, the page or the headers hint at these places.
    """
    for declaration, root in places:
        template = declaration.recognise.probe
        address = template.address(portal_names(root)) if template else None
        if address is None:
            continue
        answer = yield from probe.ask(address)
        is_found = is_proven(declaration, answer, root)
        refusal = _refusal(declaration, probe.first) if is_found else ""
        other = str(answer) if isinstance(answer, AnswerError) else f"not an answer of {declaration.title}"
        probe.say(address, (refusal or declaration.title) if is_found else other)
        if is_found and not refusal:
            return [replace(_finding(declaration, root), is_led=is_led)]
        if probe.is_inconclusive(address) or probe.is_unreachable:
            break
    return []


def _collections(probe: Probe) -> Asking[list[Finding]]:
    """Return the only collection that a landing page leads to, if a software lists those one by one."""
    first = probe.first
    landing = None if isinstance(first, AnswerError) else _content(first)
    if isinstance(first, AnswerError) or not isinstance(landing, dict) or not isinstance(landing.get("links"), list):
        return []
    root = _plain(first.url)
    for declaration in (one for one in _declarations().values() if one.recognise.collections):
        answer = yield from probe.ask(f"{root}/collections?f=json")
        addresses = [] if isinstance(answer, AnswerError) else collections(_content(answer), declaration, root)
        probe.say(f"{root}/collections", f"{len(addresses)} collections of {declaration.title}")
        if len(addresses) == 1:
            return [_finding(declaration, addresses[0])]
        if addresses:
            probe.leave_open(choice(addresses, declaration))
            break
    return []


def is_proven(declaration: Declaration, answer: Answer, root: str) -> bool:
    """Return whether an answer is of this software, and about this portal."""
    recognise = declaration.recognise
    if isinstance(answer, AnswerError) or recognise.proof is None:
        return False
    with suppress(ExpressionError):
        content = _content(answer)
        domain = recognise.domain(content) if recognise.domain else None
        return bool(recognise.proof(content)) and domain in (None, urlsplit(root).hostname, urlsplit(root).netloc)
    return False


def _finding(declaration: Declaration, root: str) -> Finding:
    doors = [door.address(portal_names(root)) for door in declaration.recognise.doors]
    others = f"It has other doors, whose records have other ids, so choose one: {', '.join(filter(None, doors))}"
    note = others if doors else ""
    reason = f"it is {declaration.title}"
    return Finding(APIDetector.kind, root, reason, arguments={"kind": declaration.name}, note=note)


def _refusal(declaration: Declaration, first: Answer) -> str:
    """Return why the API is not the portal's own, although it is there; empty if nothing shows that."""
    if declaration.check and not isinstance(first, AnswerError):
        try:
            CHECKS[declaration.check](first)
        except UncheckedError:  # the crawl asks the portal's own page
            return ""
        except AnswerError as error:
            return str(error)
    return ""


# What hints at a software


@cache
def _declarations() -> dict[str, Declaration]:
    """Return the declarations that say how to recognise their software: the user's, and the project's.

    What is wrong with one is logged, and the others are taken.
    """
    own = (path.stem for folder in folders() for path in sorted((folder / FOLDER).glob("*.toml")))
    found: dict[str, Declaration] = {}
    for name in dict.fromkeys((*own, *shipped())):
        try:
            declaration = load(name)
        except RulesError as error:
            logger.warning("%s", error)
            continue
        found |= {name: declaration} if declaration.recognise.probe and declaration.recognise.proof else {}
    return found


def _hinted(probe: Probe) -> list[tuple[Declaration, str]]:
    """Return the places that are hinted at, the strongest hint first."""
    here, first = _here(probe), probe.first  # the answer of an HTTP error has headers, too
    answer = getattr(first, "response", None) if isinstance(first, AnswerError) else first
    host, page, headers = (urlsplit(here).hostname or "").lower(), b"", set()
    if answer is not None:
        page = answer.body[:_HEAD].lower() if formats.of_answer(answer) == "html" else b""
        headers = {name.decode("latin-1").lower() for name in answer.headers}
    found: list[tuple[int, Declaration, list[str]]] = []
    for declaration in _declarations().values():
        recognise, marked = declaration.recognise, _marked(declaration, here)
        signs = (
            any(fnmatchcase(host, pattern) for pattern in recognise.hosts),
            any(header.lower() in headers for header in recognise.headers),
            any(text.lower().encode() in page for text in recognise.page),
            bool(marked),
        )
        if any(signs):
            own = [_plain(here)] if _is_at_the_address(declaration) else []
            found.append((signs.index(True), declaration, [*marked, *own, *_roots(here)]))
    ranked = sorted(found, key=lambda place: place[0])
    return [(declaration, root) for _, declaration, roots in ranked for root in dict.fromkeys(roots)][:PROBES]


def _marked(declaration: Declaration, url: str) -> list[str]:
    """Return what precedes the parts of an address that only this software has, or the address that has them."""
    plain = _plain(url)
    start = len(plain) - len(urlsplit(plain).path)
    parts = [part for part in declaration.recognise.paths if part in f"{plain[start:]}/"]
    if _is_at_the_address(declaration):
        return [plain] if parts else []
    return [plain[: start + f"{plain[start:]}/".index(part)] for part in parts]


def _is_at_the_address(declaration: Declaration) -> bool:
    """Return whether the address itself is asked, not a place below the portal's root."""
    template = declaration.recognise.probe
    return template is not None and template.text in _LANDING


def _plain(url: str) -> str:
    """Return an address without query, fragment and trailing slash."""
    return url.partition("?")[0].partition("#")[0].rstrip("/")


def _host(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _roots(url: str) -> list[str]:
    """Return where the portal may be: below the path of the address, at the host.

    >>> _roots("https://example.org/a/b.html"), _roots("https://example.org/")
    (['https://example.org/a', 'https://example.org'], ['https://example.org'])
    """
    return list(dict.fromkeys((_host(url) + arguments.folder(url).rstrip("/"), _host(url))))


def _here(probe: Probe) -> str:
    return probe.url if isinstance(probe.first, AnswerError) else probe.first.url


def _is_worth_a_guess(probe: Probe) -> bool:
    """Return whether the common kinds of software are asked: at a bare host, whose page does not speak of RDF."""
    is_bare = urlsplit(_here(probe)).path in ("", "/") and not urlsplit(_here(probe)).query
    first = probe.first
    if isinstance(first, AnswerError):
        return is_bare and not probe.is_unreachable
    return is_bare and formats.of_answer(first) == "html" and not _RDF.search(first.body[:_HEAD])


# What the answer to the address itself is


def _of_answer(response: Response) -> Declaration | None:
    """Return the software whose landing page an answer is."""
    found = (one for one in _declarations().values() if _is_at_the_address(one))
    return next((one for one in found if is_proven(one, response, response.url)), None)


def _content(response: Response) -> Any:
    """Return the JSON of an answer; ``None`` if it is something else."""
    if response.body.lstrip()[:1] not in (b"{", b"["):
        return None
    with suppress(ValueError, AnswerError):
        return strict_json.loads(response.body)
    return None
