from crawlers.kinds.ckan.spider import CKANSpider


class Ireland(CKANSpider):
    """The national open data portal of Ireland."""

    name = "ireland"
    portal = "https://data.gov.ie"
