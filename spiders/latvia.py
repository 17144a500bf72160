from crawlers.kinds.ckan.spider import CKANSpider


class Latvia(CKANSpider):
    """The national open data portal of Latvia."""

    name = "latvia"
    portal = "https://data.gov.lv"
