"""The read-only JSON API, below /api/: a function answers each path, and describes it for OpenAPI.

Its lists come a page at a time.
"""

from __future__ import annotations

import heapq
import json
import re
import sqlite3
import sys
from collections.abc import Callable
from functools import partial
from inspect import cleandoc
from itertools import islice
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn, get_type_hints

import msgspec
from flask import Response, abort, request
from msgspec import UNSET
from werkzeug.exceptions import BadRequest

from crawlers.causes import KINDS
from crawlers.exceptions import SearchError, hint
from crawlers.operate.dashboard import addresses
from crawlers.operate.dashboard.runs import stored
from crawlers.operate.dashboard.schema import (
    Answer,
    Change,
    Changes,
    ChangesPage,
    Counted,
    Dataset,
    DatasetChange,
    Datasets,
    DatasetsPage,
    DatasetSummary,
    Error,
    ErrorLine,
    Errors,
    FailuresPage,
    Flaw,
    Flaws,
    Found,
    FoundDataset,
    OneDataset,
    OneRun,
    OneSource,
    OneVersion,
    Page,
    Question,
    Resource,
    Run,
    Runs,
    RunsPage,
    SearchPage,
    Source,
    Sources,
    Version,
    Versions,
    VersionsPage,
    cursor,
    next_page,
    parameters,
    position,
    read,
    required_of,
)
from crawlers.operate.dashboard.site import Site
from crawlers.operate.dashboard.tail import Wanted
from crawlers.operate.dashboard.tail import newest as newest_errors
from crawlers.operate.sources.listing import AllSources
from crawlers.records.moment import moment
from crawlers.safety import strict_json
from crawlers.safety.redact import one_line, redact, writable
from crawlers.store import history
from crawlers.store.figures.changes import Wanted as WantedChanges
from crawlers.store.figures.changes import changes as find_changes
from crawlers.store.figures.runs import key, newest
from crawlers.store.index.columns import LISTS
from crawlers.store.index.flaws import standing
from crawlers.store.index.search import Search
from crawlers.store.lines import Budget
from crawlers.store.runs import is_since

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from flask import Flask

    from crawlers.operate.dashboard.site import Site
    from crawlers.operate.dashboard.tail import Place
    from crawlers.store.figures.runs import Key
    from crawlers.store.index.search import Found as OneFound
    from crawlers.store.runs import Run as StoredRun


def sources(site: Site, asked: Page) -> Sources:
    """List the sources, those of sources.toml and those that are only on disk."""
    (after,) = position(asked.after, tuple[str]) if asked.after else ("",)
    with site.index() as db:
        names = list(islice((name for name in _all(site, db).names if name > after), asked.limit + 1))
        found = list(described(site, db, names[: asked.limit]))
    more = cursor(names[asked.limit - 1]) if len(names) > asked.limit else None
    return Sources(sources=found, next=next_page("/api/sources", asked, more))


def described(site: Site, db: sqlite3.Connection, names: list[str] | None = None) -> Iterator[Source]:
    """Yield some sources, or all."""
    return (Source.from_fields(SimpleNamespace(**row)) for row in _all(site, db).described(names))


def source(site: Site, asked: OneSource) -> Source:
    """Describe a source."""
    with site.index() as db:
        check(asked.source, _all(site, db).names)
        (found,) = described(site, db, [asked.source])
    return found


def check(name: str, names: Iterable[str]) -> None:
    """Check that a source exists.

    Raises:
        NotFound: there is none of that name.
    """
    if name not in (known := list(names)):
        abort(404, f"There is no source {one_line(name, 100)!r} here.{hint(name, known)}")


def _all(site: Site, db: sqlite3.Connection) -> AllSources:
    return AllSources(db, site.output, site.jobs, site.listed)


