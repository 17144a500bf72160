"""Runs the crawls of many sources: side by side, one at a time for each host, here or on Scrapyd nodes."""

from crawlers.harvest.harvest import Harvest
from crawlers.harvest.job import Job
from crawlers.harvest.outcome import Outcome

__all__ = ["Harvest", "Job", "Outcome"]
