from crawlers.kinds.api.spider import APISpider


class PlanetaryComputer(APISpider):
    """The Planetary Computer of Microsoft."""

    name = "planetary_computer"
    portal = "https://planetarycomputer.microsoft.com/api/stac/v1"
    software = "stac"
