from crawlers.kinds.csw.spider import CSWSpider


class NetherlandsNGR(CSWSpider):
    """The national georegister of the Netherlands."""

    name = "netherlands_ngr"
    url = "https://www.nationaalgeoregister.nl/geonetwork/srv/eng/csw"
