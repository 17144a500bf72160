from crawlers.kinds.api.spider import APISpider


class Brno(APISpider):
    """The open data portal of the city of Brno, Czechia."""

    name = "brno"
    portal = "https://data.brno.cz"
    software = "arcgis-hub"
