"""The runs: those that are at work, and those that have ended."""

from __future__ import annotations

import heapq
from itertools import islice

from msgspec import UNSET

from crawlers.operate.dashboard.api.answers import Run, Runs
from crawlers.operate.dashboard.api.questions import OneRun, RunsPage, cursor, next_page, position
from crawlers.operate.dashboard.api.sources import check, names_of
from crawlers.operate.dashboard.pages.run import stored
from crawlers.operate.dashboard.site import Site
from crawlers.store.figures.runs import key, newest


def runs(site: Site, asked: RunsPage) -> Runs:
    """List the runs, those that started last first."""
    before = position(asked.after, tuple[str, str, str]) if asked.after else None
    at_work = site.unfinished(asked.source or None)
    known = {(run.source, run.run) for run in at_work}
    current = (run for run in at_work if asked.status in (UNSET, run.state) and (before is None or key(run) < before))
    with site.index() as db:
        if asked.source:
            check(asked.source, {*names_of(site, db), *(run.source for run in at_work)})
        ended = newest(db, asked.source or None, asked.status or None, before)
        others = (run for run in ended if (run.source, run.run) not in known)
        both = heapq.merge(sorted(current, key=key, reverse=True), others, key=key, reverse=True)
        found = list(islice(both, asked.limit + 1))
    more = cursor(*key(found[asked.limit - 1])) if len(found) > asked.limit else None
    return Runs(runs=[Run.from_fields(run) for run in found[: asked.limit]], next=next_page("/api/runs", asked, more))


def run(site: Site, asked: OneRun) -> Run:
    """Describe a run."""
    return Run.from_fields(stored(site, asked.source, asked.run))
