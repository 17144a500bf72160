from crawlers.ecosystem.sites.spider import SitesSpider


class CKANSites(SitesSpider):
    """The CKAN portals that a catalogue lists, or a file: their versions, sizes, and whether they answer."""

    name = "ckan_sites"
