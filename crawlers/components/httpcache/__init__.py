"""An HTTP cache that keeps only what may be used again, in one SQLite file; for any Scrapy project."""

from crawlers.components.httpcache.fingerprinter import AcceptFingerprinter
from crawlers.components.httpcache.middleware import HttpCache
from crawlers.components.httpcache.policy import Policy
from crawlers.components.httpcache.storage import SqliteStorage

__all__ = ["AcceptFingerprinter", "HttpCache", "Policy", "SqliteStorage"]
