"""Makes JSON-LD independent of the network: the contexts that catalogues name are bundled, and no other is fetched.

pyoxigraph never fetches a context either, but it refuses a document that names one. So each name is replaced by its
context in the text of the document; everything else stays as it is, even its errors and what comes before them.
A key that a context of DCAT does not define is kept under an IRI that begins with the context's address; where the
document has a vocabulary of its own (``@vocab``) for such keys, that counts.

Of the contexts that the types of a node bring, pyoxigraph applies that of the last type only, and JSON-LD all of them,
one on the other. So the last type is replaced by one that is made here: it has the same IRI, and brings all of them.
"""

from __future__ import annotations

import io
import json
import re
from functools import cache, lru_cache
from importlib import resources
from typing import Any, NamedTuple

import orjson

from crawlers.exceptions import AnswerError
from crawlers.records.tables import csv_rows
from crawlers.safety.bounds import TERMS, outline
from crawlers.safety.text import is_utf8

UNDEFINED = ".jsonld#"
"""Between a context's address and a key that it does not define, in the IRI which the key gets."""

_SEMIC = (
    r"(?:semiceu\.github\.io|(?:raw\.githubusercontent|github)\.com/semiceu|cdn\.jsdelivr\.net/gh/semiceu)/"
    r"(?:uri\.semic\.eu-generated/)?(?:\S+/)?dcat-ap(?:@[^/\s]+)?/"
)
_MAX_URL = 1000
_SCHEME = re.compile(r"https?://", re.IGNORECASE)


@lru_cache(maxsize=16)  # a listing may name a context in each record
def bundled(url: str, *, with_vocabulary: bool) -> bytes | None:
    """Return the context that has an address, as JSON; ``None`` if it is not bundled.

    Args:
        url: the address.
        with_vocabulary: whether keys that a context of DCAT does not define get IRIs, instead of being dropped.

    >>> bundled("https://schema.org/", with_vocabulary=True)[:32]
    b'{"@vocab":"http://schema.org/","'
    """
    names = _names(url)
    if not names:
        return None
    vocabulary = {"@vocab": _undefined(url)} if with_vocabulary and names[0] == "dcat" else {}
    return orjson.dumps(vocabulary | context(*names))


def _undefined(url: str) -> str:
    """Return what the IRIs of undefined keys begin with.

    >>> _undefined("https://www.w3.org/ns/dcat#")
    'https://www.w3.org/ns/dcat.jsonld#'
    """
    return url.partition("#")[0].rstrip("/").removesuffix(".jsonld") + UNDEFINED


def _names(url: str) -> list[str]:
    scheme = _SCHEME.match(url)
    address = url[scheme.end() : _MAX_URL].partition("#")[0].rstrip("/") if scheme else ""
    return next((names for pattern, names in _addresses() if pattern.fullmatch(address)), [])


@cache
def _addresses() -> list[tuple[re.Pattern[str], list[str]]]:
    return [
        (re.compile(pattern.replace("SEMIC", _SEMIC), re.IGNORECASE), names.split())
        for pattern, names in csv_rows(__package__, "contexts.csv")
    ]


def context(*names: str) -> dict[str, Any]:
    """Return the terms of bundled contexts; later ones override earlier ones.

    >>> context("hydra")["next"]
    {'@id': 'hydra:next', '@type': '@id'}
    >>> context("dcat", "dcat-us-3")["restrictionNote"]
    'dcat-us:restrictionNote'
    """
    terms: dict[str, Any] = {}
    for name in names:
        terms = _of_classes(_file(name)) | terms | _file(name)
    return terms


def _of_classes(terms: dict[str, Any]) -> dict[str, Any]:
    """Return the terms that only the nodes of some class have; of several with one name the first counts."""
    found: dict[str, Any] = {}
    for term in terms.values():
        if isinstance(term, dict) and "@type" not in term:
            found = term.get("@context", {}) | found
    return found


@cache
def _file(name: str) -> dict[str, Any]:
    text = resources.files("crawlers.records.rdf").joinpath("contexts", f"{name}.jsonld").read_bytes()
    return dict(orjson.loads(text)["@context"])


