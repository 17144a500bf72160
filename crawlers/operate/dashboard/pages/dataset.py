"""A dataset: its metadata, its resources, its files on disk and its history."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flask import abort, redirect, request
from markupsafe import Markup, escape

from crawlers.fields import specs
from crawlers.items import Dataset
from crawlers.operate.dashboard import addresses
from crawlers.operate.report.text import inert
from crawlers.safety import inside
from crawlers.safety.redact import writable
from crawlers.store.index.columns import FORMS, LISTS

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

    from werkzeug.wrappers import Response

    from crawlers.operate.dashboard.site import Site


MOST = 200_000  # bytes


@dataclass(frozen=True, slots=True)
class Document:
    """The beginning of a document on disk.

    Args:
        text: escaped; no line can affect the rest of a page.
        bytes: the size of the whole file.
    """

    text: Markup
    bytes: int

    @property
    def cut(self) -> bool:
        """Whether the text is only the beginning of the file."""
        return self.bytes > MOST


def read(folder: Path, file: str) -> Document | None:
    """Return a file of a source's folder; ``None`` if it does not exist, is unreadable, or is not below that folder."""
    try:
        with inside.opened(folder, file) as opened:
            body = writable(opened.read(MOST))
            size = os.fstat(opened.fileno()).st_size
    except OSError:
        return None
    return Document(lines(body.decode("utf-8", "replace")), size)


def lines(text: str) -> Markup:
    r"""Return a text for a page: escaped, line by line.

    >>> lines('{\n  "title": "<b>\u202e"\n}')
    Markup('{\n  &#34;title&#34;: &#34;&lt;b&gt;&#34;\n}')
    """
    return Markup("\n").join(escape(inert(line)) for line in text.split("\n"))


_DATASET = "SELECT * FROM datasets WHERE source = ? AND dataset_id = ?"
_RESOURCES = "SELECT * FROM resources WHERE source = ? AND dataset_id = ? ORDER BY position LIMIT 500"
_CHANGES = "SELECT * FROM changes WHERE source = ? AND dataset_id = ? ORDER BY time DESC LIMIT 500"
_DOCUMENTS = "SELECT * FROM documents WHERE source = ? AND dataset_id = ? AND kind = ? LIMIT 500"
_LOOKS = """
    SELECT * FROM captures
    WHERE source = 'archive-of-' || ? AND dataset_id = ? AND (is_last OR state NOT IN ('unchanged', 'alive'))
    ORDER BY resource_id, url, time DESC LIMIT 500
"""
_SHOWN = 4000  # characters of a description; the document has all of it
_KINDS = ("dataset", "dataset_metadata", "resource_metadata")
_HEADING = ("title", "description", "publisher")
_IDS = ("name", "identifier", "uri")
"""These are shown last."""
_OTHERS = """
    SELECT source, dataset_id, title FROM datasets
    WHERE source <> :source AND NOT withdrawn AND (lower(trim(title)) = lower(trim(:title))
        OR uri = :uri OR identifier = :identifier OR landing_page = :landing_page)
    LIMIT 20
"""


def page(site: Site, source: str, dataset_id: str) -> str:
    """Return the page of a dataset."""
    with site.index() as db:
        found = db.execute(_DATASET, (source, dataset_id)).fetchone()
        if not found:
            abort(404, f"There is no dataset {dataset_id} of {source} here.")
        row = dict(found)
        known: dict[str, Any] = {
            "resources": [_resource(dict(one)) for one in db.execute(_RESOURCES, (source, dataset_id))],
            "changes": db.execute(_CHANGES, (source, dataset_id)).fetchall(),
            "documents": _documents(db, source, dataset_id),
            "looks": [dict(look) for look in db.execute(_LOOKS, (source, dataset_id))],
            "others": db.execute(_OTHERS, row).fetchall(),
        }
    row |= {name: _listed(row[name]) for name in LISTS}
    known |= {
        "fields": list(_fields(row)),
        "paragraphs": _paragraphs(row["description"]),
        "document": read(site.output / source, row["file"]),
    }
    return site.render("dataset.html", page="sources", dataset=row, **known)


def _fields(row: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield what the page says of a dataset besides its heading: the label, the kind and the value of each field."""
    found = {field: spec for field, spec in specs(Dataset).items() if "index" not in spec.without}
    for field in sorted(found.keys() - _HEADING, key=lambda field: (field in _IDS, list(found).index(field))):
        spec = found[field]
        values = [row[f"{spec.one or field}{end}"] for end, *_ in FORMS[spec.kind]]
        if spec.kind == "agents":  # the first name and the first address may be of two
            yield from zip((spec.title(field), f"{spec.title(field)}’s mail"), ("text", "text"), values, strict=True)
        else:
            yield spec.title(field), spec.kind, values if len(values) > 1 else values[0]


def by_query(site: Site, source: str) -> str | Response:
    """Return the page of a dataset whose id cannot be part of a path; without an id, all datasets of the source."""
    dataset_id = request.args.get("id")
    if dataset_id is None:
        return redirect(addresses.here("/search", source=source))
    return page(site, source, dataset_id)


def _documents(db: sqlite3.Connection, source: str, dataset_id: str) -> list[Any]:
    """Return the documents by kind: so the database finds them without reading all of them."""
    return [row for kind in _KINDS for row in db.execute(_DOCUMENTS, (source, dataset_id, kind))]


def _resource(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"services": _listed(row["services"])}


def _paragraphs(description: str | None) -> list[str]:
    """Return the paragraphs of the beginning of a description."""
    lines = (line.strip() for line in (description or "")[:_SHOWN].splitlines())
    return [line for line in lines if line]


def _listed(value: str | None) -> list[str]:
    """Return a list's texts; a place is its name, or its code, or that it has an outline; a relation
    or a service its title and its address.

    >>> _listed('["flood", {"name": "Kenya", "code": "KEN"}, {"geometry": "Polygon"}]'), _listed(None)
    (['flood', 'Kenya (KEN)', 'an outline (Polygon)'], [])
    >>> _listed('[{"role": "inSeries", "title": "Censuses", "uri": "https://a.org/1"}]')
    ['inSeries: Censuses (https://a.org/1)']
    """
    try:
        found = json.loads(value or "[]")
    except ValueError:
        return []
    return [text for entry in found if (text := _text(entry))] if isinstance(found, list) else []


def _text(value: Any) -> str:
    if not isinstance(value, dict):
        return str(value)
    address = value.get("uri") or value.get("url")
    name, code = value.get("name") or value.get("title"), value.get("code")
    code = code or (address if "title" in value else None)
    outline = f"an outline ({value['geometry']})" if value.get("geometry") else ""
    text = f"{name} ({code})" if name and code else str(name or code or address or outline)
    return f"{value['role']}: {text}" if "role" in value else text
