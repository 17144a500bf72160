"""Runs the crawls of many sources: in parallel, but one at a time for each host; here or on Scrapyd nodes."""

from crawlers.operate.harvest.harvest import Harvest
from crawlers.operate.harvest.job import Job
from crawlers.operate.harvest.outcome import Outcome

__all__ = ["Harvest", "Job", "Outcome"]