_MAX_DEPTH = 64  # each level costs pyoxigraph time, and at some thousand its stack overflows
_STEP = 32
_FREE = 200_000  # values that any document may have
_SHORTEST = 20  # bytes of each further value: pyoxigraph takes up to 600 bytes of memory for one
_MAX_ADDED = 128 << 20  # bytes that contexts may add to a document which repeats them
_LENGTHS = (1 << 12, 1 << 18)  # bytes of a list of contexts: usual, and at most

_CONTEXT = re.compile(rb'"@context"\s*:\s*(?:("(?:[^"\\]|\\.)*+")|(?=\[))')
_NEAR = 500  # bytes between a term and the context that it scopes
_QUOTED = 3  # parts of what precedes a term's definition: the middle one is the term
_LIST = re.compile(rb'\[\s*"[^\[\]]*\]')
_LAST = "\U0010ffff"  # what the types that are made here begin with: no name comes behind them, none is a compact IRI
_IMPORT = re.compile(rb'"@import"\s*:\s*("(?:[^"\\]|\\.)*+")?')
_PROPAGATED = re.compile(rb'"@propagate"(?!\s*:\s*false\b)')
_NO_NUMBER = re.compile(rb'"(?:[^"\\]|\\.)*+"|NaN|-?Infinity', re.DOTALL)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)


def local(body: bytes, flaws: list[str] | None = None) -> bytes:
    """Return a JSON-LD document with the contexts that it names; the same bytes if it names none.

    What no parser reads is repaired: UTF-16, invalid UTF-8, lone surrogates, and NaN, which becomes null.

    Args:
        body: the document.
        flaws: gets a sentence if there are lone surrogates.

    Raises:
        AnswerError: ``remote_context`` if a context is not bundled, ``not_json`` if it does not begin like JSON,
            ``invalid_rdf`` if it is nested too deep, ``too_large`` if it has too many values for its size.

    >>> local(b'{"@id": "a:b"}')
    b'{"@id": "a:b"}'
    >>> local(b'{"@context": "http://www.w3.org/ns/hydra/context.jsonld"}')[:41]
    b'{"@context": {"hydra":"http://www.w3.org/'
    """
    body = _readable(body, [] if flaws is None else flaws)
    _check_start(body)
    marks = outline(body)
    _check_values(marks, len(body))
    _check_depth(marks.translate(None, b","))
    if b"N" in marks or b"I" in marks:
        body = _NO_NUMBER.sub(lambda found: found[0] if found[0].startswith(b'"') else b"null", body)
    if b'"@context"' in body:
        body = _with_contexts(body, with_vocabulary=b'"@vocab"' not in body)
        if _may_join(body):
            body = _joined(body)
    return body


def _readable(body: bytes, flaws: list[str]) -> bytes:
    encoding = json.detect_encoding(body[:4])
    if encoding not in ("utf-8", "utf-8-sig"):
        body = body.decode(encoding, "replace").encode()
    if not is_utf8(io.BytesIO(body)):
        body = body.decode("utf-8", "replace").encode()
    if _SURROGATE.search(body):
        body, before = _ESCAPE.sub(lambda escape: b"\\ufffd" if escape[1] else escape[0], body), body
        if body != before:
            flaws.append("Some escapes in the JSON are half characters: U+FFFD stands for them.")
    return body


def _check_start(body: bytes) -> None:
    start = body[:1000].removeprefix(b"\xef\xbb\xbf").lstrip()[:40]
    if not start.startswith((b"{", b"[")):
        came = repr(start.decode("utf-8", "replace")) if start else "nothing"
        raise AnswerError("not_json", f"{came} came instead of JSON-LD")


def _check_values(marks: bytes, size: int) -> None:
    """Refuse JSON whose values take few bytes in the file and much memory once they are read.

    Args:
        marks: the document's `outline`.
        size: its bytes.

    Raises:
        AnswerError: ``too_large``.
    """
    values = marks.count(b",") + marks.count(b"[") + marks.count(b"{")
    limit = _FREE + size // _SHORTEST
    if values > limit:
        message = f"the JSON-LD has {values:,} values in {size:,} bytes, more than {limit:,}: it is not read"
        raise AnswerError("too_large", message)


