"""Rules of an HTML catalogue, learned from a page and what a person sees on it."""

from crawlers.operate.learn.listing import Listing, ListingError, confirmed, listing
from crawlers.operate.learn.result import NAMES, LearnError, Result, check, learn
from crawlers.operate.learn.sample import Sample

__all__ = [
    "NAMES",
    "LearnError",
    "Listing",
    "ListingError",
    "Result",
    "Sample",
    "check",
    "confirmed",
    "learn",
    "listing",
]
