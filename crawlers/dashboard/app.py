"""The app: which address is whose page, and what becomes of what goes wrong."""

from __future__ import annotations

import logging
import sqlite3
from functools import partial
from typing import TYPE_CHECKING

from flask import Flask, Response
from werkzeug.exceptions import HTTPException, InternalServerError

from crawlers.dashboard import guard
from crawlers.dashboard.pages import dataset, errors, home, run, runs, search, source
from crawlers.dashboard.site import Site
from crawlers.exceptions import IndexUnreadableError
from crawlers.index.current import sources_in
from crawlers.locks import is_crawled
from crawlers.safety.logs import Redact

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from werkzeug.sansio.response import Response as AnyResponse

_PAGES: dict[str, Callable[..., AnyResponse | str]] = {
    "/": home.page,
    "/search": search.page,
    "/sources/<source>": source.page,
    "/sources/<source>/datasets": dataset.by_query,
    "/sources/<source>/datasets/<path:dataset_id>": dataset.page,
    "/runs": runs.page,
    "/runs/<source>/<name>": run.page,
    "/errors": errors.page,
}
_TITLES = {404: "Nothing here", 500: "This page could not be made"}
_SENTENCES = {
    404: "There is no such page. It may be of a source or a dataset that is gone.",
    500: "It is a mistake of the dashboard's, not yours: what it says is where you started it. The other pages go on.",
}


def app(output: Path, *, jobs: Path | None = None, logs: Path | None = None) -> Flask:
    """A WSGI app that shows what OUTPUT_DIR holds, and changes nothing in it.

    Args:
        output: OUTPUT_DIR.
        jobs: JOBS_DIR, for the runs that a harvest has queued.
        logs: LOGS_DIR; without it no log is shown.
    """
    made = Flask("crawlers.dashboard", static_folder=None)
    made.url_map.merge_slashes = False  # ids have slashes of their own
    site = made.extensions["site"] = Site(output, jobs, logs)
    made.before_request(guard.only_reading)
    made.after_request(guard.headers)
    for rule, page in _PAGES.items():
        made.add_url_rule(rule, rule, partial(page, site), methods=["GET"], provide_automatic_options=False)
    made.add_url_rule("/healthz", "healthz", _healthz, methods=["GET"], provide_automatic_options=False)
    made.register_error_handler(HTTPException, partial(_refused, site))
    made.register_error_handler(IndexUnreadableError, partial(_no_index, site))
    made.register_error_handler(sqlite3.DatabaseError, partial(_broken_index, site))
    logging.getLogger("crawlers.dashboard").addFilter(Redact())  # Flask logs there; paths are whatever was asked for
    return made


def _healthz() -> Response:
    return Response("ok\n", mimetype="text/plain")


def _refused(site: Site, error: HTTPException) -> AnyResponse:
    """404, 405, 500 ... in the dashboard's own style."""
    if error.response is not None:
        return error.response
    code = error.code or InternalServerError.code
    own = error.description if error.description != type(error).description else None
    sentence = own or _SENTENCES.get(code) or error.description
    answer = error.get_response()
    answer.data = _message(site, _TITLES.get(code, error.name), str(sentence))
    answer.content_type = "text/html; charset=utf-8"
    return answer


def _no_index(site: Site, error: IndexUnreadableError) -> tuple[str, int]:
    names = sources_in(site.output)
    held = {path.name for path in site.output.glob("*") if path.is_dir() and is_crawled(path)}
    if held and held.issuperset(names):
        sentence = "The first crawl has begun: what it finds is shown here once its index is made."
        return _message(site, "Nothing to show yet", sentence), 200
    if (site.output / "index.sqlite").exists():
        return _message(site, "The index can't be read", str(error)), 503
    if not names:
        return _message(site, "Nothing to show yet", str(error)), 200
    found = "a source" if len(names) == 1 else f"{len(names)} sources"
    sentence = f"{site.output} has {found}, but no index.sqlite: `scrapy reindex` makes it anew."
    return _message(site, "The index is missing", sentence), 503


def _broken_index(site: Site, error: sqlite3.DatabaseError) -> tuple[str, int]:
    sentence = f"index.sqlite can't be read ({error}): try again, or make it anew with `scrapy reindex`."
    return _message(site, "The index can't be read", sentence), 503


def _message(site: Site, title: str, sentence: str) -> str:
    return site.render("message.html", title=title, sentence=sentence)
