"""The overview: the report's, with what is at work now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.dashboard.live import live

if TYPE_CHECKING:
    from crawlers.dashboard.site import Site


def page(site: Site) -> str:
    current = site.unfinished()
    return site.render("home.html", overview=site.overview(current), current=current, page="home", **live(current))
