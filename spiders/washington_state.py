from crawlers.kinds.api.spider import APISpider


class WashingtonState(APISpider):
    """The open data portal of the state of Washington, United States."""

    name = "washington_state"
    portal = "https://data.wa.gov"
    software = "socrata"
