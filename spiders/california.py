from crawlers.kinds.ckan.spider import CKANSpider


class California(CKANSpider):
    """The open data portal of the State of California, United States."""

    name = "california"
    portal = "https://data.ca.gov"
