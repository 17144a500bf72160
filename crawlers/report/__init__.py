"""The report: what index.sqlite knows, on one page; and the templates that other pages extend."""

from crawlers.report.environment import environment
from crawlers.report.overview import overview

__all__ = ["environment", "overview"]
