"""The overview: the report, with the runs that are running now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.operate.dashboard.parameters import live

if TYPE_CHECKING:
    from crawlers.operate.dashboard.site import Site


NOW = "/now"
"""The address of `running`."""


def page(site: Site) -> str:
    """Return the page of the overview."""
    current = site.unfinished()
    now = [run for run in current if not run.over]  # those that crashed need attention
    shown = {"overview": site.overview(current), "current": now, "now_page": NOW}
    return site.render("home.html", page="home", **shown, **live(current))


def running(site: Site) -> str:
    """Return what runs now, without the rest of the pages that show it: they are renewed from here."""
    now = [run for run in site.unfinished() if not run.over]
    return site.render("now.html", current=now, **live(now))
