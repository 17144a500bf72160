from crawlers.kinds.ckan.spider import CKANSpider


class Boston(CKANSpider):
    """The open data hub of the City of Boston, United States."""

    name = "boston"
    portal = "https://data.boston.gov"
