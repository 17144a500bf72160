"""A search: the datasets that have all words of a text and pass its filters, and how many have each value."""

from __future__ import annotations

import json
import re
import unicodedata
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, get_args

import orjson

from crawlers.exceptions import SearchError, hint
from crawlers.records.markup import as_text
from crawlers.store.index import facets
from crawlers.store.index.facets import FACETS, MARK, Count
from crawlers.store.index.schema import DAY, INDEXED, LEAST, NAMED, SEARCHED

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Container, Iterable, Iterator, Sequence

Sort = Literal["relevance", "modified", "issued", "title"]
SORTS: tuple[Sort, ...] = get_args(Sort)

RANKED = 10_000
"""Hits that are sorted by relevance; more are sorted by date, the newest first: ranking them takes too long."""

DATES = {"modified": DAY, "issued": "issued"}
"""The filters that compare a day, and what of a dataset they compare."""
FILTERS = (*FACETS, *DATES)
_ALIASES = {facet.label.casefold(): name for name, facet in FACETS.items()}

_LOOKS = 200  # datasets that are tried one by one, in their order, before all hits are queried
_LONGEST = 500  # characters of a search that are read
_TERMS = 16
_PREFIX = 3  # letters at least: most words begin with one of a few pairs
_TERM = re.compile(r'(-?)(?:([A-Za-z_]+):(?=[^\s:/]))?(?:"([^"]*)"?(\*?)|([^\s"]+))')
_PERIOD = re.compile(r"(>=|<=|>|<)?\s*(\d{4}(?:-\d\d(?:-\d\d)?)?)(?:\.\.(\d{4}(?:-\d\d(?:-\d\d)?)?))?")
_AFTER = "~"  # of all that begins with a day, a month or a year
_TITLE = f"{{{SEARCHED[0]}}}"
_SNIPPET = 240  # characters
_BEFORE = 60
_LINES = 1200  # characters, before and after a word, whose markup is read
_MORE = "…"
_WEIGHTS = "10, 5, 1, 3, 5, 5, 2, 2, 2, 3, 0"  # of the columns of `search`, in their order

_COUNT = "SELECT count(*) FROM search WHERE search MATCH ?"
_HITS = "SELECT rowid AS id FROM search WHERE search MATCH ?"
_HAS = f"{_HITS} AND rowid = ?"
_RELEVANT = f"{_HITS} ORDER BY bm25(search, {_WEIGHTS}), rowid DESC"
_DATED = "SELECT id FROM datasets WHERE {}"  # an index has the days
_ORDERS = {
    "modified": ("datasets_newest", f"{DAY} DESC, id DESC"),
    "issued": ("datasets_issued", "issued DESC, id DESC"),
    "title": ("datasets_named", f"{NAMED}, id"),
}
"""Of each order but relevance: the index that has it, and what SQL calls it."""
_ALL = "SELECT id FROM datasets INDEXED BY {} ORDER BY {}"
_SOME_IN_ORDER = "SELECT id FROM datasets WHERE id IN ({}) ORDER BY {}"
_FOUND = """
SELECT d.id, d.source, d.dataset_id, d.title, d.name, d.publisher, coalesce(d.data_modified, d.modified, d.issued),
    d.license, d.formats, d.file, d.withdrawn, d.description
FROM datasets d WHERE d.id = ?
"""
_PLACES = 20
_MIRRORS = f"""
SELECT o.id, o.source, o.dataset_id, coalesce(o.title, o.name) AS title
FROM datasets d CROSS JOIN datasets o ON NOT o.withdrawn AND o.source <> d.source AND (
    o.uri = d.uri
    OR (o.identifier = d.identifier AND length(o.identifier) >= {LEAST})
    OR (d.publisher IS NOT NULL AND {NAMED.replace("title", "o.title").replace("publisher", "o.publisher")}
        = {NAMED.replace("title", "d.title").replace("publisher", "d.publisher")})
)
WHERE d.id = ? LIMIT {_PLACES}
"""  # noqa: S608  # the expressions of the schema


class Place(NamedTuple):
    """A catalogue that has a dataset.

    Args:
        dataset_id: the dataset's id there.
    """

    source: str
    dataset_id: str


