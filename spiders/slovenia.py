from crawlers.kinds.ckan.spider import CKANSpider


class Slovenia(CKANSpider):
    """The national open data portal of Slovenia."""

    name = "slovenia"
    portal = "https://podatki.gov.si"
