from crawlers.kinds.sdmx.spider import SDMXSpider


class ECB(SDMXSpider):
    """The statistics of the European Central Bank."""

    name = "ecb"
    url = "https://data-api.ecb.europa.eu/service"
