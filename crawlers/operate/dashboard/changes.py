"""What changed: of a day, a source or a publisher; a dataset's versions and what differs between two; as Atom feeds."""

from __future__ import annotations

import io
from datetime import date
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from flask import Response, abort, redirect, request

from crawlers.exceptions import with_command
from crawlers.operate import atom
from crawlers.operate.dashboard import addresses
from crawlers.operate.dashboard.addresses import Paging, some
from crawlers.operate.dashboard.api import check
from crawlers.operate.report.difference import as_html
from crawlers.safety.redact import one_line
from crawlers.store import history
from crawlers.store.difference import difference
from crawlers.store.figures import changes as figures
from crawlers.store.figures.changes import Kept, Wanted
from crawlers.store.figures.formatting import resource_name
from crawlers.store.figures.overview import STATUSES

if TYPE_CHECKING:
    import sqlite3

    from markupsafe import Markup
    from werkzeug.wrappers import Response as AnyResponse

    from crawlers.operate.dashboard.site import Site
    from crawlers.store.figures.changes import Row
    from crawlers.store.history import Bodies, Version
    from crawlers.store.index.known import Key

FEED = "/changes.atom"
_ON_A_PAGE = 50
_DAYS = 14
_ENTRIES = 30  # of a feed
_OPTIONS = 1_000  # versions that can be chosen
_LARGEST = 8 * 1024 * 1024  # bytes of a version that a page compares
_RESOURCES = """
    SELECT resource_id, title, url, coalesce(format, media_type) FROM resources
    WHERE source = ? AND dataset_id = ? LIMIT 1000
"""
_DATASET = "SELECT title, name, publisher FROM datasets WHERE source = ? AND dataset_id = ?"


# What changed


def changes(site: Site) -> str:
    """Return the page of the changes: the latest, or those of a day."""
    words = {name: addresses.text(request.args, name) for name in ("source", "publisher", "status", "day")}
    day, number = _day(words["day"]), addresses.page_number(request.args)
    since, until = (f"{day}T00:00:00.000Z", f"{day}T23:59:59.999Z") if day else ("", "")
    wanted = Wanted(words["source"], words["publisher"], "", words["status"], since, until)
    with site.index() as db:
        sources = site.sources(db)
        days = site.remembered.get(("days", wanted.source), partial(figures.days, db, wanted.source))
        rows, more = some(figures.changes(db, site.output, wanted), number, _ON_A_PAGE)
    chosen = {name: words[name] for name in ("source", "publisher", "status")}
    return site.render(
        "changes.html",
        page="changes",
        words=words | {"day": str(day or "")},
        sources=sources,
        statuses=STATUSES,
        rows=rows,
        days=dict(islice(days.items(), _DAYS)) if not day and not wanted.publisher else {},
        near=_near(days, str(day)) if day and not wanted.publisher else (None, None),
        feed=feed_of(**chosen),
        csv=addresses.here("/changes.csv", **chosen, since=since, until=until),
        paging=Paging("/changes", words | {"day": str(day or "")}, number, more),
    )


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _near(days: dict[str, Any], day: str) -> tuple[str | None, str | None]:
    """Return the day with changes that is before a day, and the one after it."""
    return max((one for one in days if one < day), default=None), min((one for one in days if one > day), default=None)


def latest(db: sqlite3.Connection, site: Site, source: str, dataset_id: str, most: int) -> list[Row]:
    """Return the latest changes of a dataset, each with ``bytes``, its size, if that is known without the manifest."""
    with Kept(site.output) as kept:
        found = islice(figures.changes(db, site.output, Wanted(source, dataset_id=dataset_id)), most)
        return [change | {"bytes": kept.size(db, change)} for change in found]


# A dataset's versions


def versions(site: Site, source: str, dataset_id: str | None = None) -> str | AnyResponse:
    """Return the page of a dataset's versions, and of what differs between two; an id may be in the query."""
    dataset_id = request.args.get("id") if dataset_id is None else dataset_id
    if dataset_id is None:
        return redirect(addresses.source(source))
    with site.index() as db:
        check(source, site.sources(db))
        about = db.execute(_DATASET, (source, dataset_id)).fetchone()
        names = {row[0]: resource_name(*row[1:]) for row in db.execute(_RESOURCES, (source, dataset_id))}
    documents: dict[Key, list[Version]] = {}
    for version in history.of_id(site.output / source, dataset_id):
        documents.setdefault(version.key, []).append(version)
    if not documents:
        abort(404, f"There is no dataset {one_line(dataset_id, 100)!r} of {source} here.")
    asked = (request.args.get("kind", "dataset"), dataset_id, request.args.get("resource", ""))
    key = asked if asked in documents else next(iter(documents))
    own, number = documents[key], addresses.page_number(request.args)
    words = {} if key == next(iter(documents)) else {"kind": key[0], "resource": key[2]}
    with history.Bodies(site.output / source) as bodies:
        shown, more = some(reversed(own), number, _ON_A_PAGE)
        rows = [_row(bodies, source, version) for version in shown]
        pair = _chosen(site, source, own)
        sentence, html = _compared(bodies, *pair)
    path, _, query = addresses.versions(source, dataset_id).partition("?")
    return site.render(
        "versions.html",
        page="sources",
        source=source,
        dataset_id=dataset_id,
        title=(about and (about["title"] or about["name"])) or dataset_id,
        has_page=bool(about),
        documents=list(documents) if len(documents) > 1 else [],
        key=key,
        names=names,
        words=words,
        path=path,
        hidden={"id": dataset_id} | words if query else words,
        rows=rows,
        options=_options(own, pair),
        pair=pair,
        sentence=sentence,
        difference=html,
        feed=feed_of(source=source, id=dataset_id) if key[0] == "dataset" else None,
        paging=Paging(path, ({"id": dataset_id} if query else {}) | words, number, more),
    )


