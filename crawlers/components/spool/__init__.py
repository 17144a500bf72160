"""A download handler that keeps large answers in temporary files, never in memory; for any Scrapy project.

Settings: ``DOWNLOAD_HANDLERS`` names `SpoolingHandler` for ``http`` and ``https``.
A request opts in with ``Request(url, meta={"spool": True})``; Scrapy handles all others as usual.
"""

from crawlers.components.spool.errors import NotUnpacked, TooLarge
from crawlers.components.spool.file import SpooledFile
from crawlers.components.spool.handler import SpoolingHandler
from crawlers.components.spool.response import DiskResponse, SpooledResponse, open_body

__all__ = ["DiskResponse", "NotUnpacked", "SpooledFile", "SpooledResponse", "SpoolingHandler", "TooLarge", "open_body"]
