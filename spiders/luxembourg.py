from crawlers.kinds.api.spider import APISpider


class Luxembourg(APISpider):
    """The open data portal of Luxembourg."""

    name = "luxembourg"
    portal = "https://data.public.lu"
    software = "udata"
