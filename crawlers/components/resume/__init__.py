"""A crawl that can be stopped anywhere, kill -9 included, and goes on where it was.

Any Scrapy project can use it with one setting: ``SCHEDULER = "crawlers.components.resume.LedgerScheduler"``.
"""

from crawlers.components.resume.job import Job
from crawlers.components.resume.records import Records
from crawlers.components.resume.scheduler import LedgerScheduler

__all__ = ["Job", "LedgerScheduler", "Records"]
