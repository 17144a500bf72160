from crawlers.kinds.csw.spider import CSWSpider


class CSW(CSWSpider):
    """Any catalogue service (CSW), the one that -a url= names."""

    name = "csw"
