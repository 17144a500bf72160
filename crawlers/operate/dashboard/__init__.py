"""The report live, with search and a page for each dataset and run: a read-only web app on the loopback."""

from crawlers.operate.dashboard.app import app

__all__ = ["app"]
