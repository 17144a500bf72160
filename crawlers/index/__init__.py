"""What is known of each document and dataset: a cache of what is on disk, for crawls, for search and for reports."""

from crawlers.index.current import catch_up
from crawlers.index.index import Index
from crawlers.index.known import Held, Known
from crawlers.index.record import Record, is_on_disk
from crawlers.index.scope import from_the_beginning, listing, scope
from crawlers.index.unchanged import SkipUnchanged

__all__ = [
    "Held",
    "Index",
    "Known",
    "Record",
    "SkipUnchanged",
    "catch_up",
    "from_the_beginning",
    "is_on_disk",
    "listing",
    "scope",
]