def runs(site: Site, asked: RunsPage) -> Runs:
    """List the runs, those that started last first; `since` leaves out those that ended before."""
    before = position(asked.after, tuple[str, str, str]) if asked.after else None
    with site.index() as db:
        found = list(islice(chosen_runs(site, db, asked, before), asked.limit + 1))
    more = cursor(*key(found[asked.limit - 1])) if len(found) > asked.limit else None
    return Runs(runs=[Run.from_fields(run) for run in found[: asked.limit]], next=next_page("/api/runs", asked, more))


def chosen_runs(site: Site, db: sqlite3.Connection, asked: Any, before: Key | None = None) -> Iterator[StoredRun]:
    """Yield the runs that a question is about.

    Args:
        asked: a `RunsPage`, or one without pages.
        before: the run after which the list goes on.
    """
    at_work = site.unfinished(asked.source or None)
    if asked.source:
        check(asked.source, {*_all(site, db).names, *(run.source for run in at_work)})
    since = _since(site, asked)
    known = {(run.source, run.run) for run in at_work}
    wanted = (run for run in at_work if asked.status in (UNSET, run.state) and is_since(run, moment(since)))
    current = (run for run in wanted if before is None or key(run) < before)
    ended = newest(db, asked.source or None, asked.status or None, before, since)
    others = (run for run in ended if (run.source, run.run) not in known)
    return heapq.merge(sorted(current, key=key, reverse=True), others, key=key, reverse=True)


def run(site: Site, asked: OneRun) -> Run:
    """Describe a run."""
    return Run.from_fields(stored(site, asked.source, asked.run))


def errors(site: Site, asked: FailuresPage) -> Errors:
    """List the errors of all runs, the newest first; `since` leaves out older ones."""
    after, budget = position(asked.after, tuple[str, str, int]) if asked.after else None, Budget(sys.maxsize)
    with site.index() as db:
        lines = list(islice(chosen_errors(site, db, asked, budget, after), asked.limit + 1))
    more = cursor(*lines[asked.limit - 1][0]) if len(lines) > asked.limit else None
    return Errors(
        errors=[error for _, error in lines[: asked.limit]],
        unread=sorted(budget.damaged),
        next=next_page("/api/errors", asked, more),
    )


def chosen_errors(
    site: Site, db: sqlite3.Connection, asked: Any, budget: Budget, after: Place | None = None
) -> Iterator[tuple[Place, ErrorLine]]:
    """Yield the errors that a question is about, each with where it stands.

    Args:
        asked: a `FailuresPage`, or one without pages.
        budget: notes the sources whose errors can't be read.
        after: the error after which the list goes on.
    """
    names, wanted = _sources(site, db, asked), Wanted(asked.kind or "", asked.run or "", _since(site, asked))
    for place, line in newest_errors(site.output, names, wanted, budget, after):
        numbers = {name: line[name] if type(line[name]) is int else None for name in ("http_status", "attempts")}
        texts = {name: None if value is None else str(value) for name, value in line.items()}
        texts |= {name: redact(texts[name] or "") or None for name in ("url", "error")}
        yield place, ErrorLine.from_fields(SimpleNamespace(**{**texts, **numbers}))


def flaws(site: Site, asked: FailuresPage) -> Flaws:
    """List the flaws that stand, by source and dataset; `since` leaves out those that appeared before."""
    after = position(asked.after, tuple[str, str, str, str, str]) if asked.after else None
    with site.index() as db:
        found = list(islice(chosen_flaws(site, db, asked, after), asked.limit + 1))
    more = cursor(*map(str, found[asked.limit - 1][:5])) if len(found) > asked.limit else None
    return Flaws(flaws=[as_flaw(row) for row in found[: asked.limit]], next=next_page("/api/flaws", asked, more))


def chosen_flaws(
    site: Site, db: sqlite3.Connection, asked: Any, after: tuple[str, ...] | None = None
) -> Iterator[sqlite3.Row]:
    """Yield the flaws that a question is about.

    Args:
        asked: a `FailuresPage`, or one without pages.
        after: the flaw after which the list goes on.
    """
    _sources(site, db, asked)
    source, run, kind, since = asked.source or None, asked.run or None, asked.kind or None, _since(site, asked)
    return standing(db, source, run=run, kind=kind, since=since, after=after or ("",) * 5)


