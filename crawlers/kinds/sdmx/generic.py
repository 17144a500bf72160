from crawlers.kinds.sdmx.spider import SDMXSpider


class SDMX(SDMXSpider):
    """Any SDMX service, the one that -a url= names."""

    name = "sdmx"
