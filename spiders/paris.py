from crawlers.kinds.api.spider import APISpider


class Paris(APISpider):
    """The open data portal of the City of Paris, France."""

    name = "paris"
    portal = "https://opendata.paris.fr"
    software = "opendatasoft"
