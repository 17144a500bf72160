from crawlers.kinds.ckan.spider import CKANSpider


class HDX(CKANSpider):
    """The Humanitarian Data Exchange, run by OCHA."""

    name = "hdx"
    portal = "https://data.humdata.org"
    export = "download_metadata"
    level = "resource"
