"""The files that catalogues link: last copies, broken links by publisher and host, and both as CSV."""

from __future__ import annotations

import json
from contextlib import ExitStack
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any

from flask import Response, request
from werkzeug.wsgi import FileWrapper

from crawlers.operate.dashboard import addresses, parameters
from crawlers.operate.dashboard.parameters import Paging, some
from crawlers.store.figures.files import Filter, broken_links, files, last_copies, write_csv
from crawlers.store.figures.formatting import natural

if TYPE_CHECKING:
    from crawlers.operate.dashboard.site import Site

_SIZE = 50
_IN_MEMORY = 1024 * 1024  # bytes of a file to download
_BLOCK = 64 * 1024
_CATALOGUES = "SELECT DISTINCT catalogue FROM (SELECT substr(source, 12) AS catalogue FROM captures_read)"


def page(site: Site) -> str:
    """Return the page of all files, or of those of a publisher or host."""
    words = _words()
    number, wanted = parameters.page(request.args), _wanted(words)
    with site.index() as db:
        catalogues = sorted((name for (name,) in db.execute(_CATALOGUES)), key=natural)
        known: dict[str, Any] = {"copies": list(last_copies(db, wanted))} if words["publisher"] or words["host"] else {}
        rows, more = some(broken_links(db, wanted), number, _SIZE)
    return site.render(
        "links.html",
        page="files",
        words=words,
        catalogues=catalogues,
        files=site.remembered.get(("files", words["source"]), lambda: _files(site, Filter(wanted.sources))),
        rows=rows,
        paging=Paging("/files", words, number, more),
        csv=addresses.here("/files.csv", **words),
        **known,
    )


def as_csv(site: Site) -> Response:
    """Return the last copies and broken links that the page shows, all of them, as a file to download.

    They are read before the first is sent: a slow browser would keep index.sqlite-wal from being emptied.
    """
    with ExitStack() as unsent:
        file = unsent.enter_context(SpooledTemporaryFile(_IN_MEMORY))
        with site.index() as db:
            file.writelines(write_csv(db, _wanted(_words())))
        file.seek(0)
        answer = Response(FileWrapper(file, _BLOCK), mimetype="text/csv", direct_passthrough=True)
        answer.headers["Content-Disposition"] = 'attachment; filename="broken-links.csv"'
        unsent.pop_all()  # the server closes it after the last block
    return answer


def _files(site: Site, wanted: Filter) -> dict[str, Any] | None:
    with site.index() as db:
        return files(db, wanted)


def _words() -> dict[str, str]:
    return {name: parameters.text(request.args, name) for name in ("source", "publisher", "host")}


def _wanted(words: dict[str, str]) -> Filter:
    return Filter(json.dumps([words["source"]]) if words["source"] else None, words["publisher"], words["host"])