def as_flaw(row: sqlite3.Row) -> Flaw:
    """Return a row of the index; what is empty is null."""
    known = {name: redact(value) if value else None for name, value in dict(row).items()}
    return Flaw.from_fields(SimpleNamespace(**known))


def _sources(site: Site, db: sqlite3.Connection, asked: Any) -> list[str]:
    """Return the sources that a question is about; its source and its kind must exist."""
    if asked.kind and asked.kind not in KINDS:
        raise BadRequest(f"There is no kind {one_line(asked.kind, 100)!r}.{hint(asked.kind, KINDS)}")
    names = _all(site, db).names
    if asked.source:
        check(asked.source, names)
    return [asked.source] if asked.source else names


def _since(site: Site, asked: Any) -> str:
    return site.since(asked.since or "", asked.source or "")


DEEPEST = 2000
"""Datasets of a search that its pages lead to: relevance has no order in which a page could begin at any row."""
_PAGE = """
    SELECT source, dataset_id, title, name, publisher, coalesce(data_modified, modified, issued) AS modified,
        formats, file, withdrawn
    FROM datasets WHERE (source, dataset_id) > (:after_source, :after_id) {only}{current}
    ORDER BY source, dataset_id
"""
_DATASET = "SELECT * FROM datasets WHERE source = ? AND dataset_id = ?"
_RESOURCES = "SELECT * FROM resources WHERE source = ? AND dataset_id = ? ORDER BY position LIMIT 1000"
_CHANGES = "SELECT time, status, run FROM changes WHERE source = ? AND dataset_id = ? ORDER BY time DESC LIMIT 1000"
_FILES = """
    SELECT file FROM json_each(?2) AS kinds CROSS JOIN documents d
    ON d.source = ?1 AND d.kind = kinds.value AND d.dataset_id = ?3
"""
_OF_ADDRESSES = ("documentation", "sample", "relations", "services")
_ADDRESSES = ("metadata_url", "landing_page", "url", "access_url", "download_url", "stated_url")


def datasets(site: Site, asked: DatasetsPage) -> Datasets:
    """List the datasets, by source and id."""
    after = position(asked.after, tuple[str, str]) if asked.after else None
    with site.index() as db:
        rows = list(islice(chosen_datasets(site, db, asked, after), asked.limit + 1))
    shown = [as_summary(row) for row in rows[: asked.limit]]
    more = cursor(shown[-1].source, shown[-1].dataset_id) if len(rows) > asked.limit else None
    return Datasets(datasets=shown, next=next_page("/api/datasets", asked, more))


def chosen_datasets(
    site: Site, db: sqlite3.Connection, asked: Any, after: tuple[str, str] | None = None
) -> Iterator[sqlite3.Row]:
    """Yield the datasets that a question is about.

    Args:
        asked: a `DatasetsPage`, or one without pages.
        after: source and id of the dataset after which the list goes on.
    """
    if asked.source:
        check(asked.source, _all(site, db).names)
    query = _PAGE.format(
        only="AND source = :source" if asked.source else "", current="" if asked.withdrawn else " AND NOT withdrawn"
    )
    after_source, after_id = after or (asked.source or "", "")
    words = {"source": asked.source or None, "after_source": after_source, "after_id": after_id}
    return iter(db.execute(query, words))


def as_summary(row: sqlite3.Row) -> DatasetSummary:
    """Return a row of the index."""
    found: DatasetSummary = DatasetSummary.from_fields(_read(dict(row)))
    return found


