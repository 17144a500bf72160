"""Rules of an HTML catalogue, learned from a page and what a person sees on it."""

from crawlers.operate.learn.listing import Listing, ListingError, confirmed, listing, turned
from crawlers.operate.learn.result import NAMES, LearnError, Result, check_names, learn
from crawlers.operate.learn.sample import Sample

__all__ = [
    "NAMES",
    "LearnError",
    "Listing",
    "ListingError",
    "Result",
    "Sample",
    "check_names",
    "confirmed",
    "learn",
    "listing",
    "turned",
]
