from crawlers.kinds.ckan.spider import CKANSpider


class Alberta(CKANSpider):
    """The open government portal of Alberta, Canada."""

    name = "alberta"
    portal = "https://open.alberta.ca"
