"""What is to change in a record of a portal, and what can be done to it, and undone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from crawlers.exceptions import AnswerError
from crawlers.publish.record import STAMPS, Record, differences, extras, is_nothing, is_same, with_extras
from crawlers.records.tables import csv_rows
from crawlers.safety.redact import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crawlers.exceptions import WriteError
    from crawlers.publish.portal import Portal
    from crawlers.publish.record import Record


State = Literal["planned", "left_out", "unchanged", "sent", "done", "restored", "conflict", "failed"]
"""How far a step is.

planned: nothing was sent. left_out: nothing can be sent, and its error says why. unchanged: the record was as wanted.
sent: a write was sent, and what came of it is not known. done: it was written, and read back. restored: it is again as
it was. conflict: somebody else changed it, and it is kept so. failed: the portal refused it.
"""


class Field(NamedTuple):
    """One field of a record, as people read it in a plan.

    Args:
        total: what the plan's last line counts it as, if not by its name.
    """

    name: str
    before: Any
    after: Any
    total: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is to change in one record; one without fields needs no write.

    Args:
        operation: the name of an `crawlers.publish.operations.Operation`.
        subject: what the operation knows the record by: a package's id, a resource's id, a table and a day.
        wanted: what the operation needs to know; JSON.
        fields: what changes.
        problem: why the record is left out, if it is: one sentence.
    """

    operation: str
    subject: str
    title: str
    wanted: dict[str, Any] = field(default_factory=dict)
    fields: list[Field] = field(default_factory=list)
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A change in the journal.

    Args:
        number: its place in the plan, from 1.
        before: the record as it was when it was written; ``None`` if there was none, or nothing was written.
        error: why it is left out, failed, or in conflict.
    """

    number: int
    change: Change
    state: State
    before: Record | None = None
    sent: dict[str, Any] | None = None
    after: Record | None = None
    error: str | None = None


class Call(NamedTuple):
    """A write action, and what is sent to it."""

    action: str
    body: dict[str, Any]


_OF_THE_RECORD = frozenset((400, 409, 413, 422, 500))
"""The statuses of answers to a record's content: 409 is a Validation Error, 500 a text that the database refuses."""


class Operation(ABC):
    """A way to change a record, and to undo that; it remembers nothing, the journal does.

    Attributes:
        action: CKAN's write action.
        read_action: the action that reads the record.
        creates: whether the record need not be there.
        stands_alone: whether the publish goes on without a record that the portal refuses.
    """

    action: ClassVar[str]
    read_action: ClassVar[str] = "package_show"
    creates: ClassVar[bool] = False
    stands_alone: ClassVar[bool] = False

    async def read(self, portal: Portal, change: Change) -> Record | None:
        """Return the record as it is now; ``None`` if it is not there, or deleted.

        Raises:
            AnswerError: it can't be read, or the portal answers with another one.
        """
        found = await portal.read(self.read_action, {"id": change.subject})
        if found and change.subject not in (found.get("id"), found.get("name")):
            raise AnswerError("refused", f"the portal answers with another record than {change.subject}")
        return None if found is None or found.get("state") == "deleted" else found

    @abstractmethod
    def body(self, change: Change, before: Record | None) -> dict[str, Any] | None:
        """Return what is sent; ``None`` if the record is as wanted."""

    @abstractmethod
    def lacking(self, sent: Mapping[str, Any], now: Record | None) -> list[str]:
        """Return the names of what was sent and is not in the record that is read back."""

    def is_written(self, step: Step, now: Record | None) -> bool:
        """Return whether the record is as it was before the step, but for what the step sent."""
        return not self.lacking(step.sent or {}, now)

    def is_own(self, step: Step, now: Record | None) -> bool:
        """Return whether the record is still as the step left it, so that nobody else's work is lost by undoing it."""
        return self.is_written(step, now) if step.after is None else not differences(step.after, now)

    def excuse(self, refusal: str) -> str | None:
        """Return why a record that the portal refuses is left out; ``None`` if the whole publish is to be undone."""
        return None

    def is_refused_alone(self, error: WriteError) -> bool:
        """Return whether a refusal says something of this record only, so that the others are written."""
        return self.stands_alone and error.status in _OF_THE_RECORD

    @abstractmethod
    def undo(self, step: Step, now: Record | None) -> list[Call]:
        """Return the calls that make the record what it was; each may be sent twice."""


class PackagePatch(Operation):
    """Sets fields and extras of a package, and leaves all others as they are.

    Wanted: ``fields`` and ``extras``, values by name.
    """

    action = "package_patch"

    def body(self, change: Change, before: Record | None) -> dict[str, Any] | None:
        """Return the fields that differ, and if an extra does the whole list: package_patch replaces it."""
        record = before or {}
        found = differing(record, change.wanted.get("fields", {}))
        if changed := differing(extras(record), change.wanted.get("extras", {})):
            found["extras"] = with_extras(record, changed)
        return {"id": change.subject, **found} if found else None

    def lacking(self, sent: Mapping[str, Any], now: Record | None) -> list[str]:
        return lacking(sent, now, "id", "extras") + lacking(extras(sent), extras(now))

    def is_written(self, step: Step, now: Record | None) -> bool:
        return not differences({**(step.before or {}), **(step.sent or {}), "id": (step.before or {}).get("id")}, now)

    def undo(self, step: Step, now: Record | None) -> list[Call]:
        return [Call(self.action, {"id": step.change.subject, **_as_before(step.sent or {}, step.before or {})})]


