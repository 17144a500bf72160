"""HTML pages -> documents -> items, by the rules of `crawlers.kinds.html.rules`."""

from crawlers.kinds.html.mapping.document import document
from crawlers.kinds.html.mapping.item import dataset, missing, read
from crawlers.records.html_page import Page

__all__ = ["Page", "dataset", "document", "missing", "read"]
