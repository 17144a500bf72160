"""What is to change in one record of a portal: what people read of it, and what an operation needs to do it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

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
        title: of the record.
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
        sent: what was sent.
        after: the record as it was read back.
        error: why it is left out, failed, or in conflict.
    """

    number: int
    change: Change
    state: State
    before: Record | None = None
    sent: dict[str, Any] | None = None
    after: Record | None = None
    error: str | None = None
