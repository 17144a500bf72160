"""The full text of datasets, kept in step with their rows.

Triggers would do that, too, but in a trigger FTS5 writes each row to disk by itself, which takes four times as long.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from crawlers.store.index.schema import INDEXED

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterator

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
        return _UNSPACED.sub(r" \g<0> ", text)
    return text  # a regular expression takes ten times as long to find nothing
