"""An HTTP cache that keeps only what may be used again, in one SQLite file; for any Scrapy project."""

from crawlers.httpcache.fingerprinter import AcceptFingerprinter
from crawlers.httpcache.middleware import HttpCache
from crawlers.httpcache.policy import Policy
from crawlers.httpcache.storage import SqliteStorage

__all__ = ["AcceptFingerprinter", "HttpCache", "Policy", "SqliteStorage"]