@dataclass(frozen=True, slots=True)
class Found:
    """A dataset that was found."""

    id: int
    """In the table datasets."""
    source: str
    dataset_id: str
    title: str | None
    name: str | None
    publisher: str | None
    modified: str | None
    """When its data, else the dataset, was last modified, or else issued."""
    license: str | None
    formats: list[str]
    file: str
    """Its document, relative to the source's folder."""
    withdrawn: bool
    snippet: str
    """The part of its description that has the first of the words."""
    places: list[Place] = field(default_factory=list)
    """The other catalogues that have it, too: they are no hits of their own."""


@dataclass(frozen=True, slots=True)
class Results:
    """A page of the datasets found.

    Args:
        total: how many datasets have the words and pass the filters; each place of a dataset counts.
        rows: the datasets of the page.
        facets: the most frequent values of all datasets found, by the name of the filter.
        counted: of how many datasets that is: of all, but of a share of many that a day or a prefix has chosen.
        is_some: whether no dataset has all words, and these have some of them: the rarer, the sooner.
        meant: the text with words that the index has, if no dataset has all; else "".
    """

    total: int = 0
    rows: list[Found] = field(default_factory=list)
    facets: dict[str, list[Count]] = field(default_factory=dict)
    counted: int = 0
    is_some: bool = False
    meant: str = ""


class Filter(NamedTuple):
    """A filter of a search.

    Args:
        name: one of `FILTERS`.
        is_not: whether it takes datasets out.
    """

    name: str
    value: str
    is_not: bool = False


