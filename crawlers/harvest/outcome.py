"""How a source's turn in a harvest went."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from crawlers.runs import Run

COMPLETE, NOTHING_STARTED, INCOMPLETE, FAILED, INTERRUPTED = 0, 1, 3, 4, 130
_CODES = {"incomplete": INCOMPLETE, "interrupted": INCOMPLETE, "blocked": FAILED, "failed": FAILED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """
    Args:
        state: the run's; "not started", "running" (already, by another), or "left" when the harvest was stopped before.
        sentence: for people.
        run: ``None`` where there is none.
    """

    source: str
    state: str
    sentence: str
    run: Run | None = None


def exit_code(outcomes: Iterable[Outcome]) -> int:
    """
    >>> exit_code([])
    0
    """
    states = [outcome.state for outcome in outcomes if outcome.state != "running"]
    if states and all(state == "not started" for state in states):
        return NOTHING_STARTED
    codes = [FAILED if state == "not started" else _CODES.get(state, COMPLETE) for state in states]
    return max(codes, default=COMPLETE)
