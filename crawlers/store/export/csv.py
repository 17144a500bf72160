"""A flat table with a row for each dataset; no cell is a formula."""

from __future__ import annotations

import csv
import io
import re
from typing import IO, TYPE_CHECKING

from crawlers.items import Dataset
from crawlers.store.export.literals import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crawlers.items import Agent, Place

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_TURNS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_BETWEEN = " | "
_TEXTS = (
    *("source", "id", "identifier", "uri", "name", "title", "description", "landing_page", "issued", "modified"),
    *("version", "frequency", "access_rights", "rights", "provenance", "caveats", "data_modified"),
    *("type", "status", "version_notes", "country", "state", "city", "temporal_resolution"),
    *("metadata_source", "metadata_url", "retrieved"),
)
_LISTS = (
    *("keywords", "themes", "languages", "conforms_to", "documentation", "sample", "applicable_legislation"),
    "hvd_categories",
)


def write(datasets: Iterable[Dataset], output: IO[bytes]) -> None:
    """Write UTF-8 with a header, and lines that end with CR LF as in RFC 4180; the parts of a list are joined by " | ".

    On a terminal, no cell has line breaks: its second line could look like another dataset.
    """
    shown = _one_line if output.isatty() else cell
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


def _one_line(value: str | None) -> str:
    return " ".join(cell(value).split())


def _row(dataset: Dataset) -> dict[str, str | None]:
    publisher, license_, period = dataset.publisher, dataset.license, dataset.temporal
    row = {name: getattr(dataset, name) for name in _TEXTS} | {name: _list(getattr(dataset, name)) for name in _LISTS}
    return row | {
        "publisher": _agent(publisher) if publisher else None,
        "contacts": _list(map(_agent, dataset.contacts)),
        **_person("creator", dataset.creator),
        **_person("maintainer", dataset.maintainer),
        "license": (license_.id or license_.title) if license_ else None,
        "license_uri": license_.uri if license_ else None,
        "temporal_start": period.start if period else None,
        "temporal_end": period.end if period else None,
        "spatial": _list(map(_place, dataset.spatial)),
        "spatial_resolution": None if dataset.spatial_resolution is None else f"{dataset.spatial_resolution:g}",
        "relations": _list(f"{each.role}: {each.uri or each.title}" for each in dataset.relations),
        "resources": str(len(dataset.resources)),
        "formats": _list(resource.format for resource in dataset.resources),
        "urls": _list(resource.download_url or resource.access_url or resource.url for resource in dataset.resources),
        "access_services": _list(
            one.endpoint_url or one.uri for file in dataset.resources for one in file.access_services
        ),
        "availability": _list(resource.availability for resource in dataset.resources),
    }


def _list(texts: Iterable[str | None]) -> str:
    return _BETWEEN.join(dict.fromkeys(filter(None, texts)))


def _agent(agent: Agent) -> str | None:
    name = agent.name or agent.uri or agent.url
    return f"{name} <{agent.email}>" if name and agent.email else name or agent.email


def _person(role: str, agent: Agent | None) -> dict[str, str | None]:
    """Return a person's name and e-mail address, each in a column of its own."""
    return {role: (agent.name or agent.uri) if agent else None, f"{role}_email": agent.email if agent else None}


def _place(place: Place) -> str | None:
    """Return a place's name, code or IRI; a geometry is left to the other formats."""
    return place.name or place.code or place.uri


COLUMNS = tuple(_row(Dataset(source="", id="")))
