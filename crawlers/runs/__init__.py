"""The runs of each source, as their reports, and those still at work, say."""

from crawlers.runs.history import find, last, runs, sources
from crawlers.runs.items import Item, items
from crawlers.runs.run import Run, State

__all__ = ["Item", "Run", "State", "find", "items", "last", "runs", "sources"]
