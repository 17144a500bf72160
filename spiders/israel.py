from crawlers.kinds.ckan.spider import CKANSpider


class Israel(CKANSpider):
    """The national open data portal of Israel."""

    name = "israel"
    portal = "https://data.gov.il"
