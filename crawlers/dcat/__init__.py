"""Catalogues that publish DCAT, as RDF of any serialisation or as data.json."""

from crawlers.dcat.spider import DCATSpider

__all__ = ["DCATSpider"]
