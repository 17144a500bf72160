"""A plan: what a publish, or the way back from one, will do to a portal's records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from crawlers.publish.change import Change
    from crawlers.publish.journal import Entry, Steps
    from crawlers.publish.portal import Portal


class Target(Protocol):
    """Something on disk that goes into records of a portal.

    Attributes:
        title: what is published: "sites of ecosystem".
    """

    title: str

    def changes(self, portal: Portal) -> AsyncIterator[list[Change]]:
        """Yield changes, some at a time; one without fields is of a record that needs none.

        Raises:
            AnswerError: the portal's records can't be read.
            PublishError: the portal lacks what is needed.
        """


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
