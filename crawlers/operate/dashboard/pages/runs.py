"""All runs, newest first: those without a report, then those that the index has."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from flask import request

from crawlers.operate.dashboard import parameters
from crawlers.operate.dashboard.parameters import Paging, live, some
from crawlers.store.figures.runs import reported
from crawlers.store.runs import State

if TYPE_CHECKING:
    from crawlers.operate.dashboard.site import Site

SIZE = 50


def page(site: Site) -> str:
    """Return the page of the list of runs."""
    words = {name: parameters.text(request.args, name) for name in ("source", "state")}
    number = parameters.page(request.args)
    at_work = [run for run in site.unfinished(words["source"] or None) if words["state"] in ("", run.state)]
    with site.index() as db:
        sources = site.sources(db)
        known = {(run.source, run.run) for run in at_work}
        rows, more = some(reported(db, words, number * SIZE + len(known) + 1, known), number, SIZE)
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
