"""The WSGI app: which address is which page, who may read it, and how errors are shown."""

from __future__ import annotations

import logging
import re
import sqlite3
from functools import partial
from typing import TYPE_CHECKING

from flask import Flask, Response, request
from werkzeug.exceptions import BadRequest, HTTPException, InternalServerError, MethodNotAllowed

from crawlers.exceptions import FiguresError, IndexUnreadableError, OutputError, SourcesError, with_command
from crawlers.operate.dashboard import api, changes, datasets, files, quality, runs, sources, tables
from crawlers.operate.dashboard.schema import Error
from crawlers.operate.dashboard.site import Site
from crawlers.operate.report.report import SCRIPT
from crawlers.safety.locks import is_crawled
from crawlers.safety.logs import Redact
from crawlers.safety.redact import redact
from crawlers.store.index.index import sources_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from werkzeug.sansio.response import Response as AnyResponse

    from crawlers.archive.blobs import Blobs
    from crawlers.operate.dashboard.operators import Operators


METHODS = ("GET", "HEAD")
_HOST = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?", re.IGNORECASE)
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with none, browsers hide from us, too, which page has sent a form
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def check_request() -> None:
    """Refuse requests that are not for this host; and those that are not GET or HEAD, unless a form sends them.

    Raises:
        BadRequest: the request names another host, whose name may lead to this machine now
            (https://owasp.org/www-community/attacks/DNS_Rebinding).
        MethodNotAllowed: the method is not GET or HEAD.
    """
    if not _HOST.fullmatch(request.headers.get("Host", "")):
        raise BadRequest("The dashboard answers to http://127.0.0.1 and http://localhost only.")
    is_form = request.url_rule is not None and request.method in (request.url_rule.methods or ())
    if request.method not in METHODS and not is_form:
        raise MethodNotAllowed(METHODS, "The dashboard only shows: it takes GET and HEAD.")


def headers(response: Response) -> Response:
    """Add the headers that say what a browser may do with an answer."""
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def _script(_: Site) -> Response:
    return Response(SCRIPT, mimetype="text/javascript")


def _healthz(_: Site) -> Response:
    return Response("ok\n", mimetype="text/plain")


_PAGES: dict[str, Callable[..., AnyResponse | str]] = {
    "/": sources.home,
    "/search": datasets.search_results,
    datasets.FEED: datasets.search_feed,
    sources.NOW: sources.running,
    "/sources": sources.sources,
    "/sources/<source>": sources.source,
    "/sources/<source>/datasets": datasets.dataset,
    "/sources/<source>/datasets/<path:dataset_id>": datasets.dataset,
    "/sources/<source>/profiles": datasets.profile,
    "/sources/<source>/profiles/<path:profile_id>": datasets.profile,
    "/sources/<source>/versions": changes.versions,
    "/sources/<source>/versions/<path:dataset_id>": changes.versions,
    "/sources/<source>/quality": quality.source,
    "/quality": quality.sources,
    "/changes": changes.changes,
    changes.FEED: changes.feed,
    "/runs": runs.runs,
    "/runs/<source>/<name>": runs.run,
    "/errors": runs.errors,
    "/files": files.files,
    "/files.csv": files.files_as_csv,
    "/archive/<timestamp>": files.held_file,
    "/archive/<timestamp>/<path:resource_id>/<name>": files.held_file,
    "/tables.js": _script,
    "/healthz": _healthz,
}
_TITLES = {404: "Nothing here", 500: "This page could not be made"}
_SENTENCES = {
    404: "There is no such page. It may be of a source or a dataset that is gone.",
    500: "This is a bug of the dashboard, not yours: its terminal shows the error. The other pages still work.",
}


