from crawlers.kinds.api.spider import APISpider


class Serbia(APISpider):
    """The open data portal of Serbia."""

    name = "serbia"
    portal = "https://data.gov.rs"
    software = "udata"
