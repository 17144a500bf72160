"""A portal or an extension: its document, what is known of it over time, and the days on which that changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flask import abort, redirect, request

from crawlers.operate.dashboard import addresses
from crawlers.operate.dashboard.pages.dataset import read
from crawlers.safety import inside, strict_json
from crawlers.safety.redact import one_line
from crawlers.store.figures.ecosystem import KINDS
from crawlers.store.figures.series import profile_charts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from werkzeug.wrappers import Response

    from crawlers.operate.dashboard.site import Site

_DOCUMENT = "SELECT * FROM documents WHERE source = ? AND kind = ? AND dataset_id = ?"
_LARGEST = 1024 * 1024  # bytes
_FIELDS = 80
_LONGEST = 300


def page(site: Site, source: str, profile_id: str) -> str:
    """Return the page of a profile."""
    with site.index() as db:
        rows = (db.execute(_DOCUMENT, (source, kind, profile_id)).fetchone() for kind in KINDS)
        row = next(filter(None, rows), None) or abort(404, f"There is no profile {profile_id} of {source} here.")
        series = profile_charts(db, source, profile_id)
    document = _document(site.output / source, row["file"])
    return site.render(
        "profile.html",
        page="sources",
        row=row,
        name=document.get("title") or document.get("name") or profile_id,
        fields=list(_fields(document)),
        series=series,
        document=read(site.output / source, row["file"]),
    )


def by_query(site: Site, source: str) -> str | Response:
    """Return the page of a profile whose id cannot be part of a path; without an id, that of the source."""
    profile_id = request.args.get("id")
    return redirect(addresses.source(source)) if profile_id is None else page(site, source, profile_id)


def _document(folder: Path, file: str) -> dict[str, Any]:
    try:
        found = strict_json.loads(inside.read(folder, file, _LARGEST))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _fields(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
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
