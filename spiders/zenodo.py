from crawlers.kinds.api.spider import APISpider


class Zenodo(APISpider):
    """The research repository of CERN."""

    name = "zenodo"
    portal = "https://zenodo.org"
    software = "zenodo"