@dataclass(frozen=True, slots=True)
class Search:
    """What somebody asks for.

    Args:
        text: as it was typed.
        words: a query of FTS5 for what datasets must have.
        plain: the words of it.
        without: queries for what they must not have.
        filters: which of them pass.
        sort: the order; words are needed for relevance, without which the newest come first.
        withdrawn: whether datasets that their portals no longer have are found, too.
    """

    text: str = ""
    words: str = ""
    plain: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    filters: tuple[Filter, ...] = ()
    sort: Sort = "relevance"
    withdrawn: bool = False

    @classmethod
    def read(cls, text: str, *, sort: Sort = "relevance", withdrawn: bool = False, **given: str | None) -> Self:
        """Return what a text asks for.

        Args:
            text: words; ``"a phrase"``; ``rain*`` for words that begin with three letters or more; ``format:CSV``,
                ``publisher:"Statistics Office"``, ``modified:>2025-01-01``; and each of them behind a minus for what
                must not be there. In scripts without spaces between words, any part of a sentence is a word.
            given: values of further filters, by name; ``None`` is none.

        Raises:
            SearchError: there is no such filter, or its value is no date.
        """
        words: list[str] = []
        without: list[str] = []
        plain: list[str] = []
        filters = [Filter(name, value) for name, value in given.items() if value is not None]
        for found in list(_TERM.finditer(text[:_LONGEST]))[: 2 * _TERMS]:
            minus, name, quoted, star, word = found.groups()
            if name:
                filters.append(Filter(_filter(name), word if quoted is None else quoted + star, bool(minus)))
            elif term := _term(quoted, star, word):
                (without if minus else words).append(term)
                plain += [] if minus else re.findall(r"\w+", quoted or word or "")
        for each in filters:
            if each.name in DATES:
                _period(each)
        return cls(
            text=text,
            words=" ".join(words[:_TERMS]),
            plain=tuple(plain),
            without=tuple(without[:_TERMS]),
            filters=tuple(filters),
            sort=sort,
            withdrawn=withdrawn,
        )

    @property
    def is_nothing(self) -> bool:
        """Whether a text has no letter, no digit and no filter: nothing is found, but everything for an empty text."""
        return bool(self.text.strip()) and not (self.words or self.without or self.filters)

    def answer(self, db: sqlite3.Connection, *, limit: int = 20, offset: int = 0, with_facets: bool = False) -> Results:
        """Return the datasets that are found; if none has all words, those that have some of them.

        Args:
            db: the index.
            limit: the number of datasets to return.
            offset: the number of datasets to skip.
            with_facets: whether the values of all that are found are counted, too.
        """
        found = self.exactly(db, limit, offset, with_facets=with_facets)
        if found.total:
            return found
        some = replace(self, words=self._some(db))
        found = some.exactly(db, limit, offset, with_facets=with_facets) if some.words else found
        return replace(found, is_some=found.total > 0, meant=self._meant(db))

    def exactly(self, db: sqlite3.Connection, limit: int, offset: int, *, with_facets: bool) -> Results:
        """Return the datasets that match the query, as `answer`, but no other ones if there are none."""
        query = None if self.is_nothing else self._query(db)
        hits = _Hits(db, query, self._on_days(db)) if query else None
        if not (hits and hits.total):
            return Results()
        ids = islice(_merged(db, self._ordered(db, hits)), offset, offset + limit)
        rows = [_found(row, list(self.plain), places) for id_, places in ids for row in db.execute(_FOUND, (id_,))]
        found = Results(hits.total, rows)
        return replace(found, **hits.counted()) if with_facets else found

    def _on_days(self, db: sqlite3.Connection) -> set[int] | None:
        """Return the datasets that pass the filters by date; ``None`` if there are none."""
        found = None
        for name in DATES:  # an index has each of them
            clauses = [_dated(each) for each in self.filters if each.name == name]
            if clauses:
                values = [value for _, some in clauses for value in some]
                passed = _selected(db, _DATED.format(" AND ".join(clause for clause, _ in clauses)), values)
                found = passed if found is None else found & passed
        return found

    def _some(self, db: sqlite3.Connection) -> str:
        """Return a query for one of the words, without those that most datasets have; "" if there is but one word."""
        words = _WORDS.findall(self.words)
        counts = {word: facets.up_to(db, word, RANKED + 1) for word in words} if len(words) > 1 else {}
        rare = sorted(filter(counts.get, counts), key=counts.__getitem__)
        totals = accumulate(map(counts.__getitem__, rare))
        return " OR ".join(word for word, total in zip(rare, totals, strict=True) if total <= RANKED)

    def _query(self, db: sqlite3.Connection) -> str | None:
        """Return a query of FTS5 for words and values; ``None`` if no dataset can have all of them."""
        wanted, unwanted = [f"({self.words})"] if self.words else [], [f"({each})" for each in self.without]
        for name, value, is_not in self.filters:
            if name not in FACETS:
                continue
            codes = facets.codes(db, name, value)
            if codes:
                (unwanted if is_not else wanted).append(_kept(*codes))
            elif not is_not:
                return None
        if not self.withdrawn and wanted:
            unwanted.append(_kept("gone"))
        wanted = wanted or [_kept("here", *(["gone"] if self.withdrawn else []))]
        return " AND ".join(wanted) + "".join(f" NOT {each}" for each in unwanted)

    def _ordered(self, db: sqlite3.Connection, hits: _Hits) -> Iterator[int]:
        """Yield the hits in their order.

        If there are too many to rank, those that have the words in their titles come first.
        """
        if self.sort != "relevance" or not self.words:
            yield from hits.sorted("modified" if self.sort == "relevance" else self.sort)
        elif hits.total <= RANKED:
            yield from hits.ranked()
        else:
            titled = _Hits(db, f"({hits.query}) AND {_TITLE} : ({self.words})", hits.dated)
            if titled.total:
                yield from titled.ranked() if titled.total <= RANKED else titled.sorted("modified")
            others = f"({hits.query}) NOT {_TITLE} : ({self.words})" if titled.total else hits.query
            yield from _Hits(db, others, hits.dated).sorted("modified")

    def _meant(self, db: sqlite3.Connection) -> str:
        """Return the text with the nearest word of the index for each that the index has not; "" if there is none."""
        unknown = [word for word in re.findall(r'"(\w+)"(?! \*)', self.words) if not _UNSPACED.search(word)]
        nearest = {word: near for word in unknown if (near := _nearest(db, word))}
        return re.sub(r"\w+", lambda found: nearest.get(found[0], found[0]), self.text) if nearest else ""


def search(db: sqlite3.Connection, text: str, *, limit: int = 20, offset: int = 0, **given: Any) -> Results:
    """Return the datasets that a text asks for: `Search.read`, which has the other arguments, then `Search.answer`."""
    return Search.read(text, **given).answer(db, limit=limit, offset=offset)


