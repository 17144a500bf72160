"""The target timeseries: what was observed of a source, in a table of CKAN's datastore.

The table is created once, and rows are upserted by their key; both can be undone.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import AnswerError, ConflictError, PublishError
from crawlers.publish.operations import Call, Change, Field, Operation
from crawlers.publish.record import is_same
from crawlers.store import timeseries
from crawlers.store.index.database import connect

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
    from pathlib import Path

    from crawlers.publish.operations import Step
    from crawlers.publish.portal import Portal
    from crawlers.publish.record import Record
    from crawlers.store.timeseries import Observation


KEY = ("day", "subject", "metric")
"""The fields that are unique together."""
COLUMNS = {"day": "date", "subject": "text", "metric": "text", "value": "text", "number": "numeric"}
"""The fields of a table of time series, with their types. `number` is the value if that is a number, for charts."""
MOST = 32_000
"""Rows that CKAN gives at once."""
_PAGES = 1_000  # of rows, for a portal that gives few at once


async def find_table(portal: Portal, dataset: str, resource: str) -> Record | None:
    """Return a resource of a dataset by its name, with the ``columns`` and the ``total`` of its table.

    Both are ``None`` if it has no table. Without such a resource, return ``None``.

    Raises:
        AnswerError: the portal has no such dataset, or does not answer.
    """
    package = await portal.read("package_show", {"id": dataset})
    if package is None:
        message = f"the portal has no dataset {dataset}, or does not show it: create it, or name another with --dataset"
        raise AnswerError("refused", message)
    listed = [one for one in package.get("resources") or [] if isinstance(one, dict) and one.get("name") == resource]
    if not listed:
        return None
    table = await portal.read("datastore_search", {"resource_id": listed[0]["id"], "limit": 0}) or {}
    columns = [str(one.get("id")) for one in table.get("fields") or [] if isinstance(one, dict)] or None
    kept = {name: listed[0].get(name) for name in ("id", "name", "description", "url_type")}
    return {**kept, "columns": columns, "total": table.get("total")}


class TableCreate(Operation):
    """Creates a resource with a table; one that is there is never replaced.

    Wanted: ``dataset`` and ``resource``, their names.
    """

    action, creates = "datastore_create", True

    async def read(self, portal: Portal, change: Change) -> Record | None:
        """Return the resource, as `find_table` does."""
        return await find_table(portal, change.wanted["dataset"], change.wanted["resource"])

    def body(self, change: Change, before: Record | None) -> dict[str, Any] | None:
        if before:
            return None
        about = {"package_id": change.wanted["dataset"], "name": change.wanted["resource"]}
        fields = [{"id": name, "type": kind} for name, kind in COLUMNS.items()]
        return {"resource": about, "fields": fields, "primary_key": list(KEY)}

    def lacking(self, sent: Mapping[str, Any], now: Record | None) -> list[str]:
        return [name for name in COLUMNS if name not in ((now or {}).get("columns") or [])]

    def is_own(self, step: Step, now: Record | None) -> bool:
        """Return whether the table is as it was made: one with rows by now is of use to somebody."""
        return super().is_own(step, now) and not (now or {}).get("total")

    def undo(self, step: Step, now: Record | None) -> list[Call]:
        return [Call("resource_delete", {"id": (now or {}).get("id")})]


class RowsUpsert(Operation):
    """Upserts rows of one day. As a record, they are what the table has of them, each by its metric and subject.

    Wanted: ``dataset`` and ``resource``, their names; ``day``; ``rows``, each of metric, subject, value and number.
    """

    action, creates = "datastore_upsert", True

    async def read(self, portal: Portal, change: Change) -> Record:
        """Return the rows that there are, and under ``resource_id`` where.

        Raises:
            AnswerError: they can't be read, or the table is gone.
        """
        wanted = change.wanted
        place = await _resource_id(portal, wanted["dataset"], wanted["resource"])
        return {"resource_id": place} | await read_rows(portal, place, wanted["day"], wanted["rows"])

    def body(self, change: Change, before: Record | None) -> dict[str, Any] | None:
        day, known = change.wanted["day"], before or {}
        names = ("metric", "subject", "value", "number")
        rows = [{"day": day, **dict(zip(names, row, strict=True))} for row in change.wanted["rows"]]
        changed = [row for row in rows if not _is_there(row, known)]
        return {"resource_id": known["resource_id"], "records": changed, "method": "upsert"} if changed else None

    def lacking(self, sent: Mapping[str, Any], now: Record | None) -> list[str]:
        return [_key(row) for row in sent["records"] if not _is_there(row, now or {})]

    def is_own(self, step: Step, now: Record | None) -> bool:
        """Return whether each row is as the step left it, or, after an interrupted undo, as it was before."""
        sent, before, found = {_key(row): row for row in (step.sent or {})["records"]}, step.before or {}, now or {}
        return all(
            is_same(found.get(key), before.get(key)) or (key in sent and _is_there(sent[key], found))
            for key in before.keys() | found.keys() | sent.keys()
        )

    def undo(self, step: Step, now: Record | None) -> list[Call]:
        """Return the calls that upsert the rows as they were, and delete those that were not there: these alone."""
        sent, before = step.sent or {}, step.before or {}
        place, old = {"resource_id": sent["resource_id"]}, [row for row in sent["records"] if _key(row) in before]
        restored = [{**row, **before[_key(row)]} for row in old]
        calls = [Call(self.action, {**place, "records": restored, "method": "upsert"})] if restored else []
        new = [row for row in sent["records"] if _key(row) not in before]
        return calls + [Call("datastore_delete", {**place, "filters": filters}) for filters in _filters(new)]


async def read_rows(portal: Portal, resource_id: str, day: str, rows: Iterable[list[Any]]) -> Record:
    """Return the rows that a table has of these; by metric and subject.

    Args:
        rows: of metric, subject, and more.

    Raises:
        AnswerError: they can't be read.
    """
    wanted = {_named(row[0], row[1]) for row in rows}
    filters = {"day": day, "metric": sorted({row[0] for row in rows}), "subject": sorted({row[1] for row in rows})}
    found = {_key(one): _values(one) async for one in _select(portal, resource_id, filters)}
    return {key: value for key, value in found.items() if key in wanted}


async def read_days(portal: Portal, resource_id: str, days: list[str]) -> dict[str, Record]:
    """Return all rows that a table has of some days; by day, and then by metric and subject.

    Raises:
        AnswerError: they can't be read.
    """
    found: dict[str, Record] = {day: {} for day in days}
    async for one in _select(portal, resource_id, {"day": days}):
        found.get(str(one.get("day"))[:10], {})[_key(one)] = _values(one)
    return found


async def _select(portal: Portal, resource_id: str, filters: Record) -> AsyncIterator[Record]:
    """Yield the rows of a table that have these values: a portal may give fewer at once than it is asked for."""
    asked, start = {"resource_id": resource_id, "filters": filters, "sort": "_id", "limit": MOST}, 0
    for _ in range(_PAGES):
        answer = await portal.read("datastore_search", {**asked, "offset": start})
        if answer is None:
            raise ConflictError(f"the table {resource_id} is gone")
        page = [one for one in answer.get("records") or [] if isinstance(one, dict)]
        for one in page:
            yield one
        start += len(page)
        if not page or start >= (answer.get("total") or 0):
            return


async def _resource_id(portal: Portal, dataset: str, resource: str) -> str:
    """Return the id of a resource that the publish has found or made; it is asked for once."""
    if (dataset, resource) not in portal.resources:
        found = await find_table(portal, dataset, resource)
        if found is None:
            raise ConflictError(f"the resource {resource} of the dataset {dataset} is gone")
        portal.resources[dataset, resource] = str(found["id"])
    return portal.resources[dataset, resource]


def _named(metric: Any, subject: Any) -> str:
    """Return what a row is known by; neither part has a tab."""
    return f"{metric}\t{subject}"


def _key(row: Mapping[str, Any]) -> str:
    return _named(row.get("metric"), row.get("subject"))


def _values(row: Mapping[str, Any]) -> Record:
    return {name: row.get(name) for name in ("value", "number")}


def _is_there(row: Mapping[str, Any], known: Mapping[str, Any]) -> bool:
    found = known.get(_key(row))
    return found is not None and all(is_same(found[name], row[name]) for name in ("value", "number"))


def _filters(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return filters that match these rows of a day, and no others: a filter is every metric with every subject.

    >>> rows = [{"day": "2026-11-15", "metric": metric, "subject": subject} for metric, subject in ("xa", "xb", "ya")]
    >>> [(filters["metric"], filters["subject"]) for filters in _filters(rows)]
    [(['x'], ['a', 'b']), (['y'], ['a'])]
    """
    subjects: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for row in rows:
        subjects[row["day"], row["metric"]].append(row["subject"])
    metrics: defaultdict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for (day, metric), found in subjects.items():
        metrics[day, tuple(sorted(found))].append(metric)
    return [{"day": day, "metric": named, "subject": list(found)} for (day, found), named in metrics.items()]


