from crawlers.kinds.ckan.spider import CKANSpider


class Queensland(CKANSpider):
    """The open data portal of Queensland, Australia."""

    name = "queensland"
    portal = "https://www.data.qld.gov.au"