def _options(own: list[Version], pair: tuple[Version | None, ...]) -> list[tuple[str, str]]:
    """Return the time and the status of the versions that can be chosen, the newest first: the latest, and the pair."""
    some = (*reversed(own[-_OPTIONS:]), *(version for version in pair if version))
    return list(dict.fromkeys((version.time, version.status) for version in some))


def _row(bodies: Bodies, source: str, version: Version) -> Row:
    known = version.known
    href = addresses.version(source, version.key[1], known.sha256) if bodies.has(version) else None
    more = {"bytes": known.bytes, "fields": bodies.fields(version), "href": href, "reason": version.reason}
    return {"time": version.time, "status": version.status, "run": version.run} | more


def _chosen(site: Site, source: str, own: list[Version]) -> tuple[Version | None, Version | None]:
    """Return the two versions that are compared: those of the moments ``from`` and ``to``, or the last that differ."""
    given = [addresses.text(request.args, name) for name in ("from", "to")]
    until = site.until(given[1], source) or "9"
    after = history.last_at(own, until)
    if since := site.since(given[0], source):
        return history.last_at(own, since), after
    earlier = own[: own.index(after)] if after else []
    return (after and history.other_before(own, after)) or (earlier[-1] if earlier else None), after


def _compared(bodies: Bodies, before: Version | None, after: Version | None) -> tuple[str | None, Markup | None]:
    """Return what differs between two versions, or a sentence that says why that is not shown."""
    pair = [version for version in (before, after) if version]
    if any(version.known.bytes > _LARGEST for version in pair):
        return with_command("They are too large to be compared on a page: use `scrapy diff`."), None
    for version in pair:
        if not bodies.has(version):
            return f"The bytes of the version of {version.time} are not kept.", None
    one, other = (bodies.body(version) if version else None for version in (before, after))
    items = (bodies.item(version) if version else None for version in (before, after))
    return None, as_html(difference(one, other, *items))


# Feeds


def feed_of(**words: str) -> tuple[str, str]:
    """Return the title of a feed, and its address."""
    of = words.get("publisher") or words.get("source") or "all sources"
    title = f"Changes of {'this dataset' if words.get('id') else of}"
    return title, addresses.here(FEED, **words)


def feed(site: Site) -> Response:
    """Return the latest changes as Atom: of all sources, or of a source, a publisher or a dataset."""
    words = {name: addresses.text(request.args, name) for name in ("source", "publisher", "status")}
    words["id"] = request.args.get("id", "")
    url = site.url or request.host_url.rstrip("/")
    body = site.remembered.get(("feed", url, *words.values()), partial(_feed, site, words, url))
    return site.conditional(Response(body, mimetype=atom.TYPE))


def _feed(site: Site, words: dict[str, str], url: str) -> bytes:
    wanted = Wanted(words["source"], words["publisher"], words["id"], words["status"])
    file = io.BytesIO()
    with site.index() as db, Kept(site.output) as kept:
        if wanted.source or wanted.dataset_id:
            check(wanted.source, site.sources(db))
        rows = list(islice(figures.changes(db, site.output, wanted, has_about=True), _ENTRIES))
        title, page = _about(wanted, rows)
        here = url + addresses.here(FEED, **words)
        of = [text for name, value in words.items() if value for text in (name, value)]
        said = atom.Feed(of or ["all"], title, rows[0]["time"] if rows else None, here, url + page)
        atom.write(file, said, (_entry(db, kept, row, url) for row in rows))
    return file.getvalue()


def _about(wanted: Wanted, rows: list[Row]) -> tuple[str, str]:
    """Return the title of a feed and the path of the page that shows the same."""
    which = f" that are {wanted.status}" if wanted.status else ""
    if wanted.dataset_id:
        if not rows and not wanted.status:
            abort(404, f"There is no dataset {one_line(wanted.dataset_id, 100)!r} of {wanted.source} here.")
        title = next((row["title"] for row in rows if row["title"]), wanted.dataset_id)
        return f"{title}: changes{which}", addresses.versions(wanted.source, wanted.dataset_id)
    of = " of ".join(filter(None, (wanted.publisher, wanted.source))) or "all sources"
    given = {"source": wanted.source, "publisher": wanted.publisher, "status": wanted.status}
    return f"Changes of {of}{which}", addresses.here("/changes", **given)


def _entry(db: sqlite3.Connection, kept: Kept, row: Row, url: str) -> atom.Entry:
    return atom.entry_of(db, kept, row, url + addresses.versions(row["source"], row["dataset_id"], to=row["time"]))
