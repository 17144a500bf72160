"""What a search filters by, and counts: fields of the items that say so, the source, its kind, and the year.

Each value has a number in the table `facets`; a dataset's numbers are in its column ``facets``, and in the full text as
words that nobody can type, so that words and filters are one query.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from functools import cache, lru_cache
from itertools import chain, islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from crawlers import kind as kinds
from crawlers.fields import specs
from crawlers.items import Dataset, Resource
from crawlers.store.index.columns import line, name

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from crawlers.store.index.known import Known

Value = tuple[str, str]
"""The name of a facet, and a value of it."""

MARK = "\ue000"
"""The words of ``kept`` begin with this character, for which nobody can search: what people type never matches."""

_MOST = 50  # values of a field that are counted
_LONGEST = 200  # characters of one


class Facet(NamedTuple):
    """What a search filters by, and counts.

    Args:
        label: what pages call it.
        says: what its values are, as a sentence.
    """

    label: str
    says: str


_DECLARED = {
    spec.facet: Facet(spec.label if field == spec.facet and spec.label else spec.facet.capitalize(), spec.says)
    for item in (Dataset, Resource)
    for field, spec in specs(item).items()
    if spec.facet
}
_ORDER = ("source", "kind", "publisher", "format", "license", "theme", "keyword", "language", "country", "year")
_ALL = {
    "source": Facet("Source", "The source."),
    "kind": Facet("Kind", "The kind of its catalogue: ckan, dcat, html ..."),
    **_DECLARED,
    "year": Facet("Year", "When its data, else it, was last modified, or else issued."),
}
FACETS = {name: _ALL[name] for name in dict.fromkeys((*_ORDER, *_ALL))}
"""By the name of the filter, in the order of pages."""

_OF_KIND: dict[str, Callable[[Any], Iterable[str | None]]] = {
    "text": lambda text: (text,),
    "agent": lambda agent: (name(agent),),
    "license": lambda found: (found.id or found.title or found.uri,),
    "places": lambda places: [place.code for place in places[:_MOST]],
    **dict.fromkeys(("labels", "languages"), lambda texts: texts[:_MOST]),
}
"""The values of a field of each kind."""
_FIELDS = {field: spec for field, spec in specs(Dataset).items() if spec.facet}
_VALUES = attrgetter(*_FIELDS)
_READ = tuple((spec.facet, _OF_KIND[spec.kind]) for spec in _FIELDS.values())


def values(item: Dataset, known: Known, formats: Sequence[str]) -> set[Value]:
    """Return the values of a dataset.

    Args:
        known: its document.
        formats: of its resources.
    """
    found = {("source", item.source), ("kind", kind_of(known.metadata_source))}
    for (facet, read), value in zip(_READ, _VALUES(item), strict=True):
        if value:
            found.update((facet, text) for each in read(value) if each and (text := _text(each)))
    found.update(("format", text) for each in formats[:_MOST] if (text := _text(each)))
    day = item.data_modified or item.modified or item.issued or ""
    if day[:4].isdecimal() and len(day) >= 4:
        found.add(("year", day[:4]))
    return found


@lru_cache(maxsize=8192)
def _text(text: str) -> str | None:
    return line(text[:_LONGEST])


@cache
def kind_of(metadata_source: str | None) -> str:
    """Return the kind of catalogue that gives such documents; the name itself if none says so.

    >>> kind_of("package_search"), kind_of("udata")
    ('ckan', 'udata')
    """
    found = (kind.name for kind in kinds.registered().values() if metadata_source in kind.readers)
    return next(found, metadata_source or "")


def folded(facet: str, text: str) -> str:
    """Return what alike values have in common; the names of sources are what they are.

    >>> folded("publisher", " Île-de-France  Mobilités"), folded("source", "Town")
    ('ile-de-france mobilites', 'Town')
    """
    if facet == "source":
        return text
    if not text.isascii():
        text = "".join(each for each in unicodedata.normalize("NFKD", text) if not unicodedata.combining(each))
    return " ".join(text.casefold().split())


_CODES = """
SELECT facet, folded, code FROM json_each(?) AS wanted
CROSS JOIN facets ON facet = wanted.value ->> 0 AND folded = wanted.value ->> 1
"""
_ADD = "INSERT OR IGNORE INTO facets (facet, folded, value) VALUES (?, ?, ?)"


def coded(db: sqlite3.Connection, datasets: Sequence[Iterable[Value]]) -> Iterator[str]:
    """Yield the numbers of each dataset's values, as JSON; new values get one.

    Args:
        db: the index, in a transaction.
        datasets: the values of each.
    """
    keys = {value: (value[0], folded(*value)) for value in set(chain.from_iterable(datasets))}
    wanted = set(keys.values())
    codes = _codes(db, wanted)
    if missing := wanted - codes.keys():
        db.executemany(_ADD, ((*key, text) for (_, text), key in sorted(keys.items()) if key in missing))
        codes |= _codes(db, missing)
    for found in datasets:
        yield orjson.dumps(sorted({codes[keys[value]] for value in found})).decode()


def _codes(db: sqlite3.Connection, keys: Iterable[Value]) -> dict[Value, int]:
    return {(facet, text): code for facet, text, code in db.execute(_CODES, (orjson.dumps(list(keys)).decode(),))}


_EXACTLY = "SELECT code FROM facets WHERE facet = ? AND folded = ?"
_BEGINNING = "SELECT code FROM facets WHERE facet = ? AND folded >= ? AND folded < ? LIMIT 200"
_LAST = "\U0010ffff"


def codes(db: sqlite3.Connection, facet: str, text: str) -> list[int]:
    """Return the numbers of a value, or else of the values that begin with it, as with ``cc-by*``."""
    wanted = folded(facet, text.rstrip("*"))
    found = [] if text.endswith("*") else [code for (code,) in db.execute(_EXACTLY, (facet, wanted))]
    if found or facet == "source" or not wanted:
        return found
    return [code for (code,) in db.execute(_BEGINNING, (facet, wanted, wanted + _LAST))]


class Count(NamedTuple):
    """How many of the datasets found have a value.

    Args:
        datasets: how many; `MORE` stands for as many or more.
    """

    value: str
    datasets: int


EXACT = 100_000
"""Datasets found of which every value is counted; of more, the most frequent values, each up to `MORE`."""
MORE = 10_000
_SAMPLES = 40
_SAMPLE = 50  # datasets at each of these places
_SHOWN = 10


def said(count: int) -> str:
    """Return a count as people read it.

    >>> said(1234), said(10_000), said(12_345)
    ('1,234', '10,000+', '12,345')
    """
    return f"{count:,}+" if count == MORE else f"{count:,}"


def written(facet: str, value: str) -> str:
    """Return the filter for a value, as a search takes it.

    >>> written("format", "CSV"), written("publisher", 'The "River" Office')
    ('format:CSV', 'publisher:"The "*')
    """
    if value and value.replace("-", "").replace(".", "").replace("_", "").isalnum():
        return f"{facet}:{value}"
    text, quote, _ = value.partition('"')
    return f'{facet}:"{text}"{"*" if quote else ""}'


_OF_IDS = "SELECT group_concat(facets, '') FROM datasets WHERE id IN (SELECT value FROM json_each(?))"
_OF_HITS = "SELECT group_concat(facets, '') FROM datasets WHERE id IN (SELECT rowid FROM search WHERE search MATCH ?)"
_NAMES = "SELECT facet, value, code FROM facets WHERE code IN (SELECT value FROM json_each(?))"
_HITS_FROM = "SELECT rowid FROM search WHERE search MATCH ? AND rowid >= ? LIMIT ?"
_UP_TO = "SELECT count(*) FROM (SELECT 1 FROM search WHERE search MATCH ? LIMIT ?)"


def counted(db: sqlite3.Connection, ids: Iterable[int], shown: int = _SHOWN) -> dict[str, list[Count]]:
    """Return the most frequent values of some datasets, by the name of the facet, the most frequent first."""
    return _named(db, _counter(db, _OF_IDS, orjson.dumps(list(ids)).decode()), shown)


def counted_hits(db: sqlite3.Connection, query: str, total: int, shown: int = _SHOWN) -> dict[str, list[Count]]:
    """Return the same of all hits of a query.

    Of many hits, the values that are frequent among two thousand of them, from everywhere, are counted: the full text
    counts them without reading a dataset.

    Args:
        query: of FTS5.
        total: how many hits it has.
    """
    if total <= EXACT:
        return _named(db, _counter(db, _OF_HITS, query), shown)
    frequent = _named(db, _counter(db, _OF_IDS, orjson.dumps(_some(db, query)).decode()), shown, coded=True)
    found = {}
    for facet, several in frequent.items():
        queries = (f'({query}) AND kept : "{MARK}{code}"' for *_, code in several)
        counts = [(one[1], Count(one[0], up_to(db, each, MORE))) for one, each in zip(several, queries, strict=True)]
        counts.sort(key=lambda one: (-one[1].datasets, -one[0], one[1].value))
        found[facet] = [count for _, count in counts if count.datasets]
    return found


def up_to(db: sqlite3.Connection, query: str, most: int) -> int:
    """Return how many hits a query of FTS5 has; of more than `most`, that."""
    return int(db.execute(_UP_TO, (query, most)).fetchone()[0])


def _some(db: sqlite3.Connection, query: str) -> list[int]:
    (last,) = db.execute("SELECT max(id) FROM datasets").fetchone()
    places = range(0, last + 1, max(1, last // _SAMPLES))
    return [row[0] for place in places for row in db.execute(_HITS_FROM, (query, place, _SAMPLE))]


def _counter(db: sqlite3.Connection, query: str, words: str) -> Counter[str]:
    text = db.execute(query, (words,)).fetchone()[0] or "[]"
    return Counter(text[1:-1].replace("][", ",").split(","))


def _named(db: sqlite3.Connection, counter: Counter[str], shown: int, *, coded: bool = False) -> dict[str, list[Any]]:
    found: dict[str, list[tuple[int, str, int]]] = defaultdict(list)
    wanted = f"[{','.join(filter(None, counter))}]"
    for facet, value, code in db.execute(_NAMES, (wanted,)):
        found[facet].append((-counter[str(code)], value, code))
    return {
        facet: [
            (value, -count, code) if coded else Count(value, -count)
            for count, value, code in islice(sorted(found[facet]), shown)
        ]
        for facet in FACETS
        if facet in found
    }
