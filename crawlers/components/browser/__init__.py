"""Pages as a browser shows them: a download handler on scrapy-playwright, in which page turns are data.

Nothing here imports Playwright before the first request that asks for a browser: other spiders run without it.
"""

from __future__ import annotations

from crawlers.components.browser.errors import BrowserError, ForeignHostError
from crawlers.components.browser.handler import BrowserHandler, enable

__all__ = ["BrowserError", "BrowserHandler", "ForeignHostError", "enable"]
