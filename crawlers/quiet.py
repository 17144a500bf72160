"""A run that changed nothing, in words: "0 of 0 datasets listed" reads as if the catalogue were gone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crawlers.moment import moment


def nothing_changed(report: Mapping[str, Any]) -> str | None:
    """Return what a run that changed nothing found; ``None`` for any other run.

    Args:
        report: what is in runs/<run>.json.

    >>> report = {"unchanged_since": "2026-11-20T04:00:12.000Z", "datasets_on_disk": 2977, "expected": 0, "listed": 0}
    >>> nothing_changed(report)
    'nothing changed since 2026-11-20 04:00 UTC; 2,977 datasets on disk'
    >>> nothing_changed(report | {"expected": 305, "listed": 305, "datasets_on_disk": 305})
    'nothing changed since 2026-11-20 04:00 UTC; 305 datasets on disk, 305 of 305 listed'
    """
    since, datasets = moment(report.get("unchanged_since")), report.get("datasets_on_disk")
    if since is None or not isinstance(datasets, int):
        return None
    on_disk = f"{datasets:,} {'dataset' if datasets == 1 else 'datasets'} on disk"
    return f"nothing changed since {since:%Y-%m-%d %H:%M} UTC; {on_disk}{_listed(report)}"


def _listed(report: Mapping[str, Any]) -> str:
    listed, expected = report.get("listed"), report.get("expected")
    if not listed:
        return ""
    return f", {listed} listed" if expected is None else f", {listed} of {expected} listed"
