from crawlers.kinds.ckan.spider import CKANSpider


class Switzerland(CKANSpider):
    """opendata.swiss, the national open data portal of Switzerland."""

    name = "switzerland"
    portal = "https://ckan.opendata.swiss"
