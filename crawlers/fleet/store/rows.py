"""The rows of a source's table: one for each line or file of its folder, and one that says who stored a batch."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from arro3.core import Array, DataType, Field, Schema, Table

from crawlers.exceptions import StoreError
from crawlers.safety import inside
from crawlers.store import lines
from crawlers.store.contract import LINES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PARTS = dict(zip(LINES, ("document", "error", "flaw", "capture"), strict=True))
"""Of the files that grow, the part of a line."""
_ENTRY = (
    *("kind", "dataset_id", "dataset_name", "dataset_title", "resource_id", "resource_name", "resource_format"),
    *("metadata_source", "metadata_url", "metadata_modified", "status", "reason", "run", "stage", "url", "error"),
    *("time", "sha256"),
)
"""Columns that have the value of a line's key of that name, as text."""
_NUMBERS = ("http_status", "bytes")
"""Such columns of whole numbers."""
_OWN = ("source", "part", "token", "file", "fields", "line")
_LARGEST_NUMBER = 2**63
STATISTICS = "part,batch,offset,dataset_id,run,sha256"
"""The columns by whose statistics a reader passes files over."""


class Row(NamedTuple):
    """A line or a file of a source's folder.

    Args:
        part: document, error, flaw, capture, file, gone or run.
        file: its path in the source's folder: of a document's line, the document.
        offset: where a line begins, counting all that were ever written to its file; 0 of the others.
        sha256: of the content.
        length: of the content, in bytes: the column ``bytes``.
        fields: of a document's line, which fields it changed, as JSON.
        line: the line without its end; ``None`` if there is none, or it is no UTF-8.
        raw: the line that is no UTF-8.
        content: the document or file; ``None`` of a document whose bytes are lost.
        entry: other columns.
    """

    part: str
    file: str | None
    offset: int = 0
    sha256: str | None = None
    length: int | None = None
    fields: str | None = None
    line: str | None = None
    raw: bytes | None = None
    content: bytes | None = None
    entry: Mapping[str, Any] = {}

    @property
    def text(self) -> bytes:
        """The line, with its end."""
        return (self.raw if self.raw is not None else (self.line or "").encode()) + b"\n"

    @property
    def key(self) -> tuple[str, str, str]:
        """Kind, dataset id, and resource id or "", of a document's line."""
        entry = self.entry
        return str(entry.get("kind") or ""), str(entry.get("dataset_id") or ""), str(entry.get("resource_id") or "")


_COLUMNS = tuple("bytes" if name == "length" else name for name in Row._fields[:-1])
READ = (*_COLUMNS, "kind", "dataset_id", "resource_id", "status", "run", "time", "token")
"""The columns that a mirror reads."""


def of_line(file: str, offset: int, text: bytes) -> Row:
    """Return the row of a line of a file that grows, without a document.

    Args:
        text: the line, with its end.
    """
    body = text.removesuffix(b"\n")
    entry = lines.entry(body) or {}
    try:
        line, raw = body.decode(), None
    except UnicodeDecodeError:
        line, raw = None, body
    document = entry.get("metadata_file") if PARTS[file] == "document" else None
    return Row(
        PARTS[file],
        _text(document),
        offset,
        sha256=_text(entry.get("sha256")),
        length=_number(entry.get("bytes")),
        line=line,
        raw=raw,
        entry=_plain(entry) if raw is not None or b"\\u" in body else entry,
    )


def of_file(file: str, content: bytes, changed: int) -> Row:
    """Return the row of a file as it is now.

    Args:
        changed: when it was written here, in nanoseconds.
    """
    sha256 = hashlib.sha256(content).hexdigest()
    return Row("file", file, sha256=sha256, length=len(content), content=content, entry={"changed": changed})


def of_run(told: Mapping[str, Any]) -> Row:
    """Return the row that says who stores a batch.

    Args:
        told: what is said.
    """
    return Row("run", None, line=json.dumps(told), entry=told)


@cache
def schema() -> Schema:
    """Return the columns of a table, as Arrow has them."""
    texts = {name: DataType.string() for name in (*_OWN, *_ENTRY)}
    numbers = {name: DataType.int64() for name in ("batch", "offset", *_NUMBERS)}
    order = (
        *("source", "part", "batch", "token", "offset", "file"),
        *(name for name in _ENTRY if name != "sha256"),
        *("http_status", "sha256", "bytes", "fields", "line", "raw", "content"),
    )
    types = texts | numbers | {"raw": DataType.binary(), "content": DataType.binary()}
    return Schema([Field(name, types[name]) for name in order])


def as_table(source: str, batch: int, token: str, rows: Iterable[Row]) -> Table:
    """Return the rows of a batch as an Arrow table.

    Args:
        batch: its number.
        token: what tells it from another one of that number.
    """
    found = list(rows)
    width = len(_COLUMNS)
    columns: dict[str, Any] = dict(zip(_COLUMNS, zip(*(row[:width] for row in found), strict=True), strict=True))
    columns |= {"source": [source] * len(found), "batch": [batch] * len(found), "token": [token] * len(found)}
    for name in _ENTRY:
        if name not in columns:
            values = [row.entry.get(name) for row in found]
            columns[name] = [value if isinstance(value, str) else None for value in values]
    columns["http_status"] = [_number(row.entry.get("http_status")) for row in found]
    order = schema()
    arrays = [Array(columns[name], type=order.field(name).type) for name in order.names]
    return Table.from_arrays(arrays, schema=order)


def from_batches(batches: Iterable[Any]) -> list[Row]:
    """Return the rows of some Arrow batches with the columns of `READ`."""
    width = len(_COLUMNS)
    names = READ[width:]
    found: list[Row] = []
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in READ]
        entries = [dict(zip(names, values, strict=True)) for values in zip(*columns[width:], strict=True)]
        found += map(Row, *columns[:width], entries)
    return found


def check(row: Row) -> None:
    """Check the content of a row that others wrote.

    Raises:
        StoreError: it is not what its hash says, or larger than a file may be.
    """
    if row.content is None:
        return
    if len(row.content) > inside.LARGEST or hashlib.sha256(row.content).hexdigest() != row.sha256:
        raise StoreError(f"{str(row.file)[:300]!r} is not what its hash says")


def _plain(entry: dict[str, Any]) -> dict[str, Any]:
    """Return what Arrow takes of a line: no text with half of a surrogate pair."""
    return {name: value for name, value in entry.items() if not isinstance(value, str) or lines.is_text(value)}


def _text(value: Any) -> str | None:
    return value if lines.is_text(value) else None


def _number(value: Any) -> int | None:
    is_number = isinstance(value, int) and not isinstance(value, bool) and -_LARGEST_NUMBER <= value < _LARGEST_NUMBER
    return value if is_number else None
