"""Full-text search: find the datasets that have all words of a text."""

from __future__ import annotations

import json
import re
import unicodedata
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from crawlers.records.markup import as_text
from crawlers.store.index.schema import INDEXED, MARK, SEARCHED

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterator


RANKED = 10_000
"""Hits that are sorted by relevance; more are sorted by date, the newest first: ranking them takes too long."""

_LOOKS = 200  # datasets that are tried one by one, the newest first, before all hits are queried
_LONGEST = 500  # characters of a search that are read
_TERMS = 16
_PREFIX = 3  # letters at least: most words begin with one of a few pairs
_TERM = re.compile(r'"([^"]*)"?(\*?)|([^\s"]+)')
_TITLE = f"{{{SEARCHED[0]}}}"
_SNIPPET = 240  # characters
_BEFORE = 60
_LINES = 1200  # characters, before and after a word, whose markup is read
_MORE = "…"
_WEIGHTS = "10, 5, 1, 3, 5, 5, 2, 2, 2, 3, 0"  # of the columns of `search`, in their order

_COUNT = "SELECT count(*) FROM search WHERE search MATCH ?"
_RELEVANT = f"""
SELECT rowid FROM search WHERE search MATCH ? ORDER BY bm25(search, {_WEIGHTS}), rowid DESC LIMIT ? OFFSET ?
"""  # noqa: S608  # the weights are those above
_NEWEST = """
SELECT id FROM datasets INDEXED BY datasets_newest WHERE +id IN (SELECT rowid FROM search WHERE search MATCH ?)
ORDER BY coalesce(data_modified, modified, issued) DESC, id DESC LIMIT ? OFFSET ?
"""
_ALL = """
SELECT id FROM datasets INDEXED BY datasets_newest ORDER BY coalesce(data_modified, modified, issued) DESC, id DESC
"""
_COUNT_LISTED = "SELECT count(*) FROM datasets WHERE NOT withdrawn AND (:source IS NULL OR source = :source)"
_LISTED = """
SELECT id FROM datasets WHERE NOT withdrawn AND (:source IS NULL OR source = :source)
ORDER BY coalesce(data_modified, modified, issued) DESC, source, dataset_id LIMIT :limit OFFSET :offset
"""
_HAS = "SELECT 1 FROM search WHERE search MATCH ? AND rowid = ?"
_FOUND = """
SELECT d.id, d.source, d.dataset_id, d.title, d.name, d.publisher, coalesce(d.data_modified, d.modified, d.issued),
    d.formats, d.file, d.withdrawn, d.description
FROM datasets d WHERE d.id = ?
"""


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
    formats: list[str]
    file: str
    """Its document, relative to the source's folder."""
    withdrawn: bool
    snippet: str
    """The part of its description that has the first of the words."""


@dataclass(frozen=True, slots=True)
class Results:
    """A page of the datasets found.

    Args:
        total: how many datasets have the words.
        rows: the datasets of the page.
    """

    total: int = 0
    rows: list[Found] = field(default_factory=list)


def search(
    db: sqlite3.Connection,
    text: str,
    *,
    source: str | None = None,
    limit: int = 20,
    offset: int = 0,
    withdrawn: bool = False,
) -> Results:
    """Return the datasets that have every word of a text, the most relevant first.

    Args:
        db: the index.
        text: words; ``"a phrase"``; or ``rain*`` for words that begin with three letters or more. No other syntax
            exists. In scripts without spaces between words, any part of a sentence is a word.
        source: the only source to search.
        limit: the number of datasets to return.
        offset: the number of datasets to skip.
        withdrawn: also find datasets that their portals no longer have.
    """
    words = match(text)
    if not words:
        return Results()
    tiers, total = _tiers(db, words, _only(source, withdrawn=withdrawn))
    plain = re.findall(r"\w+", text[:_LONGEST])
    rows = [row for id_ in _page(db, tiers, limit, offset) for row in db.execute(_FOUND, (id_,))]
    return Results(total, [_found(row, plain) for row in rows])


def newest(db: sqlite3.Connection, *, source: str | None = None, limit: int = 20, offset: int = 0) -> Results:
    """Return the datasets that are not withdrawn, those that were modified last first; the arguments are `search`'s."""
    words = {"source": source, "limit": limit, "offset": offset}
    total = db.execute(_COUNT_LISTED, words).fetchone()[0]
    rows = [row for (id_,) in db.execute(_LISTED, words).fetchall() for row in db.execute(_FOUND, (id_,))]
    return Results(total, [_found(row, []) for row in rows])


