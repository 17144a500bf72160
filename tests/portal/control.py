"""What only tests ask the portal for: its log, its ids, a change of its data, a fault."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from time import time
from typing import Any

from tests.portal.actions import Portal
from tests.portal.faults import UnknownFaultError
from tests.portal.message import Answer, BadBodyError, Request, json_answer, page

Control = Callable[[Portal, "Log", Request], Any]
CONTROLS: dict[tuple[str, str], Control] = {}


@dataclass
class Log:
    """Every request, in the order they came."""

    kept: bool = True
    entries: list[dict[str, Any]] = field(default_factory=list)

    def add(self, request: Request) -> None:
        if not self.kept:
            return
        entry = {"method": request.method, "path": request.address, "user_agent": request.user_agent, "time": time()}
        if request.token:
            entry["token"] = request.token
        if request.method == "POST":
            entry["body"] = request.body.decode(errors="replace")
        self.entries.append(entry)


def control(method: str) -> Callable[[Control], Control]:
    def register(function: Control) -> Control:
        CONTROLS[method, function.__name__] = function
        return function

    return register


def perform(portal: Portal, log: Log, request: Request, name: str) -> Answer:
    function = CONTROLS.get((request.method, name))
    if not function:
        return page(404)
    try:
        return json_answer(function(portal, log, request))
    except (UnknownFaultError, BadBodyError) as bad:
        return json_answer({"error": str(bad)}, 400)


@control("GET")
def log(_portal: Portal, log: Log, _request: Request) -> Any:
    return list(log.entries)


@control("GET")
def counts(_portal: Portal, log: Log, _request: Request) -> Any:
    return Counter(entry["path"].partition("?")[0] for entry in log.entries)


@control("POST")
def reset(_portal: Portal, log: Log, _request: Request) -> Any:
    log.entries = []
    return {}


@control("GET")
def ids(portal: Portal, _log: Log, _request: Request) -> Any:
    return [dataset.id for dataset in portal.catalogue.ordered("id asc")]


@control("POST")
def fault(portal: Portal, _log: Log, request: Request) -> Any:
    for name, value in request.parameters.items():
        portal.faults.switch(name, value)
    return {name: fault.value for name, fault in portal.faults.on.items()}


@control("POST")
def change(portal: Portal, _log: Log, request: Request) -> Any:
    wanted, catalogue = request.parameters, portal.catalogue
    for key, name in wanted.get("rename", {}).items():
        catalogue.edit(key, {"name": name})
    for key, fields in wanted.get("edit", {}).items():
        catalogue.edit(key, fields)
    for key in [*wanted.get("touch", ()), *wanted.get("rename", ())]:
        catalogue.touch(key)
    for key in wanted.get("remove", ()):
        catalogue.remove(key)
    for key in wanted.get("purge", ()):
        catalogue.purge(key)
    for package in wanted.get("put", ()):
        catalogue.put(package)
    catalogue.ghosts |= set(wanted.get("ghosts", ()))
    catalogue.ghosts -= set(wanted.get("unhide", ()))
    catalogue.hidden |= set(wanted.get("unhide", ()))
    portal.schemas |= wanted.get("schemas", {})
    return {"added": catalogue.grow(wanted.get("add", 0)), "count": len(catalogue.datasets)}


@control("GET")
def packages(portal: Portal, _log: Log, _request: Request) -> Any:
    """Every dataset as it is now, deleted ones too, by id."""
    found = [*portal.catalogue.ordered("id asc"), *portal.catalogue.deleted.values()]
    return {dataset.id: dataset.package for dataset in found}


@control("GET")
def tables(portal: Portal, _log: Log, _request: Request) -> Any:
    """The datastore's, by resource."""
    return {name: {"fields": one.fields, "key": one.key, "rows": one.rows} for name, one in portal.tables.items()}


@control("POST")
def rows(portal: Portal, _log: Log, request: Request) -> Any:
    """Somebody else writes rows into a table."""
    table = portal.tables[request.parameters["resource_id"]]
    table.rows += request.parameters["rows"]
    return {}
