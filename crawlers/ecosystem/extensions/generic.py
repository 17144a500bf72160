from crawlers.ecosystem.extensions.spider import ExtensionsSpider


class CKANExtensions(ExtensionsSpider):
    """The extensions of CKAN that a catalogue lists, by default CKAN's own, and their repositories at GitHub."""

    name = "ckan_extensions"
    catalogue = "https://ecosystem.ckan.org"
