"""What is written into the index in one short transaction: documents, their descriptions, and changes."""

from __future__ import annotations

from collections import defaultdict
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from crawlers.store.index import facets, search
from crawlers.store.index.known import DATASET, RESOURCE, Description, Row

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable, Iterator

    from crawlers.store.index.known import Key, Known

DOCUMENTS = 500  # in a transaction: short ones, so that crawls of other sources do not wait
_RESOURCES = 20  # weigh as much as a document
_KEPT = 10 * DOCUMENTS  # descriptions that wait to be written; more are read from disk again

_DOCUMENT = """
INSERT INTO documents VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?11, ?12, ?13, ?14)
ON CONFLICT DO UPDATE SET file = ?5, sha256 = ?6, bytes = ?7, metadata_modified = ?8, status = ?9, run = ?10,
    last_seen = max(last_seen, ?11), metadata_source = ?12, metadata_url = ?13, renamed_from = ?14
"""
_RENAMED = """
UPDATE documents AS d SET first_seen = before.first_seen FROM documents AS before
WHERE (d.source, d.kind, d.dataset_id, d.resource_id) = (?1, ?2, ?3, ?4) AND before.first_seen < d.first_seen
    AND (before.source, before.kind, before.dataset_id, before.resource_id) = (?1, ?2, ?5, ?4)
"""  # by itself: with a query in it, each insertion takes eight times as long
_NOW = """
SELECT dataset_id, sha256, status = 'withdrawn' FROM documents
WHERE source = ?1 AND kind = 'dataset' AND dataset_id IN ({ids})
"""
_OF_ID = DATASET.index("dataset_id")
_OF_SHA256, _OF_WITHDRAWN = DATASET.index("sha256"), DATASET.index("withdrawn")
_OF_TITLE = DATASET.index("title")
_INSERT = "INSERT INTO {table} ({names}) VALUES ({values})"
_WRITTEN = (*DATASET, "facets")
_UPDATE = f"""
ON CONFLICT (source, dataset_id) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in _WRITTEN[2:])}
"""
_NO_RESOURCES = "DELETE FROM resources WHERE source = ? AND dataset_id = ?"
_CHANGE = "INSERT OR IGNORE INTO changes (source, dataset_id, time, run, status) VALUES (?, ?, ?, ?, ?)"
_COUNT = """
INSERT INTO daily_changes VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO UPDATE SET count = count + ?5
"""
_CHANGED = "UPDATE sources SET stamp = lower(hex(randomblob(8))) WHERE source = ?"
_WITHDRAWN = "UPDATE datasets SET withdrawn = ?1 WHERE source = ?2 AND dataset_id = ?3 AND withdrawn != ?1"


