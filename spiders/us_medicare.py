from crawlers.kinds.api.spider import APISpider


class USMedicare(APISpider):
    """The provider data catalogue of Medicare, United States."""

    name = "us_medicare"
    portal = "https://data.cms.gov/provider-data"
    software = "dkan"
