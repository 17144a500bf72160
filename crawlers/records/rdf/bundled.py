"""The JSON-LD contexts that are bundled, by the addresses under which they are published.

Those of DCAT-AP, its annex for high-value datasets, and DCAT-US have every term of the release (see NOTICE). A release
gives most terms to the nodes of one class only. Here they count for a node without a type too, and so do DCAT's own.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib import resources
from typing import Any

import orjson

from crawlers.records.tables import csv_rows

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