def app(
    output: Path,
    *,
    jobs: Path | None = None,
    logs: Path | None = None,
    blobs: Callable[[], Blobs] | None = None,
    listed: Path | None = None,
    operators: Operators | None = None,
    url: str = "",
) -> Flask:
    """Return a WSGI app that shows what OUTPUT_DIR holds, and changes nothing if nobody may log in.

    Args:
        output: OUTPUT_DIR.
        jobs: JOBS_DIR, for the runs that a harvest has queued.
        logs: LOGS_DIR; no log is shown without it.
        blobs: opens the archive's store; no file is served without it.
        listed: sources.toml.
        operators: who may change something, and what; nobody may without it.
        url: where others reach it, for the links in feeds; by default the address that was asked.
    """
    made = Flask("crawlers.operate.dashboard", static_folder=None)
    made.url_map.merge_slashes = False  # ids have slashes of their own
    site = made.extensions["site"] = Site(output, jobs, logs, blobs, listed, url=url)
    made.before_request(check_request)
    made.after_request(headers)
    _add_pages(made, site)
    if operators:
        operators.add_to(made, site)
    # Flask logs there; paths are whatever was asked for
    logging.getLogger("crawlers.operate.dashboard").addFilter(Redact())
    return made


def _add_pages(made: Flask, site: Site) -> None:
    for rule, page in _PAGES.items():
        made.add_url_rule(rule, rule, partial(page, site), methods=["GET"], provide_automatic_options=False)
    api.add_to(made, site)
    tables.add_to(made, site)
    for error, answer in _ERRORS.items():
        made.register_error_handler(error, partial(answer, site))


def _refused(site: Site, error: HTTPException) -> AnyResponse:
    """Show 404, 405, 500 ... in the dashboard's own style."""
    if error.response is not None:
        return error.response
    code = error.code or InternalServerError.code
    own = error.description if error.description != type(error).description else None
    sentence = own or _SENTENCES.get(code) or error.description
    answer = _message(site, _TITLES.get(code, error.name), str(sentence), code)
    answer.headers.extend((name, value) for name, value in error.get_headers() if name != "Content-Type")
    return answer


def _no_index(site: Site, error: IndexUnreadableError) -> Response:
    names = sources_in(site.output)
    held = {path.name for path in site.output.glob("[!.]*") if path.is_dir() and is_crawled(path)}
    if held and held.issuperset(names):
        sentence = "The first crawl is running: its datasets are shown here as soon as they are indexed."
        return _message(site, "Nothing to show yet", sentence, 200)
    if (site.output / "index.sqlite").exists():
        return _message(site, "The index can't be read", str(error), 503)
    if not names:
        return _message(site, "Nothing to show yet", str(error), 200)
    found = "a source" if len(names) == 1 else f"{len(names)} sources"
    sentence = f"{site.output} has {found}, but no index.sqlite: rebuild it with `scrapy reindex`."
    return _message(site, "The index is missing", sentence, 503)


def _broken_index(site: Site, error: sqlite3.DatabaseError) -> Response:
    sentence = f"index.sqlite can't be read ({error}): try again, or rebuild it with `scrapy reindex`."
    return _message(site, "The index can't be read", sentence, 503)


def _no_sources(site: Site, error: SourcesError) -> Response:
    return _message(site, "The list of sources can't be read", redact(str(error)), 503)


def _no_figures(site: Site, error: FiguresError) -> Response:
    return _message(site, "The figures can't be computed", str(error), 503)


def _no_versions(site: Site, error: OutputError) -> Response:
    return _message(site, "The versions can't be read", str(error), 503)


def _message(site: Site, title: str, sentence: str, status: int) -> Response:
    """Return a page with a sentence; to a program, which asks for data, none is an error."""
    sentence = with_command(sentence)
    if api.is_of_api(request.path):
        return api.as_json(Error(error=sentence), 503 if status == 200 else status)
    return Response(site.render("message.html", title=title, sentence=sentence), status)


_ERRORS: dict[type[Exception], Callable[..., AnyResponse]] = {
    HTTPException: _refused,
    IndexUnreadableError: _no_index,
    SourcesError: _no_sources,
    FiguresError: _no_figures,
    OutputError: _no_versions,
    sqlite3.DatabaseError: _broken_index,
}
