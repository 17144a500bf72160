from crawlers.kinds.sdmx.spider import SDMXSpider


class OECD(SDMXSpider):
    """The statistics of the OECD."""

    name = "oecd"
    url = "https://sdmx.oecd.org/public/rest"
