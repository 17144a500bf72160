"""What is done to the package that a source's dataset has: it is created, brought up to date, or deleted."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from crawlers.publish.change import Change, Field
from crawlers.publish.operations import Call, Operation, PackagePatch, differing, lacking
from crawlers.publish.record import STAMPS, differences, extras, is_nothing, is_same
from crawlers.records.tables import csv_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crawlers.publish.change import Step
    from crawlers.publish.record import Record

_LONGEST = 80  # characters of a name, before the mark of a deleted one
_COLUMNS = ("name", "description", "mimetype", "size", "hash", "created", "last_modified")
"""The fields of a resource that CKAN keeps unless it gets another value; null is none."""


class PackageCreate(Operation):
    """Creates a package. Wanted: ``package``; the subject is its name, for CKAN gives the id."""

    action = name = "package_create"
    creates = True
    _name_taken = "Validation Error: name: "  # by a package that a visitor is not shown; in whatever language

    def body(self, change: Change, before: Record | None) -> dict[str, Any] | None:
        return None if before else dict(change.wanted["package"])

    def lacking(self, sent: Mapping[str, Any], now: Record | None) -> list[str]:
        return lacking(sent, now, "extras", "resources", "tags") + _lacking_parts(sent, now)

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

    def body(self, change: Change, before: Record | None) -> dict[str, Any] | None:
        """Return what differs; of tags and resources the whole list, for package_patch replaces it."""
        record, wanted = before or {}, change.wanted
        found = super().body(change, before) or {"id": change.subject}
        if tag_names(record) != wanted["tags"]:
            found["tags"] = [*_bound_tags(record), *({"name": name} for name in wanted["tags"])]
        if not has_resources(record, wanted["resources"]):
            found["resources"] = _merged(resources(record), wanted["resources"])
        return found if len(found) > 1 else None

    def lacking(self, sent: Mapping[str, Any], now: Record | None) -> list[str]:
        return lacking(sent, now, "id", "extras", "resources", "tags") + _lacking_parts(sent, now)

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
            call.body["resources"] = [_emptied(one) for one in resources(step.before or {})]
        return [call]


class PackageRetire(Operation):
    """Deletes a package and frees its name, so that a dataset that comes back can have it. Wanted: ``name``."""

    action = "package_patch"
    name: ClassVar[str] = "package_retire"

    def body(self, change: Change, before: Record | None) -> dict[str, Any] | None:
        return retired(change.subject, change.wanted["name"]) if before else None

    def lacking(self, sent: Mapping[str, Any], now: Record | None) -> list[str]:
        return ["its deletion"] if now else []

    def undo(self, step: Step, now: Record | None) -> list[Call]:
        before = step.before or {}
        return [Call(self.action, {"id": step.change.subject, "state": "active", "name": before.get("name")})]


OPERATIONS: dict[str, Operation] = {one.name: one for one in (PackageCreate(), PackageSync(), PackageRetire())}
"""By the names that changes have."""


def retired(package_id: str, name: str) -> dict[str, Any]:
    """Return what deletes a package and frees its name: CKAN keeps deleted ones, and each name once.

    >>> retired("3f1c2a", "floods-2f9b")
    {'id': '3f1c2a', 'state': 'deleted', 'name': 'floods-2f9b-deleted-3f1c2a'}
    """
    return {"id": package_id, "state": "deleted", "name": f"{name[:_LONGEST]}-deleted-{package_id[:8].lower()}"}


def sync(record: Record, wanted: Mapping[str, Any]) -> Change:
    """Return the change that brings a package up to date; one without fields if it is.

    Args:
        wanted: as `crawlers.publish.packages.package` returns it.
    """
    fields = [Field(name, record.get(name), value) for name, value in differing(record, wanted["fields"]).items()]
    fields += [
        Field(name, extras(record).get(name), value)
        for name, value in differing(extras(record), wanted["extras"]).items()
    ]
    if tag_names(record) != wanted["tags"]:
        fields.append(Field("tags", tag_names(record), wanted["tags"]))
    if not has_resources(record, wanted["resources"]):
        fields.append(Field("resources", _addresses(resources(record)), _addresses(wanted["resources"])))
    title = str(record.get("title") or record.get("name"))
    return Change(
        operation=PackageSync.name, subject=str(record["id"]), title=title, wanted=dict(wanted), fields=fields
    )


def _lacking_parts(sent: Mapping[str, Any], now: Record | None) -> list[str]:
    """Return which extras, and whether tags or resources, were sent and are not there."""
    found = lacking(extras(sent), extras(now))
    if "tags" in sent and tag_names(sent) != tag_names(now or {}):
        found.append("tags")
    if "resources" in sent and not has_resources(now or {}, [_without_format(one) for one in sent["resources"]]):
        found.append("resources")
    return found


def _without_format(resource: Record) -> Record:
    """Return a resource without what each portal has names of its own for."""
    return {name: value for name, value in resource.items() if name != "format"}


def tag_names(record: Mapping[str, Any]) -> list[str]:
    """Return the names of a package's free tags, sorted."""
    found = [one for one in record.get("tags") or [] if isinstance(one, dict) and not one.get("vocabulary_id")]
    return sorted(str(one.get("name")) for one in found)


def _bound_tags(record: Mapping[str, Any]) -> list[Record]:
    """Return a package's tags of vocabularies, which are the portal's own."""
    return [one for one in record.get("tags") or [] if isinstance(one, dict) and one.get("vocabulary_id")]


def resources(record: Mapping[str, Any]) -> list[Record]:
    """Return a package's resources."""
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


def _emptied(resource: Record) -> Record:
    return resource | {name: "" for name in _COLUMNS if resource.get(name) is None}


def _addresses(found: list[Record]) -> list[str]:
    return [str(one.get("url")) for one in found]
