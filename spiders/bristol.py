from crawlers.kinds.dcat.spider import DCATSpider


class Bristol(DCATSpider):
    """The open data portal of Bristol City Council, United Kingdom."""

    name = "bristol"
    url = "https://opendata.bristol.gov.uk/data.json"
