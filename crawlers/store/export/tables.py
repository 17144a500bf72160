"""Datasets and time series as tables: CSV, in which no cell is a formula, and Parquet, which needs pyarrow.

In CSV a dataset is a flat row. In Parquet the columns are the item's fields: lists and objects stay what they are.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from crawlers.exceptions import ExportError
from crawlers.fields import specs
from crawlers.items import Dataset
from crawlers.store import timeseries
from crawlers.store.export.nodes import plain

if TYPE_CHECKING:
    from crawlers.items import Agent, License, Period

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_TURNS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_BETWEEN = " | "


def write_csv(datasets: Iterable[Dataset], output: IO[bytes]) -> None:
    """Write UTF-8 with a header, and lines that end with CR LF as in RFC 4180; the parts of a list are joined by " | ".

    On a terminal, no cell has line breaks: its second line could look like another dataset.
    """
    shown = (lambda value: " ".join(cell(value).split())) if output.isatty() else cell
    text = io.TextIOWrapper(output, encoding="utf-8", newline="")
    table = csv.writer(text)
    table.writerow(map(cell, COLUMNS))
    for dataset in datasets:
        table.writerow(map(shown, _row(dataset).values()))
    text.detach()  # flushed, and left open


def cell(value: str | None) -> str:
    r"""Return a text that a spreadsheet shows and does not run; line ends are normalised.

    >>> cell("=HYPERLINK(1)"), cell("-1"), cell("a=b"), cell(None), cell("\u202e=1")
    ("'=HYPERLINK(1)", "'-1", 'a=b', '', "'=1")
    """
    text = straight(plain(value) or "").strip()
    return f"'{text}" if text.startswith(_FORMULA) else text


def straight(text: str) -> str:
    """Return a text without the controls of its direction (Unicode's Bidi_Control), which turn the cells behind it."""
    return text if text.isascii() else _TURNS.sub("", text)


def _row(dataset: Dataset) -> dict[str, str | None]:
    row: dict[str, str | None] = {"source": dataset.source, "id": dataset.id}
    for name, kind in _KINDS.items():
        row |= _OF_KIND.get(kind, _text)(name, getattr(dataset, name))
    files = dataset.resources
    return row | {
        "metadata_source": dataset.metadata_source,
        "metadata_url": dataset.metadata_url,
        "retrieved": dataset.retrieved,
        "resources": str(len(files)),
        "formats": _list(each.format for each in files),
        "urls": _list(each.download_url or each.access_url or each.url for each in files),
        "access_services": _list(one.endpoint_url or one.uri for each in files for one in each.access_services),
        "availability": _list(each.availability for each in files),
    }


def _text(name: str, value: Any) -> dict[str, str | None]:
    return {name: _list(value) if isinstance(value, list) else value}


def _list(texts: Iterable[str | None]) -> str:
    return _BETWEEN.join(dict.fromkeys(filter(None, texts)))


def _agent(agent: Agent) -> str | None:
    name = agent.name or agent.uri or agent.url
    return f"{name} <{agent.email}>" if name and agent.email else name or agent.email


def _person(name: str, agent: Agent | None) -> dict[str, str | None]:
    """Return a person's name and e-mail address, each in a column of its own; the publisher's are in one."""
    if name == "publisher":
        return {name: _agent(agent) if agent else None}
    return {name: (agent.name or agent.uri) if agent else None, f"{name}_email": agent.email if agent else None}


def _license(name: str, found: License | None) -> dict[str, str | None]:
    return {name: (found.id or found.title) if found else None, f"{name}_uri": found.uri if found else None}


def _period(name: str, found: Period | None) -> dict[str, str | None]:
    return {f"{name}_start": found.start if found else None, f"{name}_end": found.end if found else None}


_OF_KIND: dict[str, Callable[[str, Any], dict[str, str | None]]] = {
    "agent": _person,
    "agents": lambda name, agents: {name: _list(map(_agent, agents))},
    "license": _license,
    "period": _period,
    "places": lambda name, places: {name: _list(each.name or each.code or each.uri for each in places)},
    "metres": lambda name, found: {name: None if found is None else f"{found:g}"},
    "relations": lambda name, found: {name: _list(f"{each.role}: {each.uri or each.title}" for each in found)},
}
"""The columns and cells of a field of each kind; all others are texts, or lists of them."""
_KINDS = {name: spec.kind for name, spec in specs(Dataset).items()}
COLUMNS = tuple(_row(Dataset(source="", id="")))


# Parquet

ROW_GROUP = 1000
"""Datasets in a row group, and in memory at a time."""

_LEFT_OUT = ("document", "stored", "torn")


def write_parquet(datasets: Iterable[Dataset], output: IO[bytes]) -> None:
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


# Time series, whose CSV is also what is on disk

_SERIES_ROW_GROUP = 50_000  # observations in a row group, and in memory at a time


def _series_csv(found: Iterable[timeseries.Observation], output: IO[bytes]) -> None:
    """Write a header, and a row for each observation; no cell is a formula."""
    output.write(timeseries.line(timeseries.COLUMNS))
    output.writelines(map(timeseries.line, found))


def _series_parquet(found: Iterable[timeseries.Observation], output: IO[bytes]) -> None:
    """Write the columns of the CSV as texts, and ``number``, which is empty if the value is a text.

    Raises:
        ExportError: pyarrow is not installed.
    """
    arrow, parquet = installed()
    schema = arrow.schema([*((name, arrow.string()) for name in timeseries.COLUMNS), ("number", arrow.float64())])
    rows = iter(found)
    with parquet.ParquetWriter(output, schema, compression="zstd") as file:
        while group := list(islice(rows, _SERIES_ROW_GROUP)):
            columns = [*zip(*group, strict=True), [timeseries.number(one) for one in group]]
            file.write_table(arrow.table(columns, schema=schema))


SERIES_WRITERS: dict[str, Callable[[Iterable[timeseries.Observation], IO[bytes]], None]] = {
    ".csv": _series_csv,
    ".parquet": _series_parquet,
}
"""By the ending of the file's name."""
