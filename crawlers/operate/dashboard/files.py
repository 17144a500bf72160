"""The files that catalogues link: last copies, broken links by publisher and host, both as CSV; and the copies."""

from __future__ import annotations

import json
import re
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from flask import Response, abort, request
from werkzeug.wsgi import FileWrapper

from crawlers.exceptions import OutputError
from crawlers.operate.dashboard import addresses
from crawlers.operate.dashboard.addresses import Paging, some
from crawlers.operate.dashboard.tables import download
from crawlers.store.figures.files import Filter, broken_links, last_copies, write_csv
from crawlers.store.figures.files import files as figures
from crawlers.store.figures.formatting import natural

if TYPE_CHECKING:
    from crawlers.archive.blobs import Blobs
    from crawlers.operate.dashboard.site import Site


_ON_A_PAGE = 50
_BLOCK = 64 * 1024  # bytes
_CATALOGUES = "SELECT DISTINCT catalogue FROM (SELECT substr(source, 12) AS catalogue FROM captures_read)"


def files(site: Site) -> str:
    """Return the page of all files, or of those of a publisher or host."""
    words = _words()
    number, wanted = addresses.page_number(request.args), _wanted(words)
    with site.index() as db:
        catalogues = sorted((name for (name,) in db.execute(_CATALOGUES)), key=natural)
        known: dict[str, Any] = {"copies": list(last_copies(db, wanted))} if words["publisher"] or words["host"] else {}
        rows, more = some(broken_links(db, wanted), number, _ON_A_PAGE)
    return site.render(
        "links.html",
        page="files",
        words=words,
        catalogues=catalogues,
        files=site.remembered.get(("files", words["source"]), lambda: _figures(site, Filter(wanted.sources))),
        rows=rows,
        paging=Paging("/files", words, number, more),
        csv=addresses.here("/files.csv", **words),
        **known,
    )


def files_as_csv(site: Site) -> Response:
    """Return the last copies and broken links that the page shows, all of them, as a file to download."""
    with site.index() as db:
        return download(site, "broken-links.csv", write_csv(db, _wanted(_words())))


def _figures(site: Site, wanted: Filter) -> dict[str, Any] | None:
    with site.index() as db:
        return figures(db, wanted)


def _words() -> dict[str, str]:
    return {name: addresses.text(request.args, name) for name in ("source", "publisher", "host")}


def _wanted(words: dict[str, str]) -> Filter:
    return Filter(json.dumps([words["source"]]) if words["source"] else None, words["publisher"], words["host"])


_TIMESTAMP = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z", re.ASCII)
_NOT_IN_A_NAME = re.compile(r"[^\w.-]+", re.ASCII)
_HELD = """
    SELECT DISTINCT source, sha256, name, extension FROM captures
    WHERE resource_id = :resource AND kept_at >= :time AND kept_at < :time || '~' AND sha256 IS NOT NULL
    ORDER BY source, sha256
"""
_HEADERS = {
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Content-Type": "application/octet-stream",
}


def held_file(site: Site, timestamp: str, resource_id: str | None = None, name: str = "") -> Response:
    """Return a file of the archive, by the index's row of it, as a download: whole, or a range of it.

    Nothing of it is ever shown, whatever it says it is. What can't be part of a path is in the query.
    """
    if resource_id is None:
        resource_id, name = request.args.get("id", ""), addresses.text(request.args, "name")
    sha256 = _sha256(site, timestamp, resource_id, name)
    try:
        return _download(site.blobs(), sha256, name)
    except FileNotFoundError:
        abort(404, "The index knows this file, but the archive's store lacks it: see `scrapy archive verify`.")
    except (OutputError, OSError) as error:
        abort(503, f"The archive's store can't be read: {error}")


def _sha256(site: Site, timestamp: str, resource_id: str, name: str) -> str:
    found = _TIMESTAMP.fullmatch(timestamp)
    time = "{}-{}-{}T{}:{}:{}".format(*found.groups()) if found else ""
    with site.index() as db:
        rows: list[Any] = db.execute(_HELD, {"resource": resource_id, "time": time}).fetchall() if time else []
    named = (row for row in rows if addresses.file_name(row["name"], row["extension"]) == name)
    row = next(named, None)  # of several: a page may have given a resource several files at once
    return str(row["sha256"]) if row else abort(404, "The archive has no such file.")


def _download(blobs: Blobs, sha256: str, name: str) -> Response:
    blob = blobs.get(sha256)
    if blob is None:
        raise FileNotFoundError(sha256)
    answer = Response(headers=_HEADERS, direct_passthrough=True)
    answer.content_length = blob.bytes
    answer.set_etag(sha256)
    answer.headers["Content-Disposition"] = f'attachment; filename="{_NOT_IN_A_NAME.sub("_", name) or "file"}"'
    file = blobs.open(sha256)
    with ExitStack() as unused:
        unused.callback(file.close)
        answer.response = FileWrapper(file, _BLOCK)
        answer.make_conditional(request, accept_ranges=True, complete_length=blob.bytes)
        if request.method != "HEAD" and answer.status_code in (200, 206):
            unused.pop_all()  # the server closes it after the last block
        else:
            answer.response = ()
    return answer
