from crawlers.kinds.ckan.spider import CKANSpider


class Milan(CKANSpider):
    """The open data portal of the City of Milan, Italy."""

    name = "milan"
    portal = "https://dati.comune.milano.it"