class Batch:
    """The documents of one source that wait to be written.

    Args:
        source: the source's name.
        described: whether the descriptions of all its datasets are added, too.

    Attributes:
        documents: by their key.
        descriptions: by their dataset's id.
        changes: the rows of `changes`.
    """

    def __init__(self, source: str, *, described: bool = True) -> None:
        self.source = source
        self.clear(described=described)

    def clear(self, *, described: bool = True) -> None:
        """Forget everything: it has been written."""
        self.described = described
        self.documents: dict[Key, Known] = {}
        self.descriptions: dict[str, Description] = {}
        self.changes: list[Row] = []
        self._resources = 0
        self._room = DOCUMENTS

    @property
    def full(self) -> bool:
        """Return whether it is time to write."""
        return self._size >= self._room

    @property
    def _size(self) -> int:
        return max(len(self.documents), len(self.descriptions), self._resources // _RESOURCES)

    def wait(self) -> None:
        """Put off a write that failed until as much has been added again; drop descriptions beyond a limit."""
        self._room = self._size + DOCUMENTS
        if self._size >= _KEPT:
            self.described, self._resources = False, 0
            self.descriptions.clear()

    def of_kind(self, kind: str) -> dict[str, Known]:
        """Return the datasets, or the profiles of a kind, among the documents, by id."""
        return {key[1]: known for key, known in self.documents.items() if key[0] == kind}

    def title(self, dataset_id: str) -> str | None:
        """Return the title of a dataset that is described here."""
        found = self.descriptions.get(dataset_id)
        return found.dataset[_OF_TITLE] if found else None

    def add(self, key: Key, known: Known, time: str | None = None) -> None:
        """Add a document.

        Args:
            key: the document's.
            known: the document.
            time: the time of its manifest line, if the line is new.
        """
        self.documents[key] = known
        if time and key[0] == "dataset":
            self.changes.append((self.source, key[1], time, known.run, known.status))

    def describe(self, found: Description) -> None:
        """Add the description of a dataset."""
        self.descriptions[found.dataset[_OF_ID]] = found
        self._resources += len(found.resources)

    def drop_overtaken(self, db: sqlite3.Connection) -> int:
        """Drop descriptions of documents that a crawl has changed since they were read; return how many.

        The caller begins the transaction.
        """
        before, self.descriptions = self.descriptions, {}
        for dataset_id, sha256, withdrawn in search.of_datasets(db, _NOW, self.source, before):
            found = before[dataset_id]
            if sha256 == found.dataset[_OF_SHA256]:
                row = (*found.dataset[:_OF_WITHDRAWN], withdrawn, *found.dataset[_OF_WITHDRAWN + 1 :])
                self.descriptions[dataset_id] = found._replace(dataset=row)
        return len(before) - len(self.descriptions)

    def write(self, db: sqlite3.Connection) -> None:
        """Write everything into the index; the caller begins the transaction."""
        _write_documents(db, self)
        withdrawn = list(self._withdrawn())
        if self.descriptions or withdrawn:
            with search.changing(db, self.source, {*self.descriptions, *(row[2] for row in withdrawn)}) as is_known:
                _write_datasets(db, self.descriptions.values(), is_known=is_known)
                db.executemany(_WITHDRAWN, withdrawn)
            db.execute(_CHANGED, (self.source,))

    def _withdrawn(self) -> Iterator[Row]:
        """Yield whether datasets are withdrawn that have a new line, but no new description."""
        for dataset_id in {row[1] for row in self.changes}:
            known = self.documents["dataset", dataset_id, ""]
            if known.status == "withdrawn" or dataset_id not in self.descriptions:
                yield int(known.status == "withdrawn"), self.source, dataset_id


def _write_documents(db: sqlite3.Connection, batch: Batch) -> None:
    documents = ((batch.source, *key, *_columns(known)) for key, known in batch.documents.items())
    db.executemany(_DOCUMENT, documents)
    renamed = ((batch.source, *key, known.renamed_from) for key, known in batch.documents.items() if known.renamed_from)
    db.executemany(_RENAMED, renamed)
    _write_changes(db, batch.changes)


def _write_changes(db: sqlite3.Connection, changes: Iterable[Row]) -> None:
    """Write the rows of `changes`, and count those that are new."""
    alike: dict[Row, list[Row]] = defaultdict(list)
    for row in changes:
        source, _, time, run, status = row
        alike[source, run, time[:10], status].append(row)
    for key, rows in alike.items():
        count = db.executemany(_CHANGE, rows).rowcount
        if count:
            db.execute(_COUNT, (*key, count))


def _write_datasets(db: sqlite3.Connection, found: Collection[Description], *, is_known: bool) -> None:
    """
    Args:
        is_known: whether one of them may have resources already.
    """
    if is_known:
        db.executemany(_NO_RESOURCES, (description.dataset[:2] for description in found))
    codes = facets.coded(db, [description.facets for description in found])
    rows = [(*description.dataset, each) for description, each in zip(found, codes, strict=True)]
    _insert(db, "datasets", _WRITTEN, rows, _UPDATE)
    _insert(db, "resources", RESOURCE, [row for description in found for row in description.resources])


def _insert(db: sqlite3.Connection, table: str, columns: tuple[str, ...], rows: list[Row], conflict: str = "") -> None:
    """Insert rows, without the columns that are empty in all of them: Python's sqlite3 takes its time for each NULL."""
    nothing = (None,) * len(rows)
    given = [place for place, values in enumerate(zip(*rows, strict=True)) if values != nothing]
    if given:
        names, values = ", ".join(columns[place] for place in given), ", ".join("?" * len(given))
        statement = _INSERT.format(table=table, names=names, values=values) + conflict
        db.executemany(statement, map(itemgetter(*given), rows))


def _columns(known: Known) -> tuple[Any, ...]:
    stored = (known.file, known.sha256, known.bytes, known.metadata_modified, known.status, known.run, known.seen)
    return *stored, known.metadata_source, known.metadata_url, known.renamed_from
