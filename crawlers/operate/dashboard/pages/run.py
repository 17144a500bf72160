"""A run: its report in words, what failed, what was written, and the end of its log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import abort, request

from crawlers.exceptions import IndexUnreadableError, RunError
from crawlers.operate.dashboard import addresses, parameters
from crawlers.operate.dashboard.error_lines import MOST, Wanted, newest, of_run
from crawlers.operate.dashboard.parameters import Paging, live, some
from crawlers.operate.dashboard.tail import log_end, warnings
from crawlers.store.figures.runs import indexed
from crawlers.store.lines import Budget
from crawlers.store.run_text import looks
from crawlers.store.runs import find, items

if TYPE_CHECKING:
    from crawlers.operate.dashboard.site import Site
    from crawlers.store.runs import Run

_SIZE = 50
_FAILED = 10


def page(site: Site, source: str, name: str) -> str:
    """Return the page of a run."""
    run = stored(site, source, name)
    number = parameters.page(request.args)
    written, more = some((item for item in items(run) if item.status != "failed"), number, _SIZE)
    described = site.described((source, item.dataset_id) for item in written if item.dataset_id)
    budget = Budget(MOST)
    lines = of_run(run, budget) if run.folder else newest(site.output, [source], Wanted(run=name), budget)
    failed, _ = some(lines, 1, _FAILED)
    return site.render(
        "run.html",
        page="runs",
        run=run,
        looks=looks(run.details),
        errors=sorted(run.errors.items(), key=lambda error: (-error[1], error[0])),
        flaws=sorted(run.flaws.items(), key=lambda flaw: (-flaw[1], flaw[0])),
        failed=failed,
        written=written,
        described=described | site.described((source, str(row["dataset_id"])) for row in failed),
        warnings=warnings(site.logs, run.log) if site.logs else [],
        log=log_end(site.logs, run.log) if site.logs else [],
        paging=Paging(addresses.run(source, name), {}, number, more),
        **live([run]),
    )


def stored(site: Site, source: str, name: str) -> Run:
    """Return the run of the report on disk, or of the index if the report is gone.

    Raises:
        NotFound: there is neither.
    """
    try:
        return find(site.output, f"{source}/{name}")
    except RunError:
        run = _indexed(site, source, name)
    return run or abort(404, f"There is no run {name} of {source}. It may be older than RUNS_KEPT_DAYS.")


def _indexed(site: Site, source: str, name: str) -> Run | None:
    try:
        with site.index() as db:
            return indexed(db, source, name)
    except IndexUnreadableError:
        return None
