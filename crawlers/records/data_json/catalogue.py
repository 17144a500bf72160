"""Which JSON is a data.json, where in it the datasets are, and what these are called."""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlers.records import values
from crawlers.records.linked import iri, label

if TYPE_CHECKING:
    from collections.abc import Iterator

DEEPEST = 50
"""Catalogues in catalogues and members in series; each level of series writes what is below it once more."""

_SCHEMA = re.compile(r"project-open-data|dcat[-_ ]us\b", re.IGNORECASE)
_SAMPLE = 50
# A dataset has one of these; what else has a title and an identifier (an article, a package) has none.
_SIGNS = ("accessLevel", "accessURL", "contactPoint", "distribution", "keyword", "landingPage", "publisher")

# The lists of a catalogue, and what their entries are unless their @type says it.
_ENTRIES = {
    "dataset": "Dataset",
    "datasetSeries": "DatasetSeries",
    "catalog": "Catalog",
    "record": "CatalogRecord",
    "service": "DataService",
}
# What other objects embed: a dataset that is listed as well, or only there, or no more than named.
_EMBEDDED = {
    "DatasetSeries": ("seriesMember", "first", "last"),
    "CatalogRecord": ("primaryTopic",),
    "DataService": ("servesDataset",),
}
_KEYS = ("notation", "skos:notation", "@value", "identifier")  # of an Identifier object
_DATASETS = re.compile(r'"dataset"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,]*")
_TYPES = ("DatasetSeries", "Dataset", "DataService", "CatalogRecord")


class Entry(NamedTuple):
    """A value in the place of a dataset."""

    place: str
    """Its path in the document: ``catalog[0].dataset[3]``."""
    value: Any


class _Found(NamedTuple):
    place: str
    value: Any
    kind: str
    embedded: bool


def recognised(document: Any) -> bool:
    """Return whether parsed JSON is a data.json: a catalogue, one record, or POD 1.0's list of records.

    JSON-LD of another kind is not: expanded, with a ``@graph``, or with a ``@context`` that is not this schema's.

    >>> recognised({"conformsTo": "https://project-open-data.cio.gov/v1.1/schema", "dataset": []})
    True
    >>> recognised([{"title": "Rivers", "identifier": "r", "accessURL": "https://example.org/r.csv"}])
    True
    >>> recognised([{"@id": "https://example.org/r", "http://purl.org/dc/terms/title": [{"@value": "Rivers"}]}])
    False
    >>> recognised({"@context": "https://schema.org/", "@type": "DataCatalog", "dataset": []})
    False
    """
    if isinstance(document, list):
        return any(_is_plain(each) and (_is_catalogue(each) or _is_named(each)) for each in islice(document, _SAMPLE))
    return _is_plain(document) and (_is_catalogue(document) or _is_record(document))


def is_record(document: Any) -> bool:
    """Return whether parsed JSON is one record, and no catalogue.

    >>> is_record({"title": "Rivers", "identifier": "r", "accessLevel": "public"}), is_record({"dataset": []})
    (True, False)
    """
    return isinstance(document, dict) and _is_plain(document) and not _is_top(document)


def records(document: Any) -> Iterator[Entry]:
    """Yield every dataset and series in document order, those of nested catalogues too, and non-objects in their place.

    Members of a series, topics of catalogue records and what data services serve count where they are described and not
    listed anywhere, once each. Data services, and datasets that are only named, do not count. What is nested deeper
    than ``DEEPEST`` is not read: a text stands for it.
    """
    seen: set[str] | None = None
    for found in _walk(document):
        if found.embedded:
            if seen is None:
                seen = {_key(each.value) for each in _walk(document) if not each.embedded}
            if _key(found.value) in seen:
                continue
            seen.add(_key(found.value))
        yield Entry(found.place, found.value)


def linked_catalogues(document: Any) -> Iterator[str]:
    """Yield the addresses that stand in the place of catalogues.

    >>> list(linked_catalogues({"catalog": ["https://example.org/b.json", {"catalog": "c.json"}], "dataset": ["d"]}))
    ['https://example.org/b.json', 'c.json']
    """
    found = (each for each in _everything(document) if each.kind == "Catalog")
    return (each.value for each in found if isinstance(each.value, str))


def _walk(document: Any) -> Iterator[_Found]:
    return filter(_is_dataset, _everything(document))


def _everything(document: Any) -> Iterator[_Found]:
    kind = "Catalog" if isinstance(document, dict) and _is_top(document) else "Dataset"
    levels = [_entries(document, "", kind, embedded=False)]
    while levels:
        found = next(levels[-1], None)
        if found is None:
            levels.pop()
            continue
        yield found
        if not isinstance(found.value, dict) or (found.kind != "Catalog" and found.kind not in _EMBEDDED):
            continue
        if len(levels) <= DEEPEST:
            levels.append(_parts(found))
        elif next(_parts(found), None):
            yield _Found(found.place, f"nested more than {DEEPEST} deep", "Dataset", embedded=False)


def _entries(value: Any, place: str, kind: str, *, embedded: bool) -> Iterator[_Found]:
    if not isinstance(value, list):
        yield _Found(place, value, _kind(value, kind), embedded)
        return
    for position, each in enumerate(value):
        yield _Found(f"{place}[{position}]", each, _kind(each, kind), embedded)


def _parts(found: _Found) -> Iterator[_Found]:
    dot = "." if found.place else ""
    if found.kind == "Catalog":
        for name, value in found.value.items():
            if name in _ENTRIES and value is not None:
                yield from _entries(value, f"{found.place}{dot}{name}", _ENTRIES[name], embedded=False)
        return
    for name in _EMBEDDED[found.kind]:
        if found.value.get(name):
            yield from _entries(found.value[name], f"{found.place}{dot}{name}", "Dataset", embedded=True)


def _is_top(document: dict[str, Any]) -> bool:
    return "Catalog" in _types(document) or _is_catalogue(document)


def _is_dataset(found: _Found) -> bool:
    """Return whether a dataset was found: text in place of a catalogue, a service or an embedded one is its address."""
    if not isinstance(found.value, dict):
        return not (isinstance(found.value, str) and (found.embedded or found.kind != "Dataset"))
    if found.embedded and not found.value.get("title"):
        return False
    return found.kind in {"Dataset", "DatasetSeries"}


def _kind(value: Any, kind: str) -> str:
    if not isinstance(value, dict):
        return kind
    types = _types(value)
    if "Catalog" in types:
        return "Catalog" if kind == "Catalog" or _has_entries(value) else kind
    if not types and (isinstance(value.get("dataset"), list | dict) or isinstance(value.get("catalog"), list)):
        return "Catalog"
    given = "DatasetSeries" if "seriesMember" in value else kind
    return next((each for each in _TYPES if each in types), given)


def _has_entries(value: dict[str, Any]) -> bool:
    return any(isinstance(value.get(name), list | dict) for name in _ENTRIES)


def _types(value: dict[str, Any]) -> list[str]:
    """Return the types; ``dcat:Catalog``, IRIs and plain words are alike.

    >>> _types({"@type": ["dcat:Dataset", "http://www.w3.org/ns/dcat#DatasetSeries"]})
    ['Dataset', 'DatasetSeries']
    """
    given = value.get("@type")
    names = given if isinstance(given, list) else [given]
    return [re.split(r"[:/#]", each)[-1] for each in names if isinstance(each, str)]


def _key(value: Any) -> str:
    """Return what two descriptions of one dataset share; of those without an identifier the title."""
    if not isinstance(value, dict):
        return ""
    return identity(value) or f"\n{label(value.get('title'))}"


def _is_plain(document: Any) -> bool:
    if not isinstance(document, dict) or "@graph" in document or any("://" in name for name in document):
        return False
    context = document.get("@context")
    return not context or _names_schema(context) or _names_schema(document.get("conformsTo"))


def _names_schema(value: Any) -> bool:
    if isinstance(value, list):
        return any(isinstance(each, str) and _SCHEMA.search(each) for each in value)
    if isinstance(value, dict):
        return any(isinstance(value.get(name), str) and _SCHEMA.search(value[name]) for name in ("@id", "title"))
    return isinstance(value, str) and bool(_SCHEMA.search(value))


def _is_catalogue(document: dict[str, Any]) -> bool:
    types = _types(document)
    if types and "Catalog" not in types:
        return False
    schema = _names_schema(document.get("conformsTo"))
    return isinstance(document.get("dataset"), list) or (bool(types or schema) and _has_entries(document))


def _is_record(document: dict[str, Any]) -> bool:
    return _is_named(document) and any(document.get(name) for name in _SIGNS)


def _is_named(document: dict[str, Any]) -> bool:
    types = _types(document)
    fits = not types or "Dataset" in types or "DatasetSeries" in types
    return fits and bool(document.get("title")) and identity(document) is not None


def identity(record: dict[str, Any]) -> str | None:
    """Return ``identifier``: a text, a number, in DCAT-US 3.0 an Identifier object or a list of these; else ``@id``.

    >>> identity({"identifier": " a-1 "}), identity({"identifier": 7}), identity({"identifier": "", "@id": "urn:a"})
    ('a-1', '7', 'urn:a')
    >>> identity({"identifier": {"@type": "Identifier", "notation": "A/1"}}), identity({"identifier": [None, "b"]})
    ('A/1', 'b')
    >>> identity({"title": "Rivers"}), identity({"@id": "_:b0"})
    (None, None)
    """
    return _identifier(record.get("identifier")) or iri(record)


def _identifier(value: Any) -> str | None:
    if isinstance(value, list):
        return next(filter(None, (_identifier(part) for part in value if not isinstance(part, list))), None)
    if isinstance(value, dict):
        return next(filter(None, (_plain(value.get(key)) for key in _KEYS)), None) or iri(value)
    return _plain(value)


def _plain(value: Any) -> str | None:
    if type(value) is int and abs(value) < 10**30:
        return str(value)
    return values.text(value) if isinstance(value, str) else None


def up_to_an_error(text: str) -> tuple[dict[str, Any] | None, bool]:
    """Return a catalogue of the records before the error, and whether it has none after all: ``NaN`` is none.

    Returns:
        ``None`` and False for a text of another kind.

    >>> up_to_an_error('{"conformsTo": "x", "dataset": [{"identifier": "a"}, {"identifier": "b"}, {"identi')
    ({'@type': 'dcat:Catalog', 'dataset': [{'identifier': 'a'}, {'identifier': 'b'}]}, False)
    >>> up_to_an_error('{"dataset": [{"identifier": NaN}], "conformsTo": "x"}')
    ({'dataset': [{'identifier': None}], 'conformsTo': 'x'}, True)
    >>> up_to_an_error('{"@graph": [{"@id": "a"}')
    (None, False)
    """
    begin = _DATASETS.search(text)
    if begin is None or '"@graph"' in text[: begin.start()]:
        return None, False
    records: list[Any] = []
    position, decoder = begin.end(), json.JSONDecoder(parse_constant=lambda _: None)
    while True:
        position = _BETWEEN.match(text, position).end()  # type: ignore[union-attr]  # it matches nothing, too
        try:
            record, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            break
        records.append(record)
    try:
        return decoder.decode(text[: begin.end()] + text[position:]) | {"dataset": records}, True
    except (ValueError, RecursionError, TypeError):
        return {"@type": "dcat:Catalog", "dataset": records}, False
