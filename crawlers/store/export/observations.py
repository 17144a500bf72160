"""Time series as CSV, which is also how they are on disk, and as Parquet."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import IO

from crawlers.store.export.parquet import installed
from crawlers.store.timeseries import COLUMNS, Observation, line, number

Writer = Callable[[Iterable[Observation], IO[bytes]], None]

_ROW_GROUP = 50_000  # observations in a row group, and in memory at a time


def write_csv(found: Iterable[Observation], output: IO[bytes]) -> None:
    """Write a header, and a row for each observation; no cell is a formula."""
    output.write(line(COLUMNS))
    output.writelines(map(line, found))


def write_parquet(found: Iterable[Observation], output: IO[bytes]) -> None:
    """Write the columns of the CSV as texts, and ``number``, which is empty if the value is a text.

    Raises:
        ExportError: pyarrow is not installed.
    """
    arrow, parquet = installed()
    schema = arrow.schema([*((name, arrow.string()) for name in COLUMNS), ("number", arrow.float64())])
    rows = iter(found)
    with parquet.ParquetWriter(output, schema, compression="zstd") as file:
        while group := list(islice(rows, _ROW_GROUP)):
            columns = [*zip(*group, strict=True), [number(one) for one in group]]
            file.write_table(arrow.table(columns, schema=schema))


WRITERS: dict[str, Writer] = {".csv": write_csv, ".parquet": write_parquet}
"""By the ending of the file's name."""