def _check_depth(outline: bytes) -> None:
    """Check the depth after every 32 brackets, between which no more than 32 levels can be added."""
    level = 0
    for at in range(0, len(outline), _STEP):
        step = outline[at : at + _STEP]
        level += step.count(b"{") + step.count(b"[") - step.count(b"}") - step.count(b"]")
        if level > _MAX_DEPTH:
            raise AnswerError("invalid_rdf", f"the JSON-LD is nested more than {_MAX_DEPTH} levels deep")


def _with_contexts(body: bytes, *, with_vocabulary: bool) -> bytes:
    if imported := _IMPORT.search(body):
        raise _refusal(_text(imported[1] or b'""'))
    parts, at, added = [], 0, 0
    while named := _CONTEXT.search(body, at):
        if named[1]:
            parts.append(body[at : named.start(1)])
            terms, at = _bundled(_text(named[1]), with_vocabulary), named.end()
        else:
            parts.append(body[at : named.end()])
            terms, at = _list(body, named.end(), with_vocabulary)
        parts.append(terms)
        added += len(terms)
        if added > _MAX_ADDED:
            raise AnswerError("remote_context", f"the catalogue's JSON-LD contexts make over {_MAX_ADDED >> 20} MiB")
    local = b"".join((*parts, body[at:])) if parts else body
    return body if local == body else local


def _list(body: bytes, at: int, with_vocabulary: bool) -> tuple[bytes, int]:
    """Return a list of contexts with the named ones replaced, and where it ends in the document."""
    for length in _LENGTHS:
        text = body[at : at + length].decode("utf-8", "replace")
        try:
            contexts, end = json.JSONDecoder().raw_decode(text)
            break
        except ValueError:
            continue
    else:
        raise AnswerError("invalid_rdf", "a list of JSON-LD contexts is broken or too long")
    end = at + len(text[:end].encode())
    if not any(isinstance(entry, str) for entry in contexts) and b'"@context"' not in body[at:end]:
        return body[at:end], end
    written = (_written(entry, with_vocabulary) for entry in contexts)
    return b"[" + b",".join(written) + b"]", end


def _written(context: Any, with_vocabulary: bool) -> bytes:
    """Return a named context, or an inline one, whose scoped contexts may name others."""
    if isinstance(context, str):
        return _bundled(context, with_vocabulary)
    text = json.dumps(context, ensure_ascii=False).encode("utf-8", "replace")
    return _with_contexts(text, with_vocabulary=with_vocabulary) if b'"@context"' in text else text


def _text(string: bytes) -> str:
    try:
        return str(json.loads(string))
    except ValueError:
        return string.decode("utf-8", "replace")


def _bundled(url: str, with_vocabulary: bool) -> bytes:
    found = bundled(url, with_vocabulary=with_vocabulary)
    if found is None:
        raise _refusal(url)
    return found


def _refusal(url: str) -> AnswerError:
    return AnswerError(
        "remote_context",
        f"the catalogue names the JSON-LD context {url[:300]!r}, which is not bundled; none is fetched",
    )


# Nodes of several types


def _may_join(body: bytes) -> bool:
    """Return whether some list names two terms that have a context, as far as the text shows: no document is built."""
    before = (part[-_NEAR:].rpartition(b"{")[0].rsplit(b'"', 2) for part in body.split(b'"@context"')[:-1])
    terms = {quoted[1] for quoted in before if len(quoted) == _QUOTED}
    if len(terms) <= 1 or _PROPAGATED.search(body):  # of one of several contexts that can't be said
        return False
    return any(len(terms.intersection(names.split(b'"'))) > 1 for names in set(_LIST.findall(body)))


def _joined(body: bytes) -> bytes:
    """Return a document whose nodes of several types have the terms of all of them.

    Raises:
        AnswerError: ``too_large`` if that takes too many terms.
    """
    try:
        document = json.loads(body, object_pairs_hook=_object, parse_int=orjson.Fragment, parse_float=orjson.Fragment)
    except ValueError:
        return body
    joiner = _Joiner(len(body))
    joiner.read(document, _Scope({}))
    return orjson.dumps(document) if joiner.made else body


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is repeated, and the parser reads each of its values")
    return found


