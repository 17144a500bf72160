"""What is known of each document and dataset: a cache of what is on disk, for crawls, for search and for reports."""

from crawlers.store.index.catch_up import catch_up
from crawlers.store.index.complete_runs import from_the_beginning, listing, scope
from crawlers.store.index.documents import Held, Known, Outcome, Record
from crawlers.store.index.index import Index
from crawlers.store.index.skip_unchanged import SkipUnchanged

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
