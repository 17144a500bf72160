"""The datasets that have some words, or else the latest; and all that is known of a dataset, or of a profile."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flask import abort, redirect, request
from markupsafe import Markup, escape

from crawlers.fields import specs
from crawlers.items import Dataset
from crawlers.operate.dashboard import addresses
from crawlers.operate.dashboard.addresses import Paging
from crawlers.operate.dashboard.changes import feed_of, latest
from crawlers.operate.report.report import inert
from crawlers.records.markup import SHOWN, as_html
from crawlers.safety import inside, strict_json
from crawlers.safety.redact import one_line, writable
from crawlers.store.figures.ecosystem import KINDS
from crawlers.store.figures.formatting import counted
from crawlers.store.figures.quality import assessment
from crawlers.store.figures.series import profile_charts
from crawlers.store.index.columns import FORMS, LISTS
from crawlers.store.index.search import UNSPACED, newest, search

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from werkzeug.wrappers import Response

    from crawlers.operate.dashboard.site import Site
    from crawlers.store.index.search import Found


_WORD = re.compile(rf"[{UNSPACED}]+|[^\W{UNSPACED}]+")
_INNER = re.compile(f"[{UNSPACED}]")
_LONGEST_WORD = 100  # characters of a word


def marked(text: str, query: str) -> list[tuple[str, bool]]:
    """Return the parts of a text in order, each with whether a word of the query begins it.

    >>> marked("Extent of the floods", "flood*")
    [('Extent of the ', False), ('floods', True)]
    >>> marked("Río Grande", "rio")
    [('Río', True), (' Grande', False)]
    >>> marked("2024年洪水数据", "数据")
    [('2024年洪水', False), ('数据', True)]
    """
    sought = [word for word in _WORD.findall(query) if len(word) <= _LONGEST_WORD]
    inner = re.compile("|".join(map(re.escape, filter(_INNER.match, sought))) or "(?!)")
    begun = tuple(_folded(word) for word in sought if not _INNER.match(word))
    parts, at = [], 0
    for word in _WORD.finditer(text):
        spans = [(word.start(), word.end())] if begun and _folded(word[0]).startswith(begun) else []
        spans += [found.span() for found in inner.finditer(text, *word.span())]
        for start, end in spans:
            parts += [(text[at:start], False), (text[start:end], True)]
            at = end
    return [part for part in (*parts, (text[at:], False)) if part[0]]


def _folded(word: str) -> str:
    bare = unicodedata.normalize("NFKD", word)
    return "".join(letter for letter in bare if not unicodedata.combining(letter)).casefold()


_FOUND = 20
_FOUND_DATASET = """
    SELECT source, dataset_id, title, name, description, publisher, formats, license, withdrawn,
        coalesce(data_modified, modified, issued) AS modified
    FROM datasets WHERE source = ? AND dataset_id = ?
"""


def search_results(site: Site) -> str:
    """Return the page of a search."""
    query, source = addresses.text(request.args, "q"), addresses.text(request.args, "source")
    number = addresses.page_number(request.args)
    with site.index() as db:
        sources = site.sources(db)
        wanted: dict[str, Any] = {"source": source or None, "limit": _FOUND, "offset": (number - 1) * _FOUND}
        matches = search(db, query, **wanted) if query else newest(db, **wanted)
        rows = [_found_row(db, one, query) for one in matches.rows]
    return site.render(
        "search.html",
        page="search",
        query=query,
        source=source,
        sources=sources,
        rows=rows,
        first=(number - 1) * _FOUND + 1,
        total=f"{counted(matches.total, 'dataset')}{'' if query else ', newest first'}",
        paging=Paging("/search", {"q": query, "source": source}, number, matches.total > number * _FOUND),
    )


def _found_row(db: sqlite3.Connection, found: Found, query: str) -> dict[str, Any]:
    row = dict(db.execute(_FOUND_DATASET, (found.source, found.dataset_id)).fetchone())
    row["formats"] = [str(name)[:20] for name in found.formats[:8]]
    row["about"] = marked(found.snippet, query)
    return row


_MOST = 200_000  # bytes


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
        return self.bytes > _MOST


def document(folder: Path, file: str) -> Document | None:
    """Return a file of a source's folder; ``None`` if it does not exist, is unreadable, or is not below that folder."""
    try:
        with inside.opened(folder, file) as opened:
            body = writable(opened.read(_MOST))
            size = os.fstat(opened.fileno()).st_size
    except OSError:
        return None
    return Document(_lines(body.decode("utf-8", "replace")), size)


def _lines(text: str) -> Markup:
    r"""Return a text for a page: escaped, line by line.

    >>> _lines('{\n  "title": "<b>\u202e"\n}')
    Markup('{\n  &#34;title&#34;: &#34;&lt;b&gt;&#34;\n}')
    """
    return Markup("\n").join(escape(inert(line)) for line in text.split("\n"))


