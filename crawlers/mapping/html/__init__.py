"""HTML pages -> documents -> items, by the rules of `crawlers.rules`."""

from crawlers.mapping.html.document import document
from crawlers.mapping.html.item import dataset
from crawlers.mapping.html.page import Page
from crawlers.mapping.html.required import missing

__all__ = ["Page", "dataset", "document", "missing"]
