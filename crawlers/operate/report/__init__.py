"""The report: what the figures say, on one page; and the templates that other pages extend."""

from crawlers.operate.report.report import environment

__all__ = ["environment"]
