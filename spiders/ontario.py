from crawlers.kinds.ckan.spider import CKANSpider


class Ontario(CKANSpider):
    """The data catalogue of Ontario, Canada."""

    name = "ontario"
    portal = "https://data.ontario.ca"
