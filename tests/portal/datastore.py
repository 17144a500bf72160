"""CKAN's datastore: a table for a resource, with a unique key and rows."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tests.portal.actions import InvalidParameterError, NotFoundError, Portal, action, asked
from tests.portal.data import Resource
from tests.portal.message import Answer, Request
from tests.portal.writes import answered, existing, found_resource, kept, resource, writing

Row = dict[str, Any]
ROWS, ROWS_MAX = 100, 32_000
TYPES = {"text": r"(?s).*", "date": r"\d{4}-\d\d-\d\d", "numeric": r"-?\d+(\.\d+)?", "int": r"-?\d+"}


@dataclass
class Table:
    """A table.

    Attributes:
        fields: their types by name.
        key: the fields that are unique together.
    """

    fields: dict[str, str]
    key: tuple[str, ...] = ()
    rows: list[Row] = field(default_factory=list)
    ids: "count[int]" = field(default_factory=lambda: count(1))

    def found(self, filters: dict[str, Any]) -> list[Row]:
        unknown = [name for name in filters if name not in self.fields]
        if unknown:
            raise InvalidParameterError("filters", f'invalid value "{unknown[0]}"')
        wanted = {name: [*map(str, value if isinstance(value, list) else [value])] for name, value in filters.items()}
        return [row for row in self.rows if all(str(row[name]) in values for name, values in wanted.items())]

    def described(self) -> list[Row]:
        return [{"id": "_id", "type": "int"}, *({"id": name, "type": kind} for name, kind in self.fields.items())]

    def as_key(self, row: Row) -> tuple[str, ...]:
        return tuple(str(row[name]) for name in self.key)


@action
def datastore_create(portal: Portal, request: Request) -> Answer:
    with writing(portal, request):
        given = request.parameters
        known = portal.tables.get(given.get("resource_id", ""))
        table = known or Table({})
        table.fields |= {one["id"]: one.get("type", "text") for one in given.get("fields", ())}
        table.key = tuple(given["primary_key"]) if "primary_key" in given else table.key
        if len({table.as_key(row) for row in table.rows}) != len(table.rows) and table.key:
            raise InvalidParameterError("constraints", "Cannot insert records or create index because of uniqueness")
        resource_id = new_resource(portal, given["resource"]) if "resource" in given else given["resource_id"]
        check_writable(portal, request, resource_id)
        portal.tables[resource_id] = table
        return answered(request, "datastore_create", {"resource_id": resource_id, "fields": table.described()})


def new_resource(portal: Portal, given: Resource) -> str:
    package = existing(portal, given["package_id"]).package
    made = resource(given, package["id"], len(package["resources"]), {})
    made |= {"url_type": "datastore", "url": "_datastore_only_resource", "datastore_active": True}
    kept(portal, {**package, "resources": [*package["resources"], made]}, package)
    return str(made["id"])


def check_writable(portal: Portal, request: Request, resource_id: str) -> None:
    _, found = found_resource(portal, resource_id)
    if found.get("url_type") != "datastore" and not request.parameters.get("force"):
        raise InvalidParameterError("read-only", "Cannot edit read-only resource. Use 'force' to force editing.")


@action
def datastore_upsert(portal: Portal, request: Request) -> Answer:
    """All rows or none."""
    with writing(portal, request):
        table = found_table(portal, request)
        check_writable(portal, request, asked(request, "resource_id", "resource_id"))
        records = [checked(table, record) for record in request.parameters.get("records", ())]
        method = METHODS[request.text("method") or "upsert"]
        for record in records:
            method(table, record)
        return answered(request, "datastore_upsert", {"resource_id": request.text("resource_id"), "method": "upsert"})


def checked(table: Table, record: Row) -> Row:
    unknown = [name for name in record if name not in table.fields]
    if unknown:
        raise InvalidParameterError("fields", f'fields "{", ".join(unknown)}" do not exist')
    for name, value in record.items():
        if value is not None and not re.fullmatch(TYPES[table.fields[name]], str(value)):
            raise InvalidParameterError("records", f"invalid input syntax for type {table.fields[name]}: {value!r}")
    return {name: float(value) if _is_number(table, name, value) else value for name, value in record.items()}


def _is_number(table: Table, name: str, value: Any) -> bool:
    return table.fields[name] == "numeric" and value is not None and not isinstance(value, int)


def upsert(table: Table, record: Row) -> None:
    if not table.key:
        raise InvalidParameterError("table", "unique key must be passed for update/upsert")
    if not set(table.key) <= set(record):
        raise InvalidParameterError("key", f'fields "{", ".join(table.key)}" are missing but needed as key')
    row = next((row for row in table.rows if table.as_key(row) == table.as_key(record)), None)
    if row is None:
        insert(table, record)
    else:
        row |= record


def insert(table: Table, record: Row) -> None:
    table.rows.append({"_id": next(table.ids), **dict.fromkeys(table.fields), **record})


METHODS: dict[str, Callable[[Table, Row], None]] = {"upsert": upsert, "insert": insert}


@action
def datastore_delete(portal: Portal, request: Request) -> Answer:
    """Without filters the whole table, as CKAN does."""
    with writing(portal, request):
        table, filters = found_table(portal, request), request.parameters.get("filters")
        check_writable(portal, request, asked(request, "resource_id", "resource_id"))
        if not filters:
            del portal.tables[request.text("resource_id")]
        else:
            gone = table.found(filters)
            table.rows = [row for row in table.rows if row not in gone]
        return answered(request, "datastore_delete", {"filters": filters})


@action
def datastore_search(portal: Portal, request: Request) -> Answer:
    table, filters = found_table(portal, request), request.parameters.get("filters") or {}
    found = table.found(json.loads(filters) if isinstance(filters, str) else filters)
    name, _, order = request.text("sort").partition(" ")
    if name:
        found = sorted(found, key=lambda row: str(row[name]), reverse=order == "desc")
    start, limit = int(request.text("offset") or 0), min(int(request.text("limit") or ROWS), ROWS_MAX)
    rows = found[start : start + limit]
    result = {"resource_id": request.text("resource_id"), "fields": table.described(), "records": rows}
    return answered(request, "datastore_search", {**result, "total": len(found), "limit": limit})


@action
def datastore_info(portal: Portal, request: Request) -> Answer:
    table = found_table(portal, request, "id")
    described = [{**one, "schema": {"uniquekey": one["id"] in table.key}} for one in table.described()]
    return answered(request, "datastore_info", {"meta": {"count": len(table.rows)}, "fields": described})


def found_table(portal: Portal, request: Request, name: str = "resource_id") -> Table:
    table: Table | None = portal.tables.get(asked(request, name, name, "resource_id"))
    if table is None:
        raise NotFoundError
    return table
