"""Crawls a web-accessible folder: its listings from the start address downwards, and every record they name."""

from __future__ import annotations

from crawlers.kinds.waf.dialect import Folders
from crawlers.listing.listed import ListedSpider


class WAFSpider(ListedSpider):
    """A web-accessible folder; the listing is whole when each folder was read, and each record that they name.

    Attributes:
        url: the folder; ``-a url=`` overrides it.
    """

    kind = "waf"

    def make_dialect(self) -> Folders:
        return Folders(self, str(self.url))


class WAF(WAFSpider):
    """Any web-accessible folder, the one that -a url= names."""

    name = "waf"
