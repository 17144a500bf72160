"""The kinds of catalogue: a folder each, and its name below; `scrapy sources add` asks them in this order."""

KINDS = ("crawlers.kinds.ckan", "crawlers.kinds.waf", "crawlers.kinds.dcat", "crawlers.kinds.html")
