"""What is known of each document and dataset: a cache of what is on disk, for crawls, for search and for reports."""

from crawlers.store.index.index import Index, SkipUnchanged, catch_up
from crawlers.store.index.known import Held, Known, Outcome, Record
from crawlers.store.index.reports import from_the_beginning, listing, scope

__all__ = [
    "Held",
    "Index",
    "Known",
    "Outcome",
    "Record",
    "SkipUnchanged",
    "catch_up",
    "from_the_beginning",
    "listing",
    "scope",
]
