"""A source's Delta table: a commit for each batch of rows, whose number one writer only can have.

A batch's number is the version of the table's application transaction. Delta refuses a commit only if another one of
that application came after the snapshot on which it is made, so the number is compared on that very snapshot.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from arro3.core import RecordBatch
from arro3.core import Table as Rows
from deltalake import CommitProperties, DeltaTable, QueryBuilder, Schema, Transaction, WriterProperties, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from crawlers.exceptions import StoreError
from crawlers.fleet.store.rows import READ, STATISTICS, as_table, from_batches, schema
from crawlers.s3.connection import is_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from crawlers.fleet.store.rows import Row
    from crawlers.fleet.store.store import Store

T = TypeVar("T")

_TRIES = 5  # of a read whose files are removed meanwhile, and of a change among those of others
_COMMITS = 300  # tries of a commit among those of compactions
_CONFIGURATION = {
    "delta.checkpointInterval": "100",
    "delta.logRetentionDuration": "interval 7 days",
    "delta.dataSkippingStatsColumns": STATISTICS,
}
_GROUP = 1000  # rows
_WRITTEN = WriterProperties(compression="ZSTD", compression_level=3, max_row_group_size=_GROUP)
_WINDOW = 8 * 1024 * 1024  # bytes of lines and content that are read at once, if a batch has not more
_MOST = 4_000  # rows that are read at once, if a batch has not more
_TARGET = 16 * 1024 * 1024  # bytes of a file that compaction makes: it takes ten times as many of memory
_SMALL = 50  # files that are not of that size, from which on a table is compacted
_KEPT = 7 * 24  # hours that files stay which no reader of now needs: for one who is slow
_AT_ONCE = 2000  # hashes in a predicate
_BATCHES = """
SELECT batch, count(*) AS lines,
    coalesce(sum(bytes) FILTER (WHERE part IN ('document', 'file')), 0) + coalesce(sum(octet_length(line)), 0) AS bytes
