"""A download handler that keeps large answers in temporary files, never in memory; for any Scrapy project.

Settings: ``DOWNLOAD_HANDLERS = {"http": "crawlers.spool.SpoolingHandler", "https": "crawlers.spool.SpoolingHandler"}``.
A request opts in with ``Request(url, meta={"spool": True})``; Scrapy handles all others as usual.
"""

from crawlers.spool.errors import NotUnpacked, TooLarge
from crawlers.spool.file import SpooledFile
from crawlers.spool.handler import SpoolingHandler
from crawlers.spool.response import DiskResponse, SpooledResponse

__all__ = ["DiskResponse", "NotUnpacked", "SpooledFile", "SpooledResponse", "SpoolingHandler", "TooLarge"]
