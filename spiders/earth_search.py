from crawlers.kinds.api.spider import APISpider


class EarthSearch(APISpider):
    """Earth Search, satellite data on AWS, run by Element 84."""

    name = "earth_search"
    portal = "https://earth-search.aws.element84.com/v1"
    software = "stac"
