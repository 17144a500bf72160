"""The error lines: what is missing, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import request

from crawlers.operate.dashboard import addresses, parameters
from crawlers.operate.dashboard.error_lines import MOST, Wanted, newest
from crawlers.operate.dashboard.parameters import Paging, some
from crawlers.signals import FLAWS, KINDS
from crawlers.store.lines import Budget

if TYPE_CHECKING:
    from crawlers.operate.dashboard.site import Site

_SIZE = 50


def page(site: Site) -> str:
    """Return the page of the error lines."""
    words = {name: parameters.text(request.args, name) for name in ("kind", "source", "run")}
    with site.index() as db:
        sources = site.sources(db)
    number, budget = parameters.page(request.args), Budget(MOST)
    named = [name for name in sources if words["source"] in ("", name)]
    lines = newest(site.output, named, Wanted(words["kind"], words["run"]), budget)
    rows, more = some(lines, number, _SIZE)
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
        paging=Paging(addresses.here("/errors"), words, number, more),
    )