def match(text: str) -> str:
    """Return the words as a query of FTS5, each quoted; an empty text if there is no letter and no digit.

    >>> match('flood "river basin" rain* NEAR(a')
    '"flood" "river basin" "rain" * "NEAR(a"'
    >>> match('"*" 🌊 "')
    ''
    >>> match("洪水* flood -drought format:CSV")
    '"洪 水" "flood"'
    """
    return Search.read(text).words


def _filter(name: str) -> str:
    """Return the name of a filter.

    Raises:
        SearchError: there is none of that name.
    """
    found = _ALIASES.get(name.casefold(), name.casefold())
    if found not in FILTERS:
        meant = hint(name, FILTERS)
        known = ", ".join(FILTERS)
        raise SearchError(f"There is no filter {name}:{meant} Known are {known}; quotation marks make it a phrase.")
    return found


def _period(given: Filter) -> tuple[str, str, str]:
    """Return the operator, the first and the last day of a filter by date.

    Raises:
        SearchError: it is no date.
    """
    found = _PERIOD.fullmatch(given.value.strip())
    if not found or (found[1] and found[3]):
        raise SearchError(
            f"{given.name}: takes a year, month or day, as in {given.name}:>2025-01-31, 2025-01 or 2024..2025;"
            f" {given.value[:40]!r} is none."
        )
    return found[1] or "", found[2], found[3] or found[2]


def _dated(given: Filter) -> tuple[str, list[str]]:
    """Return what a filter by date is in SQL, and the values of its parameters."""
    column, (sign, first, last) = DATES[given.name], _period(given)
    bounds = {
        ">": (f"{column} > ?", [first + _AFTER]),
        ">=": (f"{column} >= ?", [first]),
        "<": (f"{column} < ?", [first]),
        "<=": (f"{column} < ?", [first + _AFTER]),
        "": (f"({column} >= ? AND {column} < ?)", [first, last + _AFTER]),
    }
    clause, values = bounds[sign]
    return (f"{column} IS NOT NULL AND NOT {clause}" if given.is_not else clause), values


def _term(quoted: str | None, star: str | None, word: str | None) -> str:
    if quoted is None:
        quoted, star = str(word).rstrip("*"), "*" if str(word).endswith("*") else ""
    quoted = "".join(character for character in quoted if not unicodedata.category(character).startswith("C"))
    apart = " ".join(spaced(quoted).split())
    star = star if len(quoted) >= _PREFIX and apart == " ".join(quoted.split()) else ""
    return f'"{apart}"{" *" if star else ""}' if any(map(str.isalnum, quoted)) else ""


def _kept(*words: str | int) -> str:
    """Return a query for datasets that have one of some words among those for filters."""
    return "kept : (" + " OR ".join(f'"{MARK}{word}"' for word in words) + ")"


