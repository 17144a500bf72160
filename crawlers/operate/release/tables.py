"""The tables of a release in Parquet: written from the index, row by row, and read again to compare two releases."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from crawlers.exceptions import ExportError
from crawlers.store.export.tables import installed
from crawlers.store.index.columns import DATASETS, RESOURCES

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from crawlers.store.index.columns import ValueType

_GROUP = 10_000  # rows in a row group, and in memory
_BYTES = 16 * 1024 * 1024  # of texts in a row group, and in memory, if that comes first
_READ = 1_000  # rows in memory when two releases are compared

Key = tuple[str, str]
Row = dict[str, Any]


class Field(NamedTuple):
    """A column.

    Args:
        says: what it has, as a sentence.
    """

    name: str
    type: ValueType
    says: str


class Table(NamedTuple):
    """A table of a release.

    Args:
        query: its rows of one source, ordered by the key; SQLite reads them in the order of an index.
    """

    name: str
    fields: tuple[Field, ...]
    query: str

    @property
    def file(self) -> str:
        return f"{self.name}.parquet"


_SOURCE = Field("source", "text", "The source that the dataset is from.")
_DATASET = Field("dataset_id", "text", "The dataset's id there.")
_OF_DATASETS = (
    _SOURCE,
    _DATASET,
    *(Field(column.name, column.type, column.says) for column in DATASETS),
    Field("formats", "list", "The formats of its files."),
    Field("resources", "integer", "How many files it has; the table resources has the first 1,000."),
    Field("metadata_source", "text", "What of the catalogue said this."),
    Field("metadata_url", "text", "The address that said it."),
    Field("metadata_modified", "text", "When the record was changed, by the catalogue's word."),
    Field("flaws", "integer", "How many values of the record could not be read."),
    Field("sha256", "text", "The SHA-256 of the record as it was kept."),
)
_OF_RESOURCES = (
    _SOURCE,
    _DATASET,
    Field("position", "integer", "Its place among the dataset's files, from 0."),
    Field("resource_id", "text", "The file's id."),
    *(Field(column.name, column.type, column.says) for column in RESOURCES),
)


def _names(alias: str, fields: Sequence[Field]) -> str:
    return ", ".join(f"{alias}.{field.name}" for field in fields)


TABLES = (
    Table(
        "datasets",
        _OF_DATASETS,
        f"SELECT {_names('d', _OF_DATASETS)} FROM datasets d WHERE source = ? AND withdrawn = 0 ORDER BY dataset_id",  # noqa: S608
    ),
    Table(
        "resources",
        _OF_RESOURCES,
        f"""
        SELECT {_names("r", _OF_RESOURCES)} FROM datasets d CROSS JOIN resources r USING (source, dataset_id)
        WHERE d.source = ? AND d.withdrawn = 0 ORDER BY d.dataset_id, r.position
        """,  # noqa: S608
    ),
)


def write(db: sqlite3.Connection, table: Table, sources: dict[str, str], into: Path) -> None:
    """Write a table of all sources, and of each.

    Args:
        sources: the folder of each source's own files, by its name, in the order of the rows.
        into: the release's folder.

    Raises:
        ExportError: pyarrow is not installed.
    """
    arrow, parquet = installed()
    schema = arrow.schema([arrow.field(field.name, _type(arrow, field)) for field in table.fields])
    with _writer(parquet, into / table.file, schema) as file:
        every = _Joined(arrow, file)
        for source, folder in sources.items():
            with _writer(parquet, into / folder / table.file, schema) as own:
                for rows in _groups(db.execute(table.query, (source,))):
                    columns = list(map(_cells, table.fields, zip(*rows, strict=True)))
                    batch = arrow.table(columns, schema=schema)
                    own.write_table(batch, row_group_size=_GROUP)
                    every.add(batch)
        every.flush()


class _Joined:
    """Writes row groups of several small sources: the head of a group is larger than a few rows."""

    def __init__(self, arrow: Any, file: Any) -> None:
        self.arrow, self.file = arrow, file
        self.waiting: list[Any] = []
        self.rows, self.size = 0, 0

    def add(self, batch: Any) -> None:
        rows, size = batch.num_rows, batch.nbytes
        if self.rows + rows > _GROUP or self.size + size > _BYTES:
            self.flush()
        self.waiting.append(batch)
        self.rows, self.size = self.rows + rows, self.size + size

    def flush(self) -> None:
        if self.waiting:
            self.file.write_table(self.arrow.concat_tables(self.waiting), row_group_size=_GROUP)
        self.waiting, self.rows, self.size = [], 0, 0


def _writer(parquet: Any, path: Path, schema: Any) -> Any:
    return parquet.ParquetWriter(path, schema, compression="zstd")


def _groups(rows: Iterator[sqlite3.Row]) -> Iterator[list[tuple[Any, ...]]]:
    """Yield rows that are in memory together."""
    group, size = [], 0
    for row in rows:
        group.append(tuple(row))
        size += sum(len(value) for value in group[-1] if isinstance(value, str))
        if len(group) == _GROUP or size > _BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _cells(field: Field, values: Sequence[Any]) -> Sequence[Any]:
    if field.type == "list":
        return [orjson.loads(value) if value else [] for value in values]
    return values


def _type(arrow: Any, field: Field) -> Any:
    kinds = {"real": arrow.float64(), "integer": arrow.int64(), "list": arrow.list_(arrow.string())}
    return kinds.get(field.type, arrow.string())


class Record(NamedTuple):
    """A dataset of a release, and its files."""

    key: Key
    dataset: Row
    resources: list[Row]


class Records:
    """The datasets of a release, ordered by source and id.

    Args:
        folder: has ``datasets.parquet`` and ``resources.parquet``.

    Attributes:
        fields: the columns of the datasets.

    Raises:
        ExportError: they can't be read.
    """

    def __init__(self, folder: Path) -> None:
        _, parquet = installed()
        with _readable(folder):
            self.files = [parquet.ParquetFile(folder / table.file) for table in TABLES]
            self.folder, (self.fields, self.of_resources) = folder, [file.schema_arrow.names for file in self.files]
        if lacking := {"source", "dataset_id"} - {*self.fields} or {"source", "dataset_id"} - {*self.of_resources}:
            raise ExportError(f"{folder} has tables without {min(lacking)}.")

    def __iter__(self) -> Iterator[Record]:
        with _readable(self.folder):
            datasets, resources = map(_rows, self.files)
            grouped = groupby(resources, _key)
            following: tuple[Key, Iterator[Row]] | None = next(grouped, None)
            for dataset in datasets:
                key = _key(dataset)
                while following and following[0] < key:
                    following = next(grouped, None)
                own = list(following[1]) if following and following[0] == key else []
                yield Record(key, dataset, own)


def _key(row: Row) -> Key:
    return row["source"], row["dataset_id"]


def _rows(file: Any) -> Iterator[Row]:
    for batch in file.iter_batches(batch_size=_READ):
        yield from batch.to_pylist()


@contextmanager
def _readable(folder: Path) -> Iterator[None]:
    from pyarrow import ArrowException  # noqa: PLC0415 -- an extra

    try:
        yield
    except (ArrowException, OSError) as error:
        raise ExportError(f"{folder} has tables that can't be read: {str(error).splitlines()[0]}.") from None
