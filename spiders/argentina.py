from crawlers.kinds.ckan.spider import CKANSpider


class Argentina(CKANSpider):
    """The national open data portal of Argentina."""

    name = "argentina"
    portal = "https://datos.gob.ar"
