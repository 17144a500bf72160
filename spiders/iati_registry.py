from crawlers.kinds.ckan.spider import CKANSpider


class IATIRegistry(CKANSpider):
    """The registry of the International Aid Transparency Initiative."""

    name = "iati_registry"
    portal = "https://iatiregistry.org"