class _Hits:
    """The datasets that a query of the full text and filters by date find.

    Args:
        dated: the datasets that pass the filters by date; ``None`` if there are none.
    """

    def __init__(self, db: sqlite3.Connection, query: str, dated: set[int] | None = None) -> None:
        self.db = db
        self.query = query
        self.dated = dated
        self.ids = self._all() if dated is not None else None
        self.total = len(self.ids) if self.ids is not None else int(db.execute(_COUNT, (query,)).fetchone()[0])

    def _all(self) -> set[int]:
        found = _selected(self.db, _HITS, (self.query,))
        return found if self.dated is None else found & self.dated

    def ranked(self) -> Iterator[int]:
        """Yield all, the most relevant first."""
        found = [id_ for (id_,) in self.db.execute(_RELEVANT, (self.query,))]
        return iter(found) if self.ids is None else (id_ for id_ in found if id_ in self.ids)

    def sorted(self, order: str) -> Iterator[int]:
        """Yield all in an order.

        Of many hits the first are soon found among all datasets in their order; people look at these most.
        """
        index, by = _ORDERS[order]
        if self.total <= RANKED:
            hits, words = (_HITS, self.query) if self.ids is None else (_VALUES, json.dumps(list(self.ids)))
            yield from (id_ for (id_,) in self.db.execute(_SOME_IN_ORDER.format(hits, by), (words,)).fetchall())
            return
        with closing(self.db.execute(_ALL.format(index, by))) as datasets:
            if self.ids is None and " *" not in self.query:  # a prefix stands for many words
                looks = islice(datasets, _LOOKS)
                yield from (id_ for (id_,) in looks if self.db.execute(_HAS, (self.query, id_)).fetchone())
            hits_: Container[int] = self._all() if self.ids is None else self.ids
            yield from (id_ for (id_,) in datasets if id_ in hits_)

    def counted(self) -> dict[str, Any]:
        """Return the values that the hits have, and of how many hits that is."""
        if self.ids is None and (" *" not in self.query or self.total <= facets.EXACT):
            return {"facets": facets.counted_hits(self.db, self.query, self.total), "counted": self.total}
        ids = sorted(self._all() if self.ids is None else self.ids)[:: -(-self.total // facets.EXACT)]
        return {"facets": facets.counted(self.db, ids), "counted": len(ids)}


_VALUES = "SELECT value FROM json_each(?)"


def _selected(db: sqlite3.Connection, query: str, values: Sequence[str]) -> set[int]:
    """Return the numbers that a query selects: in one text, which takes half as long as in rows."""
    (text,) = db.execute(f"SELECT json_group_array(id) FROM ({query})", values).fetchone()  # noqa: S608  # one of ours
    return set(orjson.loads(text))


def mirrors(db: sqlite3.Connection, id_: int) -> list[Any]:
    """Return the same dataset in other sources: ``id``, ``source``, ``dataset_id``, ``title``.

    It has the same URI, the same identifier, if that is not a short one, or the same title and publisher, as this one
    or as another of them; twenty at most.
    """
    found: dict[int, Any] = {}
    waiting = [id_]
    while waiting and len(found) < _PLACES:
        new = {row[0]: row for row in db.execute(_MIRRORS, (waiting.pop(),)) if row[0] not in found and row[0] != id_}
        found |= new
        waiting += new
    return list(found.values())[:_PLACES]


def _merged(db: sqlite3.Connection, ids: Iterable[int]) -> Iterator[tuple[int, list[Place]]]:
    """Yield each dataset once, by its first hit, with its other places."""
    seen: set[int] = set()
    for id_ in ids:
        if id_ not in seen:
            others = mirrors(db, id_)
            seen.update(other[0] for other in others)
            yield id_, [Place(other[1], other[2]) for other in others]


_VOCABULARY = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.words USING fts5vocab (main, search, row)"
_KNOWN = "SELECT 1 FROM words WHERE term = ?"
_ALIKE = "SELECT term FROM words WHERE term >= ? AND term < ? LIMIT 20000"
_CUTOFF = 0.7


def _nearest(db: sqlite3.Connection, word: str) -> str | None:
    """Return the word of the index that is most like one; ``None`` if the index has it, or none is like it."""
    from rapidfuzz.distance import OSA  # noqa: PLC0415 -- few searches find nothing
    from rapidfuzz.process import extractOne  # noqa: PLC0415

    bare = facets.folded("", word)
    db.execute(_VOCABULARY)
    if db.execute(_KNOWN, (bare,)).fetchone():
        return None
    for begin in (bare[:2], bare[:1]):
        words = [term for (term,) in db.execute(_ALIKE, (begin, begin + "\U0010ffff"))]
        if found := extractOne(bare, words, scorer=OSA.normalized_similarity, score_cutoff=_CUTOFF):
            return str(found[0])
    return None


def _found(row: Any, words: list[str], places: list[Place]) -> Found:
    *texts, formats, file, withdrawn, description = row
    listed: list[str] = json.loads(formats) if formats else []
    more = {"formats": listed, "file": file, "withdrawn": bool(withdrawn), "snippet": snippet(description or "", words)}
    return Found(*texts, **more, places=places)  # type: ignore[misc]  # the texts are the fields before


def snippet(text: str, words: list[str]) -> str:
    """Return the part of a text around the first of the words, on one line; its beginning if there is none of them.

    >>> snippet("Rain fell " * 20 + "and floods followed " + "in autumn " * 30, ["flood"])[:60]
    '… fell Rain fell Rain fell Rain fell Rain fell Rain fell and'
    >>> snippet("All of the **rivers** & [lakes](https://example.org)", ["flood"])
    'All of the rivers & lakes'
    """
    line = as_text(_around(text, words))
    found = re.search("|".join(map(re.escape, words)), line, re.IGNORECASE) if words else None
    start = line.find(" ", found.start() - _BEFORE) + 1 if found and found.start() > _BEFORE else 0
    part = line[start : start + _SNIPPET]
    before, after = (f"{_MORE} " if start else ""), (f" {_MORE}" if start + _SNIPPET < len(line) else "")
    return before + part.strip() + after


def _around(text: str, words: list[str]) -> str:
    """Return the lines around the first of the words: markup spans lines seldom, and all of a text takes long."""
    found = re.search("|".join(map(re.escape, words)), text, re.IGNORECASE) if words else None
    place = found.start() if found else 0
    start = max(text.rfind("\n", 0, max(place - _BEFORE, 0)), place - _LINES, 0)
    end = text.find("\n", place + _SNIPPET)
    return text[start : min(end if end >= 0 else len(text), place + _LINES)]


# The full text is kept in step with its rows here: a trigger could do that, but in a trigger FTS5 writes each row to
# disk by itself, which takes four times as long.

UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0edf\u1000-\u109f\u1780-\u17d3"  # Thai, Lao, Burmese, Khmer
    "\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"  # Japanese, Chinese
    "\uac00-\ud7a3"  # Korean, whose words have endings and are made of others
    "\U00020000-\U0003ffff"
)
"""The characters of scripts without spaces between words, as a range of a regular expression."""

_UNSPACED = re.compile(f"[{UNSPACED}]")
_WORDS = re.compile(r'"[^"]+"(?: \*)?')
_COLUMNS = ", ".join(INDEXED)
_IDS = "SELECT id FROM datasets WHERE source = ?1 AND dataset_id IN ({ids})"
_SOME = "FROM datasets WHERE id IN (SELECT value FROM json_each(?))"
_TAKE_OUT = f"INSERT INTO search (search, rowid, {_COLUMNS}) SELECT 'delete', id, {_COLUMNS}"
_PUT_IN = f"INSERT INTO search (rowid, {_COLUMNS}) SELECT id, {_COLUMNS}"


@contextmanager
def changing(db: sqlite3.Connection, source: str, dataset_ids: Collection[str]) -> Iterator[bool]:
    """Keep the full text in step while the rows of some datasets are written within; yield whether one has a row.

    Args:
        db: the index.
        source: of the datasets.
        dataset_ids: the datasets whose rows may change.
    """
    before = _ids(db, source, dataset_ids)
    db.execute(f"{_TAKE_OUT} {_SOME}", (before,))
    yield before != "[]"
    db.execute(f"{_PUT_IN} {_SOME}", (_ids(db, source, dataset_ids),))


def _ids(db: sqlite3.Connection, source: str, dataset_ids: Collection[str]) -> str:
    """Return the row ids of the datasets that exist as JSON, in which a query may have any number of them."""
    return json.dumps([row[0] for row in of_datasets(db, _IDS, source, dataset_ids)])


def of_datasets(db: sqlite3.Connection, query: str, source: str, dataset_ids: Collection[str]) -> list[Any]:
    """Return the rows of a query about some datasets of a source.

    Args:
        query: with the source as ``?1`` and ``{ids}`` for the ids.
    """
    odd = [name for name in dataset_ids if "\0" in name]  # which ends a text in SQLite's JSON
    plain = json.dumps([name for name in dataset_ids if "\0" not in name])
    rows = db.execute(query.format(ids="SELECT value FROM json_each(?2)"), (source, plain)).fetchall()
    for name in odd:
        rows += db.execute(query.format(ids="?2"), (source, name)).fetchall()
    return rows


def take_out(db: sqlite3.Connection, ids: Collection[int]) -> None:
    """Delete the full text of datasets, each named by its row; called before the rows are deleted."""
    db.execute(f"{_TAKE_OUT} {_SOME}", (json.dumps(list(ids)),))


def spaced(text: str) -> str:
    """Return a text with spaces around each character of scripts that have none between words.

    A search then finds a part of a sentence.

    >>> spaced("2024年 flood 洪水数据")
    '2024 年  flood  洪  水  数  据 '
    >>> spaced("flood")
    'flood'
    """
    try:
        text.encode("latin-1")
    except UnicodeEncodeError:
        return _UNSPACED.sub(lambda found: f" {found[0]} ", text)  # a template is looked up by a hash of the expression
    return text  # a regular expression takes ten times as long to find nothing
