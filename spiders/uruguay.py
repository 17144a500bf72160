from crawlers.kinds.ckan.spider import CKANSpider


class Uruguay(CKANSpider):
    """The national open data catalogue of Uruguay."""

    name = "uruguay"
    portal = "https://catalogodatos.gub.uy"
