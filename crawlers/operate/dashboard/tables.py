"""The tables of the pages as CSV files, with all rows: the fields of the JSON API, chosen by its parameters."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import sys
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any

from flask import Response, abort, request
from werkzeug.wsgi import FileWrapper

from crawlers.operate.dashboard import api
from crawlers.operate.dashboard.runs import stored
from crawlers.operate.dashboard.schema import (
    ChangesPage,
    DatasetChange,
    DatasetsPage,
    DatasetSummary,
    Document,
    ErrorLine,
    FailuresPage,
    Flaw,
    FoundDataset,
    OneRun,
    Page,
    Question,
    Run,
    RunsPage,
    SearchPage,
    Source,
    read,
    unpaged,
)
from crawlers.safety.redact import redact
from crawlers.signals import OUTCOMES
from crawlers.store.export.tables import cell
from crawlers.store.lines import Budget
from crawlers.store.runs import items

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from flask import Flask

    from crawlers.operate.dashboard.schema import Answer
    from crawlers.operate.dashboard.site import Site

    Rows = Callable[[Site, sqlite3.Connection, Any], Iterable[Answer]]

_IN_MEMORY = 1024 * 1024  # bytes of a file to download
_BLOCK = 64 * 1024  # bytes
_BETWEEN = " | "


def download(site: Site, name: str, lines: Iterable[bytes]) -> Response:
    """Return a CSV file to download, or 304 if the program has it.

    Its lines are read before the first is sent: a slow browser would keep index.sqlite-wal from being emptied.
    """
    found = hashlib.sha256()
    with ExitStack() as unsent:
        file = unsent.enter_context(SpooledTemporaryFile(_IN_MEMORY))
        for line in lines:
            file.write(line)
            found.update(line)
        answer = Response(FileWrapper(file, _BLOCK), mimetype="text/csv", direct_passthrough=True)
        answer.content_length = file.tell()
        answer.headers["Content-Disposition"] = f'attachment; filename="{name}"'
        file.seek(0)
        unsent.pop_all()  # the server closes it after the last block
    return site.conditional(answer, found.hexdigest())


def _sources(site: Site, db: sqlite3.Connection, _: Any) -> Iterator[Answer]:
    return api.described(site, db)


def _runs(site: Site, db: sqlite3.Connection, asked: Any) -> Iterator[Answer]:
    return map(Run.from_fields, api.chosen_runs(site, db, asked))


def _errors(site: Site, db: sqlite3.Connection, asked: Any) -> Iterator[Answer]:
    budget = Budget(sys.maxsize)
    yield from (error for _, error in api.chosen_errors(site, db, asked, budget))
    if budget.damaged:
        abort(503, f"The errors of {', '.join(sorted(budget.damaged))} can't be read: errors.jsonl is damaged.")


def _flaws(site: Site, db: sqlite3.Connection, asked: Any) -> Iterator[Answer]:
    return map(api.as_flaw, api.chosen_flaws(site, db, asked))


def _datasets(site: Site, db: sqlite3.Connection, asked: Any) -> Iterator[Answer]:
    return map(api.as_summary, api.chosen_datasets(site, db, asked))


def _found(site: Site, db: sqlite3.Connection, asked: Any) -> Iterator[Answer]:
    return map(api.as_found, api.searched(site, db, asked).answer(db, limit=api.DEEPEST).rows)


def _changes(site: Site, db: sqlite3.Connection, asked: Any) -> Iterator[Answer]:
    return api.chosen_changes(site, db, asked)


def _documents(site: Site, _: sqlite3.Connection, asked: OneRun) -> Iterator[Answer]:
    found = (item for item in items(stored(site, asked.source, asked.run)) if item.status != "failed")
    return (
        Document.from_fields(replace(item, url=item.url and redact(item.url), title=item.title and redact(item.title)))
        for item in found
    )


TABLES: dict[str, tuple[type[Answer], type[Question], Rows]] = {
    "/sources.csv": (Source, unpaged(Page), _sources),
    "/runs.csv": (Run, unpaged(RunsPage), _runs),
    "/documents.csv": (Document, OneRun, _documents),
    "/errors.csv": (ErrorLine, unpaged(FailuresPage), _errors),
    "/flaws.csv": (Flaw, unpaged(FailuresPage), _flaws),
    "/changes.csv": (DatasetChange, unpaged(ChangesPage), _changes),
    "/search.csv": (FoundDataset, unpaged(SearchPage), _found),
    "/datasets.csv": (DatasetSummary, unpaged(DatasetsPage), _datasets),
}
"""Of each file: what a row is, by which parameters rows are chosen, and the rows."""
_COUNTS = {"counts": OUTCOMES, "errors": ("errors", "errors_by_kind"), "flaws": ("flaws", "flaws_by_kind")}
"""The columns of a run's numbers: a number has a column of its own, so that a spreadsheet can add it."""


def add_to(app: Flask, site: Site) -> None:
    """Add the CSV files to the dashboard."""
    for path in TABLES:
        app.add_url_rule(path, path, partial(_table, site, path), methods=["GET"], provide_automatic_options=False)


def _table(site: Site, path: str) -> Response:
    kind, question, rows = TABLES[path]
    asked = read(question, {}, request.args)
    with site.index() as db:
        return download(site, path.removeprefix("/"), _lines(kind, rows(site, db, asked)))


def _lines(kind: type[Answer], rows: Iterable[Answer]) -> Iterator[bytes]:
    names = kind.__struct_fields__
    columns = [_COUNTS.get(name, (name,)) if kind is Run else (name,) for name in names]
    yield _line([column for several in columns for column in several])
    for row in rows:
        yield _line([cell(text) for name in names for text in _texts(kind, name, getattr(row, name))])


def _texts(kind: type[Answer], name: str, value: Any) -> Iterable[str | None]:
    """Return the cells of a field."""
    if kind is not Run or name not in _COUNTS:
        return (_text(value),)
    if name == "counts":
        return [str(value.get(outcome, 0)) for outcome in OUTCOMES]
    return str(sum(value.values())), _BETWEEN.join(f"{each} {count}" for each, count in value.items())


def _text(value: Any) -> str | None:
    """
    >>> _text(["CSV", "PDF"]), _text({"q": "flood"}), _text(True), _text(0.5), _text(None)
    ('CSV | PDF', '{"q": "flood"}', 'true', '0.5', None)
    """
    if isinstance(value, list):
        return _BETWEEN.join(map(str, value))
    if isinstance(value, bool | dict):
        return json.dumps(value, ensure_ascii=False)
    return None if value is None else str(value)


def _line(cells: Sequence[str]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerow(cells)
    return text.getvalue().encode()