def dataset(site: Site, asked: OneDataset) -> Dataset:
    """Describe a dataset."""
    key = (asked.source, asked.id)
    with site.index() as db:
        row = db.execute(_DATASET, key).fetchone()
        if not row:
            check(asked.source, _all(site, db).names)
            _no_dataset(asked)
        known = {
            "resources": [Resource.from_fields(_read(dict(one))) for one in db.execute(_RESOURCES, key)],
            "changes": [Change(**dict(one)) for one in db.execute(_CHANGES, key)],
        }
    found: Dataset = Dataset.from_fields(_read({**dict(row), **known}))
    return found


def changes(site: Site, asked: ChangesPage) -> Changes:
    """List the changes of datasets, the newest first; `since` and `until` leave out earlier and later ones."""
    after = position(asked.after, tuple[str, str, str, str]) if asked.after else None
    with site.index() as db:
        found = list(islice(chosen_changes(site, db, asked, after), asked.limit + 1))
    last = found[asked.limit - 1] if len(found) > asked.limit else None
    more = cursor(last.time, last.source, last.dataset_id, last.status) if last else None
    return Changes(changes=found[: asked.limit], next=next_page("/api/changes", asked, more))


def chosen_changes(
    site: Site, db: sqlite3.Connection, asked: Any, after: tuple[str, str, str, str] | None = None
) -> Iterator[DatasetChange]:
    """Yield the changes that a question is about.

    Args:
        asked: a `ChangesPage`, or one without pages.
        after: the change after which the list goes on.
    """
    if asked.source:
        check(asked.source, _all(site, db).names)
    source = asked.source or ""
    since, until = _since(site, asked), site.until(asked.until or "", source)
    wanted = WantedChanges(source, asked.publisher or "", "", asked.status or "", since, until)
    for row in find_changes(db, site.output, wanted, after):
        yield DatasetChange.from_fields(SimpleNamespace(**row))


def versions(site: Site, asked: VersionsPage) -> Versions:
    """List the versions of a dataset's documents, those of its exports, too, the newest first."""
    (end,) = position(asked.after, tuple[int]) if asked.after else (None,)
    folder, _ = _of_dataset(site, asked)
    known = history.of_id(folder, asked.id)
    end = len(known) if end is None else min(max(end, 0), len(known))
    begin = max(end - asked.limit, 0)
    with history.Bodies(folder) as bodies:
        found = [_version(bodies, asked, one) for one in reversed(known[begin:end])]
    more = addresses.version(asked.source, asked.id, limit=asked.limit, after=cursor(begin)) if begin else None
    return Versions(versions=found, next=more)


def _of_dataset(site: Site, asked: Any) -> tuple[Path, list[str]]:
    """Return a source's folder, and the documents that a dataset has there now.

    Raises:
        NotFound: there is no such source or dataset.
    """
    with site.index() as db:
        check(asked.source, _all(site, db).names)
        files = [row["file"] for row in db.execute(_FILES, (asked.source, json.dumps(history.KINDS), asked.id))]
    return site.output / asked.source, files or _no_dataset(asked)


def _no_dataset(asked: Any) -> NoReturn:
    abort(404, f"There is no dataset {one_line(asked.id, 100)!r} of {asked.source} here.")


def _version(bodies: history.Bodies, asked: Any, version: history.Version) -> Version:
    kind, _, resource_id = version.key
    known, is_kept = version.known, bodies.has(version)
    return Version(
        kind=kind,
        resource_id=resource_id or None,
        time=version.time,
        run=known.run,
        status=known.status,
        reason=version.reason,
        sha256=known.sha256,
        bytes=known.bytes,
        fields=bodies.fields(version),
        kept=is_kept,
        document=addresses.version(asked.source, asked.id, known.sha256) if is_kept else None,
    )


def version(site: Site, asked: OneVersion) -> Response:
    """Give the bytes of a version, as the publisher wrote them, but for credentials; a browser only saves them."""
    folder, files = _of_dataset(site, asked)
    with history.Bodies(folder) as bodies:
        body = bodies.of_hash(asked.sha256, files)
    if body is None:
        abort(404, "The bytes of this version are not kept, or there is none: see the list of versions.")
    kind = "xml" if body.lstrip()[:1] == b"<" else "json"
    answer = Response(writable(body), mimetype=f"application/{kind}")
    answer.headers["Content-Security-Policy"] = "sandbox; default-src 'none'"
    answer.headers["Content-Disposition"] = f'attachment; filename="{asked.sha256[:16]}.{kind}"'
    return site.conditional(answer)


