"""A file of the archive, as a download: nothing of it is ever shown, whatever it says it is."""

from __future__ import annotations

import re
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from flask import Response, abort, request
from werkzeug.wsgi import FileWrapper

from crawlers.exceptions import OutputError
from crawlers.operate.dashboard import addresses, parameters

if TYPE_CHECKING:
    from crawlers.archive.blobs import Blobs
    from crawlers.operate.dashboard.site import Site

_BLOCK = 64 * 1024  # bytes
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


def page(site: Site, timestamp: str, resource_id: str, name: str) -> Response:
    """Return the file that a resource had, by the index's row of it; whole, or a range of it."""
    sha256 = _sha256(site, timestamp, resource_id, name)
    try:
        return _download(site.blobs(), sha256, name)
    except FileNotFoundError:
        abort(404, "The index knows this file, but the archive's store lacks it: see `scrapy archive verify`.")
    except (OutputError, OSError) as error:
        abort(503, f"The archive's store can't be read: {error}")


def by_query(site: Site, timestamp: str) -> Response:
    """Return the same of a resource whose id can't be part of a path."""
    return page(site, timestamp, request.args.get("id", ""), parameters.text(request.args, "name"))


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