class _Scope(NamedTuple):
    """The terms of a context, each with its definition and the context that has it; and the scope around it.

    Attributes:
        below: the scope of the nodes below, if this one counts for its own node alone.
    """

    terms: dict[str, tuple[dict[str, Any], dict[str, Any]]]
    outer: _Scope | None = None
    below: _Scope | None = None

    def find(self, term: str) -> tuple[dict[str, Any], dict[str, Any]]:
        scope: _Scope | None = self
        while scope is not None:
            if found := scope.terms.get(term):
                return found
            scope = scope.outer
        return {}, {}


class _Joiner:
    """Lets each node of a document have the terms of all its types (JSON-LD 1.1 API, 5.1.2, steps 8 to 11).

    Args:
        size: the bytes of the document.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.count = 0
        self.made: dict[tuple[int, ...], tuple[str, list[Any]]] = {}
        self.contexts: dict[int, tuple[dict[str, Any], bool]] = {}
        self.type_keys = {"@type"}

    def read(self, value: Any, scope: _Scope) -> None:
        """Read a node, or what holds some.

        Raises:
            AnswerError: ``too_large``.
        """
        if isinstance(value, list):
            for each in value:
                self.read(each, scope)
        elif isinstance(value, dict):
            self._node(value, scope)

    def _node(self, node: dict[str, Any], scope: _Scope) -> None:
        if "@context" in node:
            scope = self._within(scope, node["@context"])
        own, below = scope, scope.below or scope
        for key in self.type_keys & node.keys():
            if key == "@type" or scope.find(key)[0].get("@id") == "@type":
                own = self._of_types(node, key, scope)
        for key, value in node.items():
            if not isinstance(value, (dict, list)) or key in ("@context", "@value"):
                continue
            definition, _ = own.find(key)
            if "@context" in definition:
                self.read(value, self._within(scope, definition["@context"]))
            elif definition.get("@type") != "@json" and definition.get("@id") != "@value":
                self.read(value, below)

    def _of_types(self, node: dict[str, Any], key: str, scope: _Scope) -> _Scope:
        """Return the terms that a node has by its types; if several bring a context, the last one then brings all."""
        given = _listed(node[key])
        types = sorted({each for each in given if isinstance(each, str) and "@context" in scope.find(each)[0]})
        if not types:
            return scope
        if len(types) == 1:
            return self._within(scope, scope.find(types[0])[0]["@context"])
        made, contexts = self._joined(types, scope)
        node[key] = [made if each == types[-1] else each for each in given]
        return self._within(scope, contexts)

    def _joined(self, types: list[str], scope: _Scope) -> tuple[str, list[Any]]:
        """Return the name of the type that stands for the last one, and the contexts that it brings."""
        found = [scope.find(each) for each in types]
        key = tuple(id(definition) for definition, _ in found)
        if key not in self.made:
            contexts = [each for definition, _ in found for each in _listed(definition["@context"])]
            del contexts[: max((place for place, each in enumerate(contexts) if each is None), default=0)]  # are reset
            self.count += sum(1 + (len(each) if isinstance(each, dict) else 0) for each in contexts)
            TERMS.check(self.count, self.size)
            name, (last, context) = f"{_LAST}{len(self.made)}", found[-1]
            context[name] = {"@id": types[-1], **last, "@context": contexts}
            self.made[key] = name, contexts
        return self.made[key]

    def _within(self, scope: _Scope, context: Any) -> _Scope:
        if id(context) not in self.contexts:
            terms: dict[str, Any] = {}
            is_reset = False
            for each in _listed(context):
                if isinstance(each, dict):
                    for term, is_ in each.items():
                        terms[term] = is_ if isinstance(is_, dict) else {"@id": is_}, each
                elif each is None:
                    terms, is_reset = {}, True
            self.type_keys |= {term for term, (definition, _) in terms.items() if definition.get("@id") == "@type"}
            self.contexts[id(context)] = terms, is_reset
        terms, is_reset = self.contexts[id(context)]
        is_alone = isinstance(context, dict) and context.get("@propagate") is False
        return _Scope(terms, None if is_reset else scope, scope.below or scope if is_alone else None)


def _listed(contexts: Any) -> list[Any]:
    return contexts if isinstance(contexts, list) else [contexts]
