from crawlers.kinds.api.spider import APISpider


class NewYorkCity(APISpider):
    """NYC Open Data, the portal of New York City, United States."""

    name = "new_york_city"
    portal = "https://data.cityofnewyork.us"
    software = "socrata"
