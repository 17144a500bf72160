"""The overview: the report, with the runs that are running now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.operate.dashboard.parameters import live

if TYPE_CHECKING:
    from crawlers.operate.dashboard.site import Site


def page(site: Site) -> str:
    """Return the page of the overview."""
    current = site.unfinished()
    return site.render("home.html", overview=site.overview(current), current=current, page="home", **live(current))
