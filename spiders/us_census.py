from crawlers.kinds.dcat.spider import DCATSpider


class USCensus(DCATSpider):
    """The United States Census Bureau."""

    name = "us_census"
    url = "https://www.census.gov/data.json"
