from crawlers.kinds.dcat.spider import DCATSpider


class Bonn(DCATSpider):
    """The open data portal of the City of Bonn, Germany."""

    name = "bonn"
    url = "https://opendata.bonn.de/data.json"
