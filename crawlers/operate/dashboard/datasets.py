"""The datasets that have some words, or else the latest; and all that is known of a dataset, or of a profile."""

from __future__ import annotations

import io
import json
import os
import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flask import Response, abort, redirect, request
from markupsafe import Markup, escape

from crawlers.exceptions import SearchError
from crawlers.fields import specs
from crawlers.items import Dataset
from crawlers.operate import atom
from crawlers.operate.dashboard import addresses
from crawlers.operate.dashboard.addresses import Paging
from crawlers.operate.dashboard.api import search_of
from crawlers.operate.dashboard.changes import feed_of, latest
from crawlers.operate.dashboard.map import drawn
from crawlers.operate.report.report import inert
from crawlers.records.markup import SHOWN, as_html
from crawlers.safety import inside, strict_json
from crawlers.safety.redact import one_line, writable
from crawlers.store.figures.ecosystem import KINDS
from crawlers.store.figures.formatting import counted
from crawlers.store.figures.quality import assessment
from crawlers.store.figures.series import profile_charts
from crawlers.store.index.columns import FORMS, LISTS
from crawlers.store.index.documents import UNREADABLE, item, stored
from crawlers.store.index.facets import FACETS, said, written
from crawlers.store.index.search import SORTS, UNSPACED, Results, Search, mirrors

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from werkzeug.wrappers import Response as AnyResponse

    from crawlers.operate.dashboard.map import Map
    from crawlers.operate.dashboard.site import Site
    from crawlers.store.index.facets import Count
    from crawlers.store.index.known import Known


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
FEED = "/search.atom"
_ENTRIES = 30  # of a feed


def search_results(site: Site) -> str:
    """Return the page of a search."""
    words, number = _asked(), addresses.page_number(request.args)
    query, source = words["q"], words["source"]
    sort = next((name for name in SORTS if name == words["sort"]), SORTS[0])
    problem, asked = "", Search()
    try:
        asked = Search.read(query, source=source or None, sort=sort)
    except SearchError as error:
        problem = one_line(str(error), 600)
    with site.index() as db:
        sources = site.sources(db)
        wanted = {"limit": _FOUND, "offset": (number - 1) * _FOUND}
        found = Results() if problem else asked.answer(db, **wanted, with_facets=True)
    more = found.total > number * _FOUND and len(found.rows) == _FOUND
    return site.render(
        "search.html",
        page="search",
        query=query,
        source=source,
        sort=sort,
        sorts=SORTS,
        sources=sources,
        problem=problem,
        found=found,
        rows=[
            (one, marked(one.snippet, " ".join(asked.plain)) if query else [(one.snippet, False)]) for one in found.rows
        ],
        facets=[(FACETS[name].label, list(_choices(words, name, counts))) for name, counts in found.facets.items()],
        meant=addresses.here("/search", **words | {"q": found.meant}) if found.meant else "",
        first=(number - 1) * _FOUND + 1,
        total=f"{counted(found.total, 'dataset')}{'' if query or sort != 'relevance' else ', newest first'}",
        paging=Paging("/search", words, number, more),
        feed=(f"Datasets: {query}", addresses.here(FEED, **words)) if query else None,
        csv=addresses.here("/search.csv", **words),
    )


def _asked() -> dict[str, str]:
    return {name: addresses.text(request.args, name) for name in ("q", "source", "sort")}


def _choices(words: dict[str, str], facet: str, counts: list[Count]) -> Iterator[tuple[str, str, str, bool]]:
    """Yield the values of a facet: each with its count, the address of the search with it, or without, and which."""
    for value, count in counts:
        text, query = written(facet, value), f" {words['q']} "
        is_chosen = f" {text} " in query or (facet == "source" and value == words["source"])
        changed = {"q": (query.replace(f" {text} ", " ") if is_chosen else f"{query} {text}").strip()}
        changed |= {"source": ""} if facet == "source" and is_chosen else {}
        yield value, said(count), addresses.here("/search", **words | changed), is_chosen


def search_feed(site: Site) -> Response:
    """Return the datasets that a search finds as Atom, the ones that were modified last first."""
    words, file = _asked() | {"sort": "modified"}, io.BytesIO()
    url = site.url or request.host_url.rstrip("/")
    with site.index() as db:
        found = search_of(words["q"], source=words["source"] or None, sort="modified").answer(db, limit=_ENTRIES)
    of = ["search", words["q"], words["source"]]
    here, page = (url + addresses.here(path, **words) for path in (FEED, "/search"))
    said_ = atom.Feed(of, f"Datasets: {words['q']}", found.rows[0].modified if found.rows else None, here, page)
    pages = (url + addresses.dataset(one.source, one.dataset_id) for one in found.rows)
    atom.write(file, said_, map(atom.entry_of_found, found.rows, pages))
    return site.conditional(Response(file.getvalue(), mimetype=atom.TYPE))


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
_LARGEST_MAPPED = 2 * 1024 * 1024  # bytes of a document whose shapes are drawn
_HEADING = ("title", "description", "publisher")
_IDS = ("name", "identifier", "uri")
"""These are shown last."""


def dataset(site: Site, source: str, dataset_id: str | None = None) -> str | AnyResponse:
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
            "others": mirrors(db, row["id"]),
            "quality": assessment(db, source, dataset_id),
            "map": _map(site.output / source, dataset_id, stored(db, source, ("dataset", dataset_id, ""))),
        }
    row |= {name: _listed(row[name]) for name in LISTS}
    known |= {
        "fields": list(_fields(row)),
        "description": Markup(as_html(inert(row["description"] or ""))),  # noqa: S704 -- it is cleaned
        "is_longer": len(row["description"] or "") > SHOWN,
        "document": document(site.output / source, row["file"]),
        "feed": feed_of(source=source, id=dataset_id),
        "alike_href": lambda facet, value: addresses.here("/search", q=written(facet, value)),
    }
    return site.render("dataset.html", page="sources", dataset=row, **known)


def _map(folder: Path, dataset_id: str, known: Known | None) -> Map | None:
    """Return the map of a dataset whose document has shapes: of their thousands of corners the index has none."""
    if known is None or known.bytes > _LARGEST_MAPPED:
        return None
    try:
        places = item(folder, dataset_id, known).spatial
    except UNREADABLE:  # the page says so of the document
        return None
    return drawn(place.geometry for place in places if place.geometry)


def _fields(row: dict[str, Any]) -> Iterator[tuple[str, str, Any, str]]:
    """Yield what the page says besides its heading: the label, kind and value of each field, and the filter for it."""
    found = {field: spec for field, spec in specs(Dataset).items() if "index" not in spec.without}
    for field in sorted(found.keys() - _HEADING, key=lambda field: (field in _IDS, list(found).index(field))):
        spec = found[field]
        values = [row[f"{spec.one or field}{end}"] for end, *_ in FORMS[spec.kind]]
        if spec.kind == "agents":  # the first name and the first address may be of two
            labels = spec.title(field), f"{spec.title(field)}’s mail"
            yield from zip(labels, ("text", "text"), values, ("", ""), strict=True)
        else:
            facet = spec.facet if spec.kind != "places" else ""  # which are shown with their names
            yield spec.title(field), spec.kind, values if len(values) > 1 else values[0], facet


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


def profile(site: Site, source: str, profile_id: str | None = None) -> str | AnyResponse:
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
