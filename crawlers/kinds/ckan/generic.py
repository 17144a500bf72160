from crawlers.kinds.ckan.spider import CKANSpider


class CKAN(CKANSpider):
    """Any CKAN portal, the one that -a portal= names."""

    name = "ckan"
