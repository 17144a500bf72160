"""The runs, newest first; one of them, with the end of its log; and the errors of all."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, get_args

from flask import abort, request

from crawlers.causes import FLAWS, KINDS
from crawlers.exceptions import IndexUnreadableError, RunError
from crawlers.operate.dashboard import addresses
from crawlers.operate.dashboard.addresses import Paging, live, some
from crawlers.operate.dashboard.tail import MOST, Wanted, log_end, newest, of_run, warnings
from crawlers.records.moment import moment
from crawlers.store.figures.runs import indexed, reported
from crawlers.store.lines import Budget
from crawlers.store.run_text import looks, nothing_changed
from crawlers.store.runs import State, find, is_since, items

if TYPE_CHECKING:
    from crawlers.operate.dashboard.site import Site
    from crawlers.store.runs import Run


_ON_A_PAGE = 50
_FAILED_SHOWN = 10


def runs(site: Site) -> str:
    """Return the page of the list of runs."""
    words = {name: addresses.text(request.args, name) for name in ("source", "state", "since")}
    number = addresses.page_number(request.args)
    since = site.since(words["since"], words["source"])
    at_work = [run for run in site.unfinished(words["source"] or None) if words["state"] in ("", run.state)]
    at_work = [run for run in at_work if is_since(run, moment(since))]
    with site.index() as db:
        sources = site.sources(db)
        known = {(run.source, run.run) for run in at_work}
        found = reported(db, words, number * _ON_A_PAGE + len(known) + 1, known, since)
        rows, more = some(found, number, _ON_A_PAGE)
    return site.render(
        "runs.html",
        page="runs",
        words=words,
        sources=sources,
        states=get_args(State),
        current=at_work if number == 1 else [],
        rows=rows,
        paging=Paging("/runs", words, number, more),
        **live(at_work),
    )


def run(site: Site, source: str, name: str) -> str:
    """Return the page of a run."""
    run = stored(site, source, name)
    number = addresses.page_number(request.args)
    written, more = some((item for item in items(run) if item.status != "failed"), number, _ON_A_PAGE)
    described = site.described((source, item.dataset_id) for item in written if item.dataset_id)
    budget = Budget(MOST)
    others = (line for _, line in newest(site.output, [source], Wanted(run=name), budget))
    lines = of_run(run, budget) if run.folder else others
    failed, _ = some(lines, 1, _FAILED_SHOWN)
    return site.render(
        "run.html",
        page="runs",
        run=run,
        looks=looks(run.details),
        quiet=nothing_changed(run.details),
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
        run: Run | None = None
    with suppress(IndexUnreadableError), site.index() as db:
        run = indexed(db, source, name)
    return run or abort(404, f"There is no run {name} of {source}. It may be older than RUNS_KEPT_DAYS.")


def errors(site: Site) -> str:
    """Return the page of the error lines."""
    words = {name: addresses.text(request.args, name) for name in ("kind", "source", "run", "since")}
    since = site.since(words["since"], words["source"])
    with site.index() as db:
        sources = site.sources(db)
    number, budget = addresses.page_number(request.args), Budget(MOST)
    named = [name for name in sources if words["source"] in ("", name)]
    wanted = Wanted(words["kind"], words["run"], since)
    rows, more = some((line for _, line in newest(site.output, named, wanted, budget)), number, _ON_A_PAGE)
    return site.render(
        "errors.html",
        page="errors",
        words=words,
        sources=sources,
        kinds=sorted(KINDS.keys() - FLAWS),
        rows=rows,
        described=site.described((row["source"], str(row["dataset_id"])) for row in rows),
        budget=budget,
        most=MOST,
        paging=Paging("/errors", words, number, more),
    )