RESOURCE = "Time series"
"""The name of the resource, unless another is given."""
_DATASETS = {"site": "ckan-sites-metadata", "extension": "ckan-extensions-metadata"}
_ROWS = 250  # of a day, written at once
_DAYS = 100  # that are read at once; what has more rows than a portal gives at once is read by itself
_KIND = "SELECT 1 FROM documents WHERE source = ? AND kind = ? LIMIT 1"


class Series:
    """The time series of a source.

    Args:
        dataset: the portal's dataset that the table belongs to; by default the one that is for sources of this kind.
        resource: the name of the resource in it.
        since: the first day that is published; by default all are compared with what the table has of them.

    Raises:
        PublishError: no dataset is named, and the source has neither portals nor extensions.
    """

    def __init__(
        self,
        output: Path,
        source: str,
        *,
        dataset: str | None = None,
        resource: str = RESOURCE,
        since: str | None = None,
    ) -> None:
        self.output = output
        self.source = source
        if not dataset:
            with closing(connect(output)) as db:
                held = (name for kind, name in _DATASETS.items() if db.execute(_KIND, (source, kind)).fetchone())
                dataset = next(held, None)
        if not dataset:
            sentence = "has neither portals nor extensions: name the portal's dataset with --dataset."
            raise PublishError(f"{source} {sentence}")
        self.dataset = dataset
        self.resource = resource
        self.since = since
        self.title = f"time series of {source}"

    async def changes(self, portal: Portal) -> AsyncIterator[list[Change]]:
        """Yield a change for the table if it has to be made, and one for some rows of a day at a time.

        Raises:
            AnswerError: the portal has no such dataset, its resource has other columns, or it does not answer.
        """
        table = await find_table(portal, self.dataset, self.resource)
        if table is None:
            yield [self._table()]
        elif not COLUMNS.keys() <= set(table["columns"] or ()):
            what = f"the resource {self.resource} of {self.dataset}"
            message = f"{what} has no table with the columns {', '.join(COLUMNS)}: name another with --resource"
            raise AnswerError("refused", message)
        place = str(table["id"]) if table else ""
        today = datetime.now(UTC).date().isoformat()
        with closing(connect(self.output)) as db:
            days = timeseries.days(db, self.source, self.since or "")
            for some in _together(db, self.source, [day for day in days if day <= today]):
                known = await read_days(portal, place, list(some)) if place else {}
                for day, rows in some.items():
                    batches = (rows[start : start + _ROWS] for start in range(0, len(rows), _ROWS))
                    yield [self._rows(day, batch, known.get(day, {})) for batch in batches]
        for day in (day for day in days if day > today):
            problem = f"this day has not come yet: correct the clock, and remove it from timeseries/{day[:4]}.csv"
            yield [Change(operation=RowsUpsert.action, subject=day, title=self.title, problem=problem)]

    def _table(self) -> Change:
        wanted = {"dataset": self.dataset, "resource": self.resource}
        fields = [Field("resource", None, self.resource), Field("columns", None, list(COLUMNS))]
        subject = f"{self.dataset}/{self.resource}"
        return Change(operation=TableCreate.action, subject=subject, title="A new table", wanted=wanted, fields=fields)

    def _rows(self, day: str, rows: list[list[Any]], known: Record) -> Change:
        """Return the change of some rows; the fields are those that change, and the number of those that are new."""
        before = {(metric, subject): known.get(f"{metric}\t{subject}") for metric, subject, *_ in rows}
        changed = [
            Field(f"{metric} of {subject}", found["value"], value, total=metric)
            for metric, subject, value, _ in rows
            if (found := before[metric, subject]) and not is_same(found["value"], value)
        ]
        new = sum(found is None for found in before.values())
        return Change(
            operation=RowsUpsert.action,
            subject=f"{day}, from {rows[0][0]} of {rows[0][1]}",
            title=f"{len(rows)} rows of {self.dataset}/{self.resource}",
            wanted={"dataset": self.dataset, "resource": self.resource, "day": day, "rows": rows},
            fields=[*([Field("new rows", None, new)] if new else []), *changed],
        )


def _together(db: sqlite3.Connection, source: str, days: list[str]) -> Iterator[dict[str, list[list[Any]]]]:
    """Yield the rows of some days at a time, of metric, subject, value and number: as many as are read at once."""
    some: dict[str, list[list[Any]]] = {}
    count = 0
    for day in days:
        rows = [_row(one) for one in timeseries.select(db, source, [day])]
        if some and (count + len(rows) > MOST or len(some) == _DAYS):
            yield some
            some, count = {}, 0
        some[day], count = rows, count + len(rows)
    if some:
        yield some


def _row(one: Observation) -> list[Any]:
    number = timeseries.number(one)
    return [one.metric, one.subject, one.value, int(number) if number is not None and number.is_integer() else number]
