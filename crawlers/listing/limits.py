"""The user's limits for a crawl: how many datasets and how many resources it may take."""

from __future__ import annotations

import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The values of ``max_datasets`` and ``max_resources``; ``None`` means no limit.

    >>> Limits(datasets=5).is_reached(datasets=5, resources=9)
    True
    >>> Limits(resources=7).resources_left(datasets=1, resources=3)
    4
    """

    datasets: int | None = None
    resources: int | None = None

    @property
    def is_set(self) -> bool:
        """Whether the user set any limit."""
        return bool(self.datasets or self.resources)

    def is_reached(self, *, datasets: int, resources: int) -> bool:
        """Return whether no more datasets may be taken.

        Args:
            datasets: how many were taken.
            resources: how many resources those have.
        """
        return self.resources_left(datasets=datasets, resources=resources) <= 0

    def resources_left(self, *, datasets: int, resources: int) -> int:
        """Return how many more resources may be taken; 0 if no dataset may be taken either."""
        if self.datasets and datasets >= self.datasets:
            return 0
        return self.resources - resources if self.resources else sys.maxsize

    def rows(self, wanted: int, datasets: int) -> int:
        """Return how many datasets to request: those that are wanted, or as many as may still be taken."""
        return min(wanted, self.datasets - datasets) if self.datasets else wanted