def match(text: str) -> str:
    """Return the words as a query of FTS5, each quoted; an empty text if there is no letter and no digit.

    >>> match('flood "river basin" rain* -NEAR(a')
    '"flood" "river basin" "rain" * "-NEAR(a"'
    >>> match('"*" 🌊 "')
    ''
    >>> match("洪水* flood")
    '"洪 水" "flood"'
    """
    terms = (_term(found) for found in _TERM.finditer(text[:_LONGEST]))
    return " ".join([term for term in terms if term][:_TERMS])


def _term(found: re.Match[str]) -> str:
    quoted, star, word = found.groups()
    if word is not None:
        quoted, star = word.rstrip("*"), "*" if word.endswith("*") else ""
    quoted = "".join(character for character in quoted if not unicodedata.category(character).startswith("C"))
    apart = " ".join(spaced(quoted).split())
    star = star if len(quoted) >= _PREFIX and apart == " ".join(quoted.split()) else ""
    return f'"{apart}"{" *" if star else ""}' if any(map(str.isalnum, quoted)) else ""


def _only(source: str | None, *, withdrawn: bool) -> str:
    """Return the filters on `kept`: the source in hexadecimal, which is one word, and whether it is withdrawn."""
    name = f" AND kept : {_hexadecimal(source)}" if source is not None else ""
    return name + ("" if withdrawn else f' NOT kept : "{MARK}gone"')


def _hexadecimal(source: str) -> str:
    return f'"{MARK}{source.encode("utf-8", "replace").hex()}"'


def _tiers(db: sqlite3.Connection, words: str, only: str) -> tuple[list[tuple[str, int]], int]:
    """Return the queries whose hits follow each other, with their counts.

    If there are too many hits to rank, those that have the words in their titles come first.
    """
    query = f"({words}){only}"
    total = _count(db, query)
    if total <= RANKED:
        return [(query, total)], total
    titled = f"{_TITLE} : ({words}){only}"
    others = f"({query}) NOT {_TITLE} : ({words})"
    count = _count(db, titled)
    return [(titled, count), (others, total - count)] if count else [(query, total)], total


def _count(db: sqlite3.Connection, query: str) -> int:
    return int(db.execute(_COUNT, (query,)).fetchone()[0])


def _page(db: sqlite3.Connection, tiers: list[tuple[str, int]], limit: int, offset: int) -> Iterator[int]:
    for query, count in tiers:
        wanted = min(limit, count - offset)
        if wanted > 0:
            yield from _ordered(db, query, count, wanted, offset)
            limit -= wanted
        offset = max(0, offset - count)


def _ordered(db: sqlite3.Connection, query: str, count: int, wanted: int, offset: int) -> list[int]:
    """Return some hits of a query: by relevance, or, if there are too many, the newest first."""
    end = offset + wanted
    if count > RANKED and "*" not in query:  # a prefix stands for many words
        seen = list(islice(_newest(db, query, end / count), end))
        if len(seen) == end:
            return seen[offset:]
    ordered = _RELEVANT if count <= RANKED else _NEWEST
    return [row[0] for row in db.execute(ordered, (query, wanted, offset))]


def _newest(db: sqlite3.Connection, query: str, part: float) -> Iterator[int]:
    """Yield the hits among the newest datasets, which people look at most; a query for all hits takes longer.

    Args:
        db: the index.
        query: the query of FTS5.
        part: the share of the hits that is wanted; nothing is yielded if the newest datasets are unlikely to have it.
    """
    if part * db.execute("SELECT max(id) FROM datasets").fetchone()[0] <= _LOOKS:
        with closing(db.execute(_ALL)) as newest:
            yield from (id_ for (id_,) in islice(newest, _LOOKS) if db.execute(_HAS, (query, id_)).fetchone())


def _found(row: Any, words: list[str]) -> Found:
    *texts, formats, file, withdrawn, description = row
    listed: list[str] = json.loads(formats) if formats else []
    more = {"formats": listed, "file": file, "withdrawn": bool(withdrawn), "snippet": snippet(description or "", words)}
    return Found(*texts, **more)


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
