"""The report: what index.sqlite knows, on one page; and the templates that other pages extend."""

from crawlers.operate.report.overview_data import overview
from crawlers.operate.report.report import environment

__all__ = ["environment", "overview"]
