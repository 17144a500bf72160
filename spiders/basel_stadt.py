from crawlers.kinds.api.spider import APISpider


class BaselStadt(APISpider):
    """The open data portal of the canton of Basel-Stadt, Switzerland."""

    name = "basel_stadt"
    portal = "https://data.bs.ch"
    software = "opendatasoft"
