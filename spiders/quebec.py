from crawlers.kinds.ckan.spider import CKANSpider


class Quebec(CKANSpider):
    """The data portal of Québec, Canada; its CKAN is below /recherche."""

    name = "quebec"
    portal = "https://www.donneesquebec.ca/recherche"
