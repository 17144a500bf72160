"""The runs of each source: those that ended, by their reports, and those that are running."""

from crawlers.store.runs.history import damaged, find, last, runs, sources, unfinished
from crawlers.store.runs.items import Item, items
from crawlers.store.runs.run import STATES, Run, State

__all__ = ["STATES", "Item", "Run", "State", "damaged", "find", "items", "last", "runs", "sources", "unfinished"]
