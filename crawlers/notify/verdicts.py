"""Of which runs somebody is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from crawlers.exceptions import ArgumentError
from crawlers.runs.run import State

if TYPE_CHECKING:
    from collections.abc import Iterable

VERDICTS = tuple(state for state in get_args(State) if state not in ("pending", "running"))


def chosen(words: Iterable[str]) -> frozenset[str]:
    """
    >>> sorted(chosen(["failed", " blocked "]))
    ['blocked', 'failed']

    Raises:
        ArgumentError: a word is no verdict.
    """
    found = frozenset(filter(None, (word.strip() for word in words)))
    wrong = sorted(found.difference(VERDICTS))
    if wrong:
        raise ArgumentError(f"NOTIFY_VERDICTS: {wrong[0]!r} is no verdict. There are: {', '.join(VERDICTS)}.")
    return found
