"""HTML catalogues: listings walked and dataset pages read by the rules of `crawlers.rules`."""

from crawlers.html.spider import HTMLSpider

__all__ = ["HTMLSpider"]