FROM rows WHERE batch > {} GROUP BY batch ORDER BY batch
"""
_WHOSE = "SELECT token FROM rows WHERE batch = {} LIMIT 1"
_ORDERED = 'SELECT {} FROM rows WHERE {} ORDER BY batch, part, "offset"'
_FORMER = """
SELECT batch, "offset" FROM (
    SELECT batch, "offset", content IS NOT NULL AS is_kept,
        lead("time") OVER (PARTITION BY kind, dataset_id, resource_id ORDER BY "offset") AS replaced
    FROM rows WHERE part = 'document' AND batch > {}
) WHERE is_kept AND replaced < '{}'
"""
_IS_FORMER = 'there.part = \'document\' AND there.batch = former.batch AND there."offset" = former."offset"'

_HASHES = """
SELECT batch, sha256, max(bytes) FROM rows WHERE part IN ('document', 'file') AND sha256 IS NOT NULL
GROUP BY batch, sha256 ORDER BY batch DESC
"""
_REPLACED = """
SELECT "offset", replaced, run, status, fields FROM (
    SELECT "offset", lead("time") OVER later AS replaced, lead(run) OVER later AS run,
        lead(status) OVER later AS status, lead(fields) OVER later AS fields
    FROM rows WHERE part = 'document' AND sha256 IS NOT NULL AND batch > {}
    WINDOW later AS (PARTITION BY kind, dataset_id, resource_id ORDER BY "offset")
) WHERE replaced IS NOT NULL ORDER BY "offset"
"""
_REMOVED = "SELECT max(batch) AS batch FROM rows WHERE part = 'gone' AND file IS NULL"
_FEW = 200  # rows with their content


class Replaced(NamedTuple):
    """What made a version a former one: the next line of its document."""

    offset: int
    replaced: str
    run: str | None
    status: str | None
    fields: str | None


class Window(NamedTuple):
    """The rows of some batches, in their order."""

    last: int
    rows: list[Row]

    @property
    def token(self) -> str:
        """What tells the last batch from another one of its number."""
        return str(self.rows[-1].entry["token"])


class Table:
    """The table of a source.

    Args:
        store: where it is.
        source: its name.
    """

    def __init__(self, store: Store, source: str) -> None:
        self.store = store
        self.source = source
        self.address = f"{store.address}/{source}"
        self._table: DeltaTable | None = None

    def last(self) -> int:
        """Return the number of the last batch; 0 if there is no table.

        Raises:
            StoreError: it can't be read; so for the methods below.
        """
        table = self._asked(self._current)
        return self._number(table) if table else 0

    @property
    def id(self) -> str:
        """What tells the table from one that was made in its place; nothing if there is none."""
        table = self._table or self._asked(self._current)
        return str(table.metadata().id) if table else ""

    def _number(self, table: DeltaTable) -> int:
        return table.transaction_version(self.source) or 0

    def _current(self) -> DeltaTable | None:
        """Return the table as it is now; ``None`` if there is none."""
        try:
            if self._table is None:
                self._table = DeltaTable(self.address, storage_options=self.store.options)
            else:
                self._table.update_incremental()
            self._check_types(self._table)
        except TableNotFoundError:
            self._table = None
        except Exception:
            self._table = None  # a half of it is no snapshot
            raise
        return self._table

    def _check_types(self, table: DeltaTable) -> None:
        wanted = _types()
        other = [field.name for field in table.schema().fields if wanted.get(field.name, field.type) != field.type]
        if other:
            raise StoreError(
                f"[{self.source}] is damaged in {self.store.address} (column {other[0]} has another type)."
            )

    def age(self, now: float) -> float:
        """Return the seconds since the last commit.

        Args:
            now: the server's time, in seconds since 1970.
        """
        table = self._asked(self._current)
        if table is None:
            return float("inf")
        put = self.store.modified(f"{self.source}/_delta_log/{table.version():020d}.json")
        return float("inf") if put is None else now - put

    # Writing

    def commit(self, number: int, token: str, rows: Sequence[Row]) -> Literal["put", "there"] | None:
        """Commit a batch; return whether it was put, or one of its token is there; ``None`` if another one is.

        One that is there may have been put before, when the answer was lost; then it may have other rows.

        Args:
            number: one more than the last batch's.
            token: what tells the batch from another one of that number.
        """
        found = as_table(self.source, number, token, rows)
        tries = 0

        def put() -> Literal["put", "there"] | None:
            nonlocal tries
            table = self._table if self._table and not tries else self._current()
            tries += 1
            at = self._number(table) if table else 0
            if at == number - 1:
                try:
                    self._append(table, number, found)
                except CommitFailedError:
                    if tries < _TRIES:  # nobody else may have this number, but the table was made or tidied meanwhile
                        return put()
                    raise
                return "put"
            return "there" if at >= number and self.token(number) == token else None

        return self._asked(put)

    def _append(self, table: DeltaTable | None, number: int, rows: Any) -> None:
        tries = _COMMITS if table else 0  # it would make the table again, as the commit after another machine's first
        commit = CommitProperties(app_transactions=[Transaction(self.source, number)], max_commit_retries=tries)
        if table is None:
            try:
                write_deltalake(
                    self.address, rows, mode="error", name=self.source, configuration=_CONFIGURATION,
                    storage_options=self.store.options, writer_properties=_WRITTEN, commit_properties=commit,
                )  # fmt: skip
            except DeltaError as error:
                if "already exists" not in str(error):
                    raise
                raise CommitFailedError(str(error)) from None
        else:
            write_deltalake(
                table, rows, mode="append", schema_mode="merge", writer_properties=_WRITTEN, commit_properties=commit
            )

    # Reading

    def token(self, number: int) -> str | None:
        """Return the token of a batch; ``None`` if there is none of that number."""
        return next((token for (token,) in self._values(_WHOSE.format(number))), None)

    def batch(self, number: int) -> list[Row]:
        """Return the rows of a batch without their content."""
        return self._rows(f"batch = {number:d}", is_whole=False)

    def after(self, number: int) -> Iterator[Window]:
        """Yield the rows of the batches after one, some batches at a time."""
        first, last, lines, size = number, number, 0, 0
        for batch, more, long in self._values(_BATCHES.format(number)):
            if lines and (lines + more > _MOST or size + long > _WINDOW):
                yield Window(last, self._rows(f"batch > {first:d} AND batch <= {last:d}"))
                first, lines, size = last, 0, 0
            last, lines, size = batch, lines + more, size + long
        if last > first:
            yield Window(last, self._rows(f"batch > {first:d} AND batch <= {last:d}"))

    def former(self) -> Iterator[tuple[Row, Replaced]]:
        """Yield the lines of documents that are followed by others, the oldest first, and what those say."""
        since = self._since()
        found = [Replaced(*values) for values in self._values(_REPLACED.format(since))]
        for begin in range(0, len(found), _FEW):
            some = {one.offset: one for one in found[begin : begin + _FEW]}
            rows = self._rows(f"part = 'document' AND batch > {since} AND \"offset\" IN ({', '.join(map(str, some))})")
            yield from ((row, some[row.offset]) for row in rows)

    def contents(self, wanted: Collection[str]) -> Iterator[Row]:
        """Yield a row with content for each of some hashes that has one, a few MiB at a time.

        Args:
            wanted: the hashes.
        """
        left, some, size = {*wanted}, list[tuple[int, str]](), 0
        for number, sha256, long in self._values(_HASHES) if wanted else ():
            if sha256 not in left:
                continue
            if some and (size + (long or 0) > _WINDOW or len(some) >= _AT_ONCE):
                yield from self._of(some, left)
                some, size = [], 0
            some.append((number, sha256))
            size += long or 0
        yield from self._of(some, left)

    def _of(self, places: Sequence[tuple[int, str]], left: set[str]) -> Iterator[Row]:
        """Yield a row with content for each hash that is left of some batches, the newest first."""
        hashes = ", ".join({"'{}'".format(sha256.replace("'", "''")) for _, sha256 in places if sha256 in left})
        if hashes:  # a range, for pages outside of it are not decoded; and the column of contents is no condition
            which = f"batch >= {places[-1][0]:d} AND batch <= {places[0][0]:d} AND sha256 IN ({hashes})"
            for row in self._rows(which):
                if row.content is not None and row.sha256 in left:
                    left.discard(row.sha256)
                    yield row

    def _since(self) -> int:
        """Return the batch that removed all before it, whose rows a kill may have left; 0 if there is none."""
        return next((batch for (batch,) in self._values(_REMOVED) if batch), 0)

    def _values(self, query: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query as tuples."""
        for batch in self._select(query):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def _rows(self, which: str, *, is_whole: bool = True) -> list[Row]:
        table = self._asked(self._current)
        if table is None:
            return []
        there = {field.name for field in table.schema().fields}
        left_out = set() if is_whole else {"content"}
        columns = (
            f'"{name}"' if name in there - left_out else f'NULL AS "{name}"' for name in READ
        )  # a version before this one has fewer
        return from_batches(self._select(_ORDERED.format(", ".join(columns), which)))

    def _select(self, query: str) -> list[Any]:
        """Return the batches of a query; files that a compaction has removed meanwhile are looked for again."""

        def ask() -> list[Any]:
            for left in reversed(range(_TRIES)):
                table = self._current()
                if table is None:
                    return []
                try:
                    return _queried(table, query)
                except Exception as error:
                    self._table = None
                    if "not found" not in str(error).lower() or "NoSuchBucket" in str(error):
                        raise
                    if not left:
                        raise StoreError(
                            f"[{self.source}] is damaged in {self.store.address} (a file is missing)."
                        ) from None
            raise AssertionError  # the last try returns or raises

        return self._asked(ask)

    # Keeping it small

    def is_scattered(self) -> bool:
        """Return whether the table has so many small files that its next reader is slow."""
        table = self._asked(self._current)
        if table is None:
            return False
        sizes = table.get_add_actions(flatten=True).column("size_bytes").to_pylist()
        return bool(sum(size < _TARGET // 2 for size in sizes) > _SMALL)

    def tidy(self) -> int:
        """Merge small files, and remove those that nobody has needed for a week; return how many were removed."""
        if since := self._since():
            self.empty(since)
        self._changed(lambda table: table.optimize.compact(target_size=_TARGET, max_concurrent_tasks=1))
        removed = self._changed(partial(DeltaTable.vacuum, retention_hours=_KEPT, dry_run=False, full=True))
        self._changed(DeltaTable.create_checkpoint)
        return len(removed or ())

    def forget(self, before: str) -> int:
        """Drop the content of versions that became former before a moment; return how many.

        Args:
            before: the moment, as lines have it.
        """
        query = _FORMER.format(self._since(), before.replace("'", ""))

        def drop(table: DeltaTable) -> int:
            former = [batch for batch in _queried(table, query) if batch.num_rows]
            if former:  # a predicate with so many offsets would take minutes
                (
                    table.merge(Rows.from_batches(former), _IS_FORMER, "former", "there", writer_properties=_WRITTEN)
                    .when_matched_update({"content": "NULL"})
                    .execute()
                )
            return sum(batch.num_rows for batch in former)

        return self._changed(drop) or 0

    def empty(self, before: int) -> None:
        """Remove the rows of all batches before one."""
        self._changed(lambda table: table.delete(f"batch < {before:d}"))

    def _changed(self, change: Callable[[DeltaTable], T]) -> T | None:
        """Change the table as it is now, again if others change it meanwhile; ``None`` if there is none."""

        def ask() -> T | None:
            for left in reversed(range(_TRIES)):
                table = self._current()
                try:
                    return change(table) if table else None
                except CommitFailedError:
                    self._table = None
                    if not left:
                        raise
            raise AssertionError  # the last try returns or raises

        return self._asked(ask)

    def _asked(self, ask: Callable[[], T]) -> T:
        def told() -> T:
            try:
                return ask()
            except StoreError:
                raise
            except CommitFailedError:
                raise StoreError(
                    f"[{self.source}] is changed by others in {self.store.address}: try it again later."
                ) from None
            except Exception as error:  # noqa: BLE001 -- delta-rs raises DataFusion's and Arrow's, too
                if is_answer(error):
                    raise error if isinstance(error, OSError) else OSError(str(error)) from None
                self._table = None
                raise StoreError(f"[{self.source}] is damaged in {self.store.address} ({_first(error)}).") from None

        return self.store.asked(told)


@cache
def _types() -> dict[str, Any]:
    return {field.name: field.type for field in Schema.from_arrow(schema()).fields}


def _queried(table: DeltaTable, query: str) -> list[Any]:
    """Return the batches of a query on a snapshot."""
    from pyarrow import RecordBatchReader  # noqa: PLC0415 -- 28 MiB, without which a crawl does that is up to date

    found = QueryBuilder().register("rows", table).execute(query)
    # Its own iterator lets no other thread run while it waits for the server
    return [*map(RecordBatch.from_arrow, RecordBatchReader.from_stream(found))]


def _first(error: Exception) -> str:
    """Return what an error is about: its first line, without what the server answered."""
    return str(error).strip().partition("\n")[0].partition(": Object Store error")[0][:300]
