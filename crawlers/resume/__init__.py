"""A crawl that can be stopped anywhere, kill -9 included, and goes on where it was.

Any Scrapy project can use it with one setting: ``SCHEDULER = "crawlers.resume.LedgerScheduler"``.
"""

from crawlers.resume.job import Job
from crawlers.resume.records import Records
from crawlers.resume.scheduler import LedgerScheduler

__all__ = ["Job", "LedgerScheduler", "Records"]
