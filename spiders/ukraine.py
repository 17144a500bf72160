from crawlers.kinds.ckan.spider import CKANSpider


class Ukraine(CKANSpider):
    """The national open data portal of Ukraine."""

    name = "ukraine"
    portal = "https://data.gov.ua"
