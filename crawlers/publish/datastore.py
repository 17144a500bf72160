"""What can be done to a table of CKAN's datastore, and undone: it is created once, and rows are upserted by key."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import AnswerError, ConflictError
from crawlers.publish.operations import Call, Operation
from crawlers.publish.record import is_same

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from crawlers.publish.change import Change, Step
    from crawlers.publish.portal import Portal
    from crawlers.publish.record import Record

KEY = ("day", "subject", "metric")
"""The fields that are unique together."""
COLUMNS = {"day": "date", "subject": "text", "metric": "text", "value": "text", "number": "numeric"}
"""The fields of a table of time series, with their types. `number` is the value if that is a number, for charts."""
MOST = 32_000
"""Rows that CKAN gives at once."""


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
        rows = [_record(day, row) for row in change.wanted["rows"]]
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


OPERATIONS: dict[str, Operation] = {one.action: one for one in (TableCreate(), RowsUpsert())}
"""By the names that changes have."""


async def read_rows(portal: Portal, resource_id: str, day: str, rows: Iterable[list[Any]]) -> Record:
    """Return the rows that a table has of these; by metric and subject.

    Args:
        rows: of metric, subject, and more.

    Raises:
        AnswerError: they can't be read.
    """
    wanted = {_named(row[0], row[1]) for row in rows}
    filters = {"day": day, "metric": sorted({row[0] for row in rows}), "subject": sorted({row[1] for row in rows})}
    asked = {"resource_id": resource_id, "filters": filters, "sort": "_id", "limit": MOST}
    found: Record = {}
    for _ in wanted:  # a portal may give fewer rows at once than it is asked for
        answer = await portal.read("datastore_search", {**asked, "offset": len(found)})
        if answer is None:
            raise ConflictError(f"the table {resource_id} is gone")
        page = [one for one in answer.get("records") or [] if isinstance(one, dict)]
        found |= {_key(one): one for one in page}
        if not page or len(found) >= (answer.get("total") or 0):
            break
    return {key: {name: found[key].get(name) for name in ("value", "number")} for key in found if key in wanted}


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


def _record(day: str, row: list[Any]) -> dict[str, Any]:
    metric, subject, value, number = row
    return {"day": day, "subject": subject, "metric": metric, "value": value, "number": number}


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
