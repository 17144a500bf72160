"""A publish under way: its steps are written one after the other, or all that was written is restored."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crawlers.exceptions import AnswerError, ConflictError, RefusedWriteError, UnclearWriteError, WriteError
from crawlers.publish.datastore import RowsUpsert, TableCreate
from crawlers.publish.operations import PackageCreate, PackagePatch, PackageRetire, PackageSync, ResourcePatch
from crawlers.publish.record import differences
from crawlers.safety.redact import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawlers.publish.journal import Entry, Steps
    from crawlers.publish.operations import Call, Operation, Step
    from crawlers.publish.portal import Portal
    from crawlers.publish.record import Record


@dataclass(frozen=True, slots=True)
class Plan:
    """What is about to happen.

    Args:
        steps: of the publish, in the journal.
        is_rollback: whether they are to be undone.
        has_work: whether there is anything to do.
    """

    entry: Entry
    steps: Steps
    is_rollback: bool
    has_work: bool


logger = logging.getLogger(__name__)

OPERATIONS: dict[str, Operation] = {
    "package_patch": PackagePatch(),
    "resource_patch": ResourcePatch(),
    "package_create": PackageCreate(),
    "package_sync": PackageSync(),
    "package_retire": PackageRetire(),
    "datastore_create": TableCreate(),
    "datastore_upsert": RowsUpsert(),
}
"""By the names that changes have."""
_SHOWN = 10  # fields that an error names
_FIRST = 10  # records: if these are refused, and none was ever taken, it is not the records' fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """The steps of one publish.

    Args:
        tries: how often a write is sent at most while its outcome is unclear.
        settled: called with each step that is over.
        failed: called with each step that failed, is in conflict or is refused alone, and the error.
    """

    portal: Portal
    steps: Steps
    tries: int
    settled: Callable[[Step], None]
    failed: Callable[[Step, AnswerError], None]

    async def publish(self) -> bool:
        """Do the steps that are not done; if one fails for good, restore all. Return whether all are done or left out.

        Raises:
            AnswerError: as `restore`.
            OutputError: the journal can't be written.
        """
        self.steps.journal.mark(self.steps.run, "publishing")
        refused = 0
        for step in self.steps.forward("planned", "sent"):
            try:
                done = await self._do(step)
                refused += done is None
                if refused == _FIRST and not (self.steps.entry.unchanged or self.steps.has("done")):
                    message = f"the portal refuses the first {refused} records, and has taken none: no more is sent"
                    raise RefusedWriteError("refused", message)
            except AnswerError as error:
                self.failed(step, error)
                await self.restore()
                return False
            if done:
                self.settled(done)
        self.steps.journal.mark(self.steps.run, "published")
        return True

    async def restore(self) -> None:
        """Undo the steps in reverse: each record is restored if it is still as its step left it.

        Raises:
            AnswerError: the portal does not answer, so some are not restored yet; another call goes on there.
            OutputError: the journal can't be written.
        """
        states = self.steps.to_restore()
        self.steps.journal.mark(self.steps.run, "undoing")
        for step in self.steps.back(*states):
            try:
                await self._undo(step)
            except ConflictError as error:
                self.failed(self.steps.set(step, "conflict", error=str(error)), error)
            else:
                self.settled(self.steps.set(step, "restored"))
        self.steps.journal.mark(self.steps.run, "undone")

    # Forward

    async def _do(self, step: Step) -> Step | None:
        """Do a step; return it as it is then, or ``None`` if the portal refuses its record alone, which is reported."""
        operation = OPERATIONS[step.change.operation]
        before = await operation.read(self.portal, step.change)
        if step.state == "sent":  # when the last run was killed: what was read may be before or after the write
            return await self._judge(step, before) or await self._write(step)
        if before is None and not operation.creates:
            return self.steps.set(step, "left_out", error="it is not in the catalogue any more")
        sent = operation.body(step.change, before)
        if sent is None:
            return self.steps.set(step, "unchanged")
        return await self._write(self.steps.set(step, "sent", before=before, sent=sent))

    async def _write(self, step: Step) -> Step | None:
        operation = OPERATIONS[step.change.operation]
        left = self.tries
        while True:
            left -= 1
            try:
                await self.portal.write(operation.action, step.sent or {})
            except RefusedWriteError as error:
                return await self._refused(step, error)
            except UnclearWriteError as error:
                now = await operation.read(self.portal, step.change)  # which waits as long as the portal wants
                if done := await self._judge(step, now):
                    return done
                if left <= 0:
                    self._fail(step, error)
                    return None
                logger.info("%s of %s is sent again: %s", operation.action, step.change.subject, error)
            else:
                return await self._read_back(step)

    async def _refused(self, step: Step, error: RefusedWriteError) -> Step | None:
        """Return the step as left out, or as done by an earlier send whose answer was lost; ``None`` as `_do` does.

        Raises:
            RefusedWriteError: it fails the whole publish.
            ConflictError: somebody else has changed the record meanwhile.
        """
        operation = OPERATIONS[step.change.operation]
        now = await operation.read(self.portal, step.change)
        if excuse := operation.excuse(str(error)):
            if done := await self._judge(step, now):
                return done
            logger.warning("%s is left out: %s", one_line(step.change.title), one_line(excuse))
            return self.steps.set(step, "left_out", error=excuse)
        if differences(step.before, now):  # it was done nevertheless, and is restored
            raise error
        self._fail(step, error)
        return None

    def _fail(self, step: Step, error: WriteError) -> None:
        """Leave a step out whose record the portal refuses, and report it.

        Raises:
            WriteError: it fails the whole publish.
        """
        if not OPERATIONS[step.change.operation].is_refused_alone(error):
            self.steps.set(step, "failed", error=str(error))
            raise error
        self.failed(self.steps.set(step, "left_out", error=str(error)), error)

    async def _judge(self, step: Step, now: Record | None) -> Step | None:
        """Return the step as done if its write was done, ``None`` if the record is as before.

        Raises:
            ConflictError: it is neither.
        """
        if OPERATIONS[step.change.operation].is_written(step, now):
            return self.steps.set(step, "done", after=now)
        if not differences(step.before, now):
            return None
        error = ConflictError(f"it was changed by somebody else while it was written ({_named(step.before, now)})")
        self.steps.set(step, "conflict", error=str(error))
        raise error

    async def _read_back(self, step: Step) -> Step:
        operation = OPERATIONS[step.change.operation]
        now = await operation.read(self.portal, step.change)
        if lacking := operation.lacking(step.sent or {}, now):
            self.steps.set(step, "sent", after=now)
            names = one_line(", ".join(lacking[:_SHOWN]))
            raise RefusedWriteError("refused", f"the portal answered success, and has other values of: {names}")
        return self.steps.set(step, "done", after=now)

    # Back

    async def _undo(self, step: Step) -> None:
        operation = OPERATIONS[step.change.operation]
        now = await operation.read(self.portal, step.change)
        if not differences(step.before, now):
            return
        if not operation.is_own(step, now):
            changed = _named(step.after or step.before, now)
            raise ConflictError(f"it was changed by somebody else since it was written ({changed}), and is kept so")
        for call in operation.undo(step, now):
            await self._call(step, call)
        now = await operation.read(self.portal, step.change)
        if differences(step.before, now):
            raise ConflictError(f"the portal has not restored all of it: {_named(step.before, now)}")

    async def _call(self, step: Step, call: Call) -> None:
        operation = OPERATIONS[step.change.operation]
        left = self.tries
        while True:
            left -= 1
            try:
                return await self.portal.write(*call)
            except RefusedWriteError as error:
                raise ConflictError(f"the portal refuses to restore it: {error}") from None
            except UnclearWriteError:
                now = await operation.read(self.portal, step.change)
                if not differences(step.before, now):
                    return None
                if left <= 0:
                    raise


def _named(before: Record | None, now: Record | None) -> str:
    found = differences(before, now)
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return one_line(", ".join(found[:_SHOWN])) + more
