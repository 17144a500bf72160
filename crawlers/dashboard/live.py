"""Pages that reload while a crawl runs: by the browser itself, for they have no script."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from flask import request

from crawlers.dashboard.addresses import here

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crawlers.runs import Run

RUN = 10
"""Seconds between two loads of a run's page: those between two heartbeats."""
OTHERS = 60
"""The same of pages that show much else."""


def live(runs: Iterable[Run], seconds: int = OTHERS) -> dict[str, int | str]:
    """Return what base.html needs to reload a page: nothing if no crawl runs, or if the reader has stopped it.

    Args:
        runs: those that the page shows.
    """
    words = request.args.to_dict()
    if words.get("live") == "no" or not any(run.state == "running" for run in runs):
        return {}
    return {"live": seconds, "still": here(quote(request.path), **words | {"live": "no"})}
