"""A flat table, a row a dataset; no cell of it is a formula."""

from __future__ import annotations

import csv
import io
from typing import IO, TYPE_CHECKING

from crawlers.export.literals import plain
from crawlers.items import Dataset

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crawlers.items import Agent, Place

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_BETWEEN = " | "
_TEXTS = (
    *("source", "id", "identifier", "uri", "name", "title", "description", "landing_page", "issued", "modified"),
    *("version", "frequency", "access_rights", "rights", "provenance", "caveats", "data_modified"),
    *("metadata_source", "metadata_url", "retrieved"),
)
_LISTS = ("keywords", "themes", "languages", "conforms_to")


def write(datasets: Iterable[Dataset], output: IO[bytes]) -> None:
    """Write UTF-8, a header, lines ended by CR LF as RFC 4180 has it; the parts of a list are joined by " | ".

    On a terminal no cell has lines of its own: one could look like another dataset's.
    """
    shown = _one_line if output.isatty() else cell
    text = io.TextIOWrapper(output, encoding="utf-8", newline="")
    table = csv.writer(text)
    table.writerow(map(cell, COLUMNS))
    for dataset in datasets:
        table.writerow(map(shown, _row(dataset).values()))
    text.detach()  # flushed, and left open


def cell(value: str | None) -> str:
    """What a spreadsheet shows and does not run; it takes the line ends of a portal for its own.

    >>> cell("=HYPERLINK(1)"), cell("-1"), cell("a=b"), cell(None)
    ("'=HYPERLINK(1)", "'-1", 'a=b', '')
    """
    text = plain(value) or ""
    return f"'{text}" if text.startswith(_FORMULA) else text


def _one_line(value: str | None) -> str:
    return " ".join(cell(value).split())


def _row(one: Dataset) -> dict[str, str | None]:
    publisher, license_, period = one.publisher, one.license, one.temporal
    row = {name: getattr(one, name) for name in _TEXTS} | {name: _list(getattr(one, name)) for name in _LISTS}
    return row | {
        "publisher": _agent(publisher) if publisher else None,
        "contacts": _list(map(_agent, one.contacts)),
        "license": (license_.id or license_.title) if license_ else None,
        "license_uri": license_.uri if license_ else None,
        "temporal_start": period.start if period else None,
        "temporal_end": period.end if period else None,
        "spatial": _list(map(_place, one.spatial)),
        "resources": str(len(one.resources)),
        "formats": _list(resource.format for resource in one.resources),
        "urls": _list(resource.download_url or resource.access_url or resource.url for resource in one.resources),
    }


def _list(texts: Iterable[str | None]) -> str:
    return _BETWEEN.join(dict.fromkeys(filter(None, texts)))


def _agent(one: Agent) -> str | None:
    name = one.name or one.uri or one.url
    return f"{name} <{one.email}>" if name and one.email else name or one.email


def _place(one: Place) -> str | None:
    """A geometry is for maps: the other formats have it."""
    return one.name or one.code or one.uri


COLUMNS = tuple(_row(Dataset(source="", id="")))