_DATASET = "SELECT * FROM datasets WHERE source = ? AND dataset_id = ?"
_RESOURCES = "SELECT * FROM resources WHERE source = ? AND dataset_id = ? ORDER BY position LIMIT 500"
_CHANGES = 20
_DOCUMENTS = "SELECT * FROM documents WHERE source = ? AND dataset_id = ? AND kind = ? LIMIT 500"
_LOOKS = """
    SELECT * FROM captures
    WHERE source = 'archive-of-' || ? AND dataset_id = ? AND (is_last OR state NOT IN ('unchanged', 'alive'))
    ORDER BY resource_id, url, time DESC LIMIT 500
"""
_DOCUMENT_KINDS = ("dataset", "dataset_metadata", "resource_metadata")
_HEADING = ("title", "description", "publisher")
_IDS = ("name", "identifier", "uri")
"""These are shown last."""
_OTHERS = """
    SELECT source, dataset_id, coalesce(title, name) AS title FROM datasets
    WHERE source <> :source AND NOT withdrawn AND (lower(trim(title)) = lower(trim(:title))
        OR uri = :uri OR identifier = :identifier OR landing_page = :landing_page)
    LIMIT 20
"""


def dataset(site: Site, source: str, dataset_id: str | None = None) -> str | Response:
    """Return the page of a dataset; an id that can't be part of a path is in the query. Without an id: all datasets."""
    dataset_id = request.args.get("id") if dataset_id is None else dataset_id
    if dataset_id is None:
        return redirect(addresses.here("/search", source=source))
    with site.index() as db:
        found = db.execute(_DATASET, (source, dataset_id)).fetchone()
        if not found:
            abort(404, f"There is no dataset {dataset_id} of {source} here.")
        row = dict(found)
        known: dict[str, Any] = {
            "resources": [_resource(dict(one)) for one in db.execute(_RESOURCES, (source, dataset_id))],
            "changes": latest(db, site, source, dataset_id, _CHANGES),
            "documents": _documents(db, source, dataset_id),
            "looks": [dict(look) for look in db.execute(_LOOKS, (source, dataset_id))],
            "others": db.execute(_OTHERS, row).fetchall(),
            "quality": assessment(db, source, dataset_id),
        }
    row |= {name: _listed(row[name]) for name in LISTS}
    known |= {
        "fields": list(_fields(row)),
        "description": Markup(as_html(inert(row["description"] or ""))),  # noqa: S704 -- it is cleaned
        "is_longer": len(row["description"] or "") > SHOWN,
        "document": document(site.output / source, row["file"]),
        "feed": feed_of(source=source, id=dataset_id),
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


def _documents(db: sqlite3.Connection, source: str, dataset_id: str) -> list[Any]:
    """Return the documents by kind: so the database finds them without reading all of them."""
    return [row for kind in _DOCUMENT_KINDS for row in db.execute(_DOCUMENTS, (source, dataset_id, kind))]


def _resource(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"services": _listed(row["services"])}


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
    return [text for entry in found if (text := _said(entry))] if isinstance(found, list) else []


def _said(value: Any) -> str:
    if not isinstance(value, dict):
        return str(value)
    address = value.get("uri") or value.get("url")
    name, code = value.get("name") or value.get("title"), value.get("code")
    code = code or (address if "title" in value else None)
    outline = f"an outline ({value['geometry']})" if value.get("geometry") else ""
    text = f"{name} ({code})" if name and code else str(name or code or address or outline)
    return f"{value['role']}: {text}" if "role" in value else text


_PROFILE = "SELECT * FROM documents WHERE source = ? AND kind = ? AND dataset_id = ?"
_LARGEST_PROFILE = 1024 * 1024  # bytes
_FIELDS = 80
_LONGEST = 300


def profile(site: Site, source: str, profile_id: str | None = None) -> str | Response:
    """Return the page of a profile, a portal or an extension; without an id, that of its source."""
    profile_id = request.args.get("id") if profile_id is None else profile_id
    if profile_id is None:
        return redirect(addresses.source(source))
    with site.index() as db:
        rows = (db.execute(_PROFILE, (source, kind, profile_id)).fetchone() for kind in KINDS)
        row = next(filter(None, rows), None) or abort(404, f"There is no profile {profile_id} of {source} here.")
        series = profile_charts(db, source, profile_id)
    fields = _profile(site.output / source, row["file"])
    return site.render(
        "profile.html",
        page="sources",
        row=row,
        name=fields.get("title") or fields.get("name") or profile_id,
        fields=list(_profile_fields(fields)),
        series=series,
        document=document(site.output / source, row["file"]),
    )


def _profile(folder: Path, file: str) -> dict[str, Any]:
    try:
        found = strict_json.loads(inside.read(folder, file, _LARGEST_PROFILE))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _profile_fields(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the fields of a document that have a value, or had one, with the day for which that is known."""
    earlier = document.get("last_known")
    last = earlier if isinstance(earlier, dict) else {}
    for name, value in list(document.items())[:_FIELDS]:
        known = last.get(name) if value is None else None
        if name == "last_known" or (value is None and not isinstance(known, dict)):
            continue
        shown, day = (known.get("value"), known.get("day")) if isinstance(known, dict) else (value, None)
        yield {"name": name.replace("_", " "), "value": _shown(shown), "day": one_line(day, 10)}


def _shown(value: Any) -> str:
    """
    >>> _shown(["dcat", "spatial"]), _shown(True), _shown({"a": 1})
    ('dcat, spatial', 'yes', '{...}')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return one_line(", ".join(_shown(one) for one in value[:_FIELDS]), 2 * _LONGEST)
    return "{...}" if isinstance(value, dict) else one_line(value, _LONGEST)
