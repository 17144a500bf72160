"""A plan as people read it: each record, field by field; long ones are folded."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from crawlers.publish.record import is_nothing
from crawlers.safety.redact import safe_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.publish.operations import Change, Step
    from crawlers.publish.publication import Plan

RECORDS = 20
"""Records that are shown with their fields."""
_FIELDS = 12  # of a record
_LEFT_OUT = 10
_NAMES = 12  # of fields, in the last line
_LONGEST = 60  # characters of a value


def lines(plan: Plan, *, is_full: bool = False) -> Iterator[str]:
    """Yield the lines of a plan.

    Args:
        is_full: whether every record and every field is shown.
    """
    what = f"the way back from {plan.entry.run}: {plan.entry.title}" if plan.is_rollback else plan.entry.title
    yield f"{what} -> {plan.entry.portal}"
    changes: Counter[str] = Counter()
    records = 0
    for records, step in enumerate(_steps(plan), 1):
        _count(changes, step.change)
        if is_full or records <= RECORDS:
            yield ""
            yield from _record(records, step, plan, is_full=is_full)
    if records > RECORDS and not is_full:
        yield ""
        yield f"... and {_number(records - RECORDS, 'more record')}: --full shows them"
    yield ""
    if not plan.is_rollback:
        yield from _left_out(plan, is_full=is_full)
    yield _total(plan, records, changes)


def _steps(plan: Plan) -> Iterator[Step]:
    return plan.steps.back(*plan.steps.to_restore()) if plan.is_rollback else plan.steps.forward("planned")


def _record(number: int, step: Step, plan: Plan, *, is_full: bool) -> Iterator[str]:
    change = step.change
    yield f"{number}. {safe_line(change.title, 100)} ({safe_line(change.subject, 100)})"
    shown = change.fields if is_full else change.fields[:_FIELDS]
    width = max((len(safe_line(field.name)) for field in shown), default=0)
    for field in shown:
        values = (field.after, field.before) if plan.is_rollback else (field.before, field.after)
        yield f"     {safe_line(field.name):<{width}}  {_difference(*values)}"
    if len(shown) < len(change.fields):
        yield f"     ... and {_number(len(change.fields) - len(shown), 'more field')}"


def _difference(before: Any, after: Any) -> str:
    r"""Return what changes; of two lists, what comes and what goes.

    >>> _difference(101, 205), _difference(None, "x\x1b[2J"), _difference(["a", "b"], ["b", "c"])
    ('101 -> 205', 'nothing -> x[2J', '2 -> 2 values: +c, -a')
    """
    if isinstance(before, list) and isinstance(after, list):
        old, new = [_text(one) for one in before], [_text(one) for one in after]
        moved = [f"+{one}" for one in new if one not in old] + [f"-{one}" for one in old if one not in new]
        more = f", ... {len(moved) - _FIELDS} more" if len(moved) > _FIELDS else ""
        return f"{len(old)} -> {len(new)} values: {', '.join(moved[:_FIELDS])}{more}"
    return f"{_text(before)} -> {_text(after)}"


def _text(value: Any) -> str:
    """
    >>> _text("a" * 100)[-23:], _text(True), _text([]), _text(["dcat", 2])
    ('aaaaa… (100 characters)', 'true', 'nothing', 'dcat, 2')
    """
    if is_nothing(value):
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    more = f" ({len(text):,} characters)" if len(text) > _LONGEST else ""
    return safe_line(text, _LONGEST) + more


def _left_out(plan: Plan, *, is_full: bool) -> Iterator[str]:
    found = 0
    for found, step in enumerate(plan.steps.forward("left_out"), 1):
        if is_full or found <= _LEFT_OUT:
            yield f"Left out: {safe_line(step.change.title, 100)} ({safe_line(step.change.subject, 100)}): {step.error}"
    if found > _LEFT_OUT and not is_full:
        yield f"... and {found - _LEFT_OUT} more are left out"
    if found:
        yield ""


def _count(changes: Counter[str], change: Change) -> None:
    for field in change.fields:
        name = field.total or field.name
        if name in changes or len(changes) <= _NAMES:
            changes[name] += 1
        else:
            changes[""] += 1


def _total(plan: Plan, records: int, changes: Counter[str]) -> str:
    if not records:
        rest = "" if plan.is_rollback else f": {_number(plan.entry.unchanged, 'record')} as wanted"
        return f"Nothing to do{rest}."
    verb = "restored" if plan.is_rollback else "changed"
    named = changes if len(changes) <= _NAMES else {}
    fields = ", ".join(f"{safe_line(name)} {count}" for name, count in sorted(named.items(), key=lambda item: -item[1]))
    count = _number(sum(changes.values()), "field")
    rest = "" if plan.is_rollback else f" {plan.entry.unchanged:,} more as wanted."
    return f"{_number(records, 'record')} to be {verb}, {count}{f' ({fields})' if fields else ''}.{rest}"


def _number(count: int, noun: str) -> str:
    """
    >>> _number(1, "record"), _number(2000, "record")
    ('1 record', '2,000 records')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
