"""The kinds of catalogue: a folder each, and its name below; `scrapy sources add` asks them in this order."""

KINDS = (
    "crawlers.kinds.ckan",
    "crawlers.kinds.oai",
    "crawlers.kinds.sdmx",
    "crawlers.kinds.waf",
    "crawlers.kinds.api",
    "crawlers.kinds.csw",
    "crawlers.kinds.sparql",
    "crawlers.kinds.dcat",
    "crawlers.kinds.html",
)
