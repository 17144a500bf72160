"""What can be done to a record of a portal, and undone: a package or a resource is patched."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from crawlers.exceptions import AnswerError
from crawlers.publish.change import Change, Field
from crawlers.publish.record import differences, extras, is_same, with_extras
from crawlers.safety.line import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crawlers.publish.change import Step
    from crawlers.publish.portal import Portal
    from crawlers.publish.record import Record


class Call(NamedTuple):
    """A write action, and what is sent to it."""

    action: str
    body: dict[str, Any]


class Operation(ABC):
    """A way to change a record, and to undo that; it remembers nothing, the journal does.

    Attributes:
        action: CKAN's write action.
        read_action: the action that reads the record.
        creates: whether the record need not be there.
    """

    action: ClassVar[str]
    read_action: ClassVar[str] = "package_show"
    creates: ClassVar[bool] = False

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
        return [Call(call.action, emptied(call.body)) for call in super().undo(step, now)]


def emptied(fields: Mapping[str, Any]) -> dict[str, Any]:
    """
    >>> emptied({"id": "r", "size": None})
    {'id': 'r', 'size': ''}
    """
    return {name: "" if value is None else value for name, value in fields.items()}


OPERATIONS: dict[str, Operation] = {one.action: one for one in (PackagePatch(), ResourcePatch())}
"""By the names that changes have."""


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
    changed = [Field(name, record.get(name), value) for name, value in differing(record, fields).items()]
    changed += [
        Field(name, extras(record).get(name), value) for name, value in differing(extras(record), extra).items()
    ]
    title = one_line(record.get("title") or record.get("name"))
    return Change(operation=operation, subject=str(record["id"]), title=title, wanted=wanted, fields=changed)


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
