"""Parquet, a row a dataset, its columns the item's fields: lists and objects stay what they are. Needs pyarrow."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from crawlers.exceptions import ExportError
from crawlers.items import Dataset

if TYPE_CHECKING:
    from collections.abc import Iterable

ROW_GROUP = 1000
"""Datasets in a row group, and in memory at a time."""

_LEFT_OUT = ("document", "stored", "torn")


def write(datasets: Iterable[Dataset], output: IO[bytes]) -> None:
    """
    Raises:
        ExportError: pyarrow is not installed.
    """
    arrow, parquet = installed()
    schema = arrow.schema(list(_struct(arrow, Dataset)))
    rows = map(_plain, datasets)
    with parquet.ParquetWriter(output, schema, compression="zstd") as file:
        while group := list(islice(rows, ROW_GROUP)):
            file.write_table(arrow.Table.from_pylist(group, schema), row_group_size=ROW_GROUP)


def installed() -> tuple[Any, Any]:
    """Return the modules pyarrow and pyarrow.parquet.

    Raises:
        ExportError: they are not installed.
    """
    try:
        import pyarrow as arrow  # noqa: ICN001, PLC0415
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError:
        raise ExportError("Parquet needs pyarrow: pip install 'catalogue-crawlers[parquet]'.") from None
    return arrow, parquet


def _struct(arrow: Any, kind: Any) -> Any:
    """The columns of a dataclass, in the order of its fields."""
    hints = get_type_hints(kind)
    kept = [one.name for one in fields(kind) if one.name not in _LEFT_OUT]
    return arrow.struct([arrow.field(name, _type(arrow, hints[name])) for name in kept])


def _type(arrow: Any, hint: Any) -> Any:
    if get_origin(hint) is list:
        return arrow.list_(_type(arrow, get_args(hint)[0]))
    kinds = (hint, *get_args(hint))  # X, or X | None
    inner = next((kind for kind in kinds if is_dataclass(kind)), None)
    if inner:
        return _struct(arrow, inner)
    if float in kinds:
        return arrow.float64()
    return arrow.int64() if int in kinds else arrow.string()


def _plain(value: Any) -> Any:
    """A dataclass as a dict, a geometry as GeoJSON's text; half characters, which are no UTF-8, as question marks."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode(errors="replace").decode()
    if is_dataclass(value):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value) if one.name not in _LEFT_OUT}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return json.dumps(value) if isinstance(value, dict) else value
