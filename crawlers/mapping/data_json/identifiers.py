"""What a data.json calls a record."""

from __future__ import annotations

from typing import Any

from crawlers.mapping import values

_KEYS = ("notation", "skos:notation", "@value", "identifier")


def identity(record: dict[str, Any]) -> str | None:
    """``identifier``, a text or a number, in DCAT-US 3.0 also an Identifier object or a list of these; else ``@id``.

    >>> identity({"identifier": " a-1 "}), identity({"identifier": 7}), identity({"identifier": "", "@id": "urn:a"})
    ('a-1', '7', 'urn:a')
    >>> identity({"identifier": {"@type": "Identifier", "notation": "A/1"}}), identity({"identifier": [None, "b"]})
    ('A/1', 'b')
    >>> identity({"title": "Rivers"}), identity({"@id": "_:b0"})
    (None, None)
    """
    return _written(record.get("identifier")) or iri(record)


def iri(value: Any) -> str | None:
    """The ``@id`` of an object, or a text that is an IRI; blank nodes have none.

    >>> iri({"@id": "https://example.org/a"}), iri("urn:a:1"), iri("a: b"), iri("_:b0")
    ('https://example.org/a', 'urn:a:1', None, None)
    """
    given = value.get("@id") if isinstance(value, dict) else value
    text = values.text(given) if isinstance(given, str) else None
    return text if text and ":" in text and not text.startswith("_:") and not any(map(str.isspace, text)) else None


def _written(value: Any) -> str | None:
    if isinstance(value, list):
        return next(filter(None, map(_scalar, value)), None)
    return _scalar(value)


def _scalar(value: Any) -> str | None:
    if isinstance(value, str):
        return values.text(value)
    if isinstance(value, dict):
        return next(filter(None, (_plain(value.get(key)) for key in _KEYS)), None) or iri(value)
    return _plain(value)


def _plain(value: Any) -> str | None:
    if type(value) is int and abs(value) < 10**30:
        return str(value)
    return values.text(value) if isinstance(value, str) else None