def search(site: Site, asked: SearchPage) -> Found:
    """Find the datasets that have all words and pass the filters."""
    (offset,) = position(asked.after, tuple[int]) if asked.after else (0,)
    if not 0 <= offset < DEEPEST:
        raise BadRequest(f"A search leads to the first {DEEPEST} datasets: narrow it by more words or a filter.")
    limit = min(asked.limit, DEEPEST - offset)
    with site.index() as db:
        found = searched(site, db, asked).answer(db, limit=limit, offset=offset, with_facets=not offset)
    after = offset + limit
    more = cursor(after) if after < min(found.total, DEEPEST) and len(found.rows) == limit else None
    return Found(
        total=found.total,
        datasets=[as_found(one) for one in found.rows],
        facets={
            name: [Counted(value=one.value, datasets=one.datasets) for one in each]
            for name, each in found.facets.items()
        },
        counted=found.counted,
        some=found.is_some,
        meant=found.meant,
        next=next_page("/api/search", asked, more),
    )


def searched(site: Site, db: sqlite3.Connection, asked: Any) -> Search:
    """Return what a `SearchPage`, or one without pages, asks for."""
    if asked.source:
        check(asked.source, _all(site, db).names)
    return search_of(asked.q, source=asked.source or None, sort=asked.sort, withdrawn=asked.withdrawn)


def search_of(text: str, **given: Any) -> Search:
    """Return what a text asks for, as `Search.read`.

    Raises:
        BadRequest: it can't be understood.
    """
    try:
        return Search.read(text, **given)
    except SearchError as error:
        raise BadRequest(one_line(str(error), 600)) from None


def as_found(found: OneFound) -> FoundDataset:
    """Return a dataset that was found."""
    places = [place._asdict() for place in found.places]
    fields = {name: getattr(found, name) for name in FoundDataset.__struct_fields__}
    return FoundDataset(**fields | {"places": places})


def _read(row: dict[str, Any]) -> SimpleNamespace:
    """Return a row of the index with the values of its lists, and without credentials."""
    lists = {name: json.loads(row[name] or "[]") for name in (*LISTS, "services") if name in row}
    lists |= {name: [*map(_redacted, lists[name])] for name in _OF_ADDRESSES if name in lists}
    links = {name: row[name] and redact(row[name]) for name in _ADDRESSES if name in row}
    flags = {"withdrawn": bool(row["withdrawn"])} if "withdrawn" in row else {}
    return SimpleNamespace(**{**row, **lists, **links, **flags})


def _redacted(value: str | dict[str, str]) -> str | dict[str, str]:
    """Return an address, or the texts of a relation or a service, without credentials."""
    return redact(value) if isinstance(value, str) else {name: redact(text) for name, text in value.items()}


VERSION = "1.1.0"  # of the API: the first number changes if a field or a path goes away
ROOT = "/api/"
DESCRIPTION = "/api/openapi.json"
PATHS: dict[str, Callable[..., Answer | Response]] = {
    "/api/sources": sources,
    "/api/sources/{source}": source,
    "/api/runs": runs,
    "/api/runs/{source}/{run}": run,
    "/api/errors": errors,
    "/api/flaws": flaws,
    "/api/datasets": datasets,
    "/api/datasets/{source}": dataset,
    "/api/datasets/{source}/{id}": dataset,
    "/api/datasets/{source}/{id}/versions": versions,
    "/api/datasets/{source}/{id}/versions/{sha256}": version,
    "/api/versions/{source}": versions,
    "/api/versions/{source}/{sha256}": version,
    "/api/changes": changes,
    "/api/search": search,
}
"""Which function answers a path. Its parameters are the fields of what it takes, its answer is what it returns: an
`Answer`, or the bytes of a document."""

