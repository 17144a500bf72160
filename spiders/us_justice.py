from crawlers.kinds.dcat.spider import DCATSpider


class USJustice(DCATSpider):
    """The United States Department of Justice."""

    name = "us_justice"
    url = "https://www.justice.gov/data.json"