class ResourcePatch(PackagePatch):
    """Sets fields of a resource. Wanted: ``fields``."""

    action, read_action = "resource_patch", "resource_show"

    def undo(self, step: Step, now: Record | None) -> list[Call]:
        """Return the call with empty texts for what was absent: CKAN takes null for a field that is not given."""
        (call,) = super().undo(step, now)
        return [Call(call.action, {name: "" if value is None else value for name, value in call.body.items()})]


def patch(
    record: Record,
    fields: Mapping[str, Any],
    extra: Mapping[str, Any] | None = None,
    *,
    operation: str = "package_patch",
) -> Change:
    """Return the change that sets fields and extras of a package; one without fields if it has those values.

    Args:
        record: the package as it is.
        extra: texts by key.
        operation: resource_patch for a resource, which has no extras.
    """
    extra = extra or {}
    wanted = {"fields": dict(fields), "extras": dict(extra)}
    changed = _changed(record, fields) + _changed(extras(record), extra)
    title = one_line(record.get("title") or record.get("name"))
    return Change(operation=operation, subject=str(record["id"]), title=title, wanted=wanted, fields=changed)


def _changed(known: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[Field]:
    return [Field(name, known.get(name), value) for name, value in differing(known, wanted).items()]


def differing(record: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the wanted values that a record does not have."""
    return {name: value for name, value in wanted.items() if not is_same(record.get(name), value)}


def lacking(sent: Mapping[str, Any], now: Mapping[str, Any] | None, *without: str) -> list[str]:
    """Return the names of what was sent and is not there, without some of them."""
    found = now or {}
    return [name for name, value in sent.items() if name not in without and not is_same(found.get(name), value)]


def _as_before(sent: Mapping[str, Any], before: Record) -> dict[str, Any]:
    """Return the values that the fields of a patch had; for one that was absent, what makes CKAN drop it."""
    absent: dict[str, Any] = {name: [] if isinstance(value, list) else None for name, value in sent.items()}
    return {name: before.get(name, absent[name]) for name in sent if name != "id"}


_LONGEST = 80  # characters of a name, before the mark of a deleted one
_COLUMNS = ("name", "description", "mimetype", "size", "hash", "created", "last_modified")
"""The fields of a resource that CKAN keeps unless it gets another value; null is none."""


class PackageCreate(Operation):
    """Creates a package. Wanted: ``package``; the subject is its name, for CKAN gives the id."""

    action = name = "package_create"
    creates = stands_alone = True
    _name_taken = "Validation Error: name: "  # by a package that a visitor is not shown; in whatever language

    def body(self, change: Change, before: Record | None) -> dict[str, Any] | None:
        return None if before else dict(change.wanted["package"])

    def lacking(self, sent: Mapping[str, Any], now: Record | None) -> list[str]:
        return _lacking_of_package(sent, now)

    def excuse(self, refusal: str) -> str | None:
        """Return what to do about a package that an editor has deleted or hidden: it keeps its name."""
        advice = "its package is deleted or hidden: purge or show it, or set CKAN_API_TOKEN to a token that may read it"
        return f"{advice} ({refusal})" if self._name_taken in refusal else None

    def undo(self, step: Step, now: Record | None) -> list[Call]:
        record = now or {}
        return [Call("package_patch", retired(str(record.get("id") or step.change.subject), str(record.get("name"))))]


class PackageSync(PackagePatch):
    """Sets a package's fields and extras, its tags and its resources; the portal's own fields of these stay.

    Wanted: ``fields`` and ``extras``, values by name; ``tags``, names; ``resources``.
    """

    name: ClassVar[str] = "package_sync"
    stands_alone = True

    def body(self, change: Change, before: Record | None) -> dict[str, Any] | None:
        """Return what differs; of tags and resources the whole list, for package_patch replaces it."""
        record, wanted = before or {}, change.wanted
        found = super().body(change, before) or {"id": change.subject}
        if tag_names(record) != wanted["tags"]:
            bound = [one for one in record.get("tags") or [] if isinstance(one, dict) and one.get("vocabulary_id")]
            found["tags"] = [*bound, *({"name": name} for name in wanted["tags"])]
        if not has_resources(record, wanted["resources"]):
            found["resources"] = _merged(resources(record), wanted["resources"])
        return found if len(found) > 1 else None

    def lacking(self, sent: Mapping[str, Any], now: Record | None) -> list[str]:
        return _lacking_of_package(sent, now)

    def is_written(self, step: Step, now: Record | None) -> bool:
        """Return whether only what was sent has changed: CKAN gives new resources their ids."""
        sent = step.sent or {}
        if now is None or self.lacking(sent, now):
            return False
        lists: Record = {name: now.get(name) for name in ("tags", "resources") if name in sent}
        return not differences({**(step.before or {}), **sent, **lists, "id": (step.before or {}).get("id")}, now)

    def undo(self, step: Step, now: Record | None) -> list[Call]:
        """Return the call with the resources as they were, and empty texts for what they lacked."""
        (call,) = super().undo(step, now)
        if "resources" in call.body:
            call.body["resources"] = [
                resource | {name: "" for name in _COLUMNS if resource.get(name) is None}
                for resource in resources(step.before or {})
            ]
        return [call]


class PackageRetire(Operation):
    """Deletes a package and frees its name, so that a dataset that comes back can have it. Wanted: ``name``."""

    action = "package_patch"
    name: ClassVar[str] = "package_retire"
    stands_alone = True

    def body(self, change: Change, before: Record | None) -> dict[str, Any] | None:
        return retired(change.subject, change.wanted["name"]) if before else None

    def lacking(self, sent: Mapping[str, Any], now: Record | None) -> list[str]:
        return ["its deletion"] if now else []

    def undo(self, step: Step, now: Record | None) -> list[Call]:
        before = step.before or {}
        return [Call(self.action, {"id": step.change.subject, "state": "active", "name": before.get("name")})]


def retired(package_id: str, name: str) -> dict[str, Any]:
    """Return what deletes a package and frees its name: CKAN keeps deleted ones, and each name once.

    >>> retired("3f1c2a", "floods-2f9b")
    {'id': '3f1c2a', 'state': 'deleted', 'name': 'floods-2f9b-deleted-3f1c2a'}
    """
    return {"id": package_id, "state": "deleted", "name": f"{name[:_LONGEST]}-deleted-{package_id[:8].lower()}"}


def sync(record: Record, wanted: Mapping[str, Any]) -> Change:
    """Return the change that brings a package up to date; one without fields if it is.

    Args:
        wanted: as `crawlers.publish.datasets.package` returns it.
    """
    fields = _changed(record, wanted["fields"]) + _changed(extras(record), wanted["extras"])
    if tag_names(record) != wanted["tags"]:
        fields.append(Field("tags", tag_names(record), wanted["tags"]))
    if not has_resources(record, wanted["resources"]):
        fields.append(Field("resources", _addresses(resources(record)), _addresses(wanted["resources"])))
    title = str(record.get("title") or record.get("name"))
    return Change(
        operation=PackageSync.name, subject=str(record["id"]), title=title, wanted=dict(wanted), fields=fields
    )


def _lacking_of_package(sent: Mapping[str, Any], now: Record | None) -> list[str]:
    found = lacking(sent, now, "id", "extras", "resources", "tags") + lacking(extras(sent), extras(now))
    if "tags" in sent and tag_names(sent) != tag_names(now or {}):
        found.append("tags")
    wanted = [{name: one[name] for name in one if name != "format"} for one in sent.get("resources", ())]
    if "resources" in sent and not has_resources(now or {}, wanted):  # each portal has names of its own for formats
        found.append("resources")
    return found


def tag_names(record: Mapping[str, Any]) -> list[str]:
    """Return the names of a package's free tags, sorted."""
    found = [one for one in record.get("tags") or [] if isinstance(one, dict) and not one.get("vocabulary_id")]
    return sorted(str(one.get("name")) for one in found)


def resources(record: Mapping[str, Any]) -> list[Record]:
    return [one for one in record.get("resources") or [] if isinstance(one, dict)]


def has_resources(record: Mapping[str, Any], wanted: list[Record]) -> bool:
    """Return whether a package has these resources, in this order; what else the portal says of them does not count."""
    there = resources(record)
    return len(there) == len(wanted) and all(
        is_same(have.get(name), value) or (name == "format" and _format(have.get(name)) == _format(value))
        for have, want in zip(there, wanted, strict=True)
        for name, value in want.items()
        if not is_nothing(value)
    )


def _format(name: Any) -> str:
    """Return a format's name as CKAN has it, in small letters.

    >>> _format("Shapefile"), _format("GEOJSON"), _format("image/jpeg")
    ('shp', 'geojson', 'jpeg')
    """
    plain = str(name).strip().lower()
    return _formats().get(plain, plain)


@cache
def _formats() -> dict[str, str]:
    return {alias: name.lower() for alias, name in csv_rows(__package__, "formats.csv")}


def _merged(there: list[Record], wanted: list[Record]) -> list[Record]:
    """Return the wanted resources; one whose address the package has already keeps its id and the portal's fields."""
    left: defaultdict[str, list[Record]] = defaultdict(list)
    for one in there:
        left[str(one.get("url"))].append(one)
    found = []
    for want in wanted:
        linked = left[str(want.get("url"))]
        same = min(linked, key=lambda resource: len(differing(resource, want)), default=None)
        if same is not None:
            linked.remove(same)
        own = {name: value for name, value in (same or {}).items() if name not in STAMPS}
        found.append(own | want)
    return found


def _addresses(found: list[Record]) -> list[str]:
    return [str(one.get("url")) for one in found]
