"""All sources: their tables, their last and next runs, and what they do now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.operate.dashboard.pages.home import NOW
from crawlers.operate.dashboard.parameters import live

if TYPE_CHECKING:
    from crawlers.operate.dashboard.site import Site


def page(site: Site) -> str:
    """Return the page of the sources."""
    current = site.unfinished()
    overview = site.overview(current, is_brief=True)
    return site.render("sources.html", overview=overview, page="sources", now_page=NOW, **live(current))