_ERRORS = {
    400: "A parameter is unknown, missing or not what it must be.",
    404: "There is no such source, run, dataset or version.",
    503: "The index or sources.toml can't be read.",
}
_DOCUMENT = {"description": "The document's bytes.", "content": {"application/json": {}, "application/xml": {}}}
_NAMED = re.compile(r"{(\w+)}")


def add_to(app: Flask, site: Site) -> None:
    """Add the JSON API to the dashboard."""
    for path, answer in PATHS.items():
        rule = _NAMED.sub(lambda name: f"<path:{name[1]}>" if name[1] == "id" else f"<{name[1]}>", path)
        _add(app, rule, partial(_answered, site, answer))
    _add(app, DESCRIPTION, lambda: site.conditional(as_json(description())))
    for rule in (ROOT, f"{ROOT}<path:_>"):
        _add(app, rule, _unknown)


def as_json(value: Any, status: int = 200) -> Response:
    """Return an answer of the API."""
    return Response(strict_json.dumps(msgspec.to_builtins(value)), status, mimetype="application/json")


def is_of_api(path: str) -> bool:
    """Return whether the errors of an address are JSON."""
    return path.startswith(ROOT)


def description() -> dict[str, Any]:
    """Return the description of the API: https://spec.openapis.org/oas/v3.1.0.html."""
    types = [Error, *dict.fromkeys(kind for kind in map(_answer, PATHS.values()) if kind is not Response)]
    _, schemas = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    return {
        "openapi": "3.1.0",
        "info": {"title": "Catalogues", "version": VERSION, "description": "What the catalogues hold; read-only."},
        "servers": [{"url": "/"}],
        "paths": {path: {"get": _operation(path, function)} for path, function in PATHS.items()},
        "components": {"schemas": schemas},
    }


def _add(app: Flask, rule: str, view: Callable[..., Response]) -> None:
    app.add_url_rule(rule, rule, view, methods=["GET"], provide_automatic_options=False)


def _answered(site: Site, answer: Callable[..., Answer | Response], **named: str) -> Response:
    found = answer(site, read(_question(answer), named, request.args))
    return found if isinstance(found, Response) else site.conditional(as_json(found))


def _unknown(_: str = "") -> NoReturn:
    abort(404, f"There is no such address: {DESCRIPTION} describes those there are.")


def _question(function: Callable[..., Any]) -> type[Question]:
    return get_type_hints(function)["asked"]  # type: ignore[no-any-return]


def _answer(function: Callable[..., Any]) -> type[Answer | Response]:
    return get_type_hints(function)["return"]  # type: ignore[no-any-return]


def _operation(path: str, function: Callable[..., Any]) -> dict[str, Any]:
    named = _NAMED.findall(path)
    errors = {str(status): _content(meaning, Error) for status, meaning in _ERRORS.items()}
    answer = _answer(function)
    content = _DOCUMENT if answer is Response else _content(answer.__doc__ or "", answer)
    return {
        "operationId": function.__name__ + ("_by_path" if "id" in named else ""),
        "summary": cleandoc(function.__doc__ or ""),
        "parameters": list(_parameters(_question(function), named)),
        "responses": {"200": content, **errors},
    }


def _parameters(kind: type[Question], named: list[str]) -> Any:
    required = required_of(kind)
    for name, described in parameters(kind).items():
        is_in_path = name in named
        yield {
            "name": name,
            "in": "path" if is_in_path else "query",
            "required": is_in_path or name in required,
            "description": described.pop("description"),
            "schema": described,
        }


def _content(meaning: str, kind: type[Answer | Response]) -> dict[str, Any]:
    reference = {"$ref": f"#/components/schemas/{kind.__name__}"}
    return {"description": meaning, "content": {"application/json": {"schema": reference}}}
