from crawlers.kinds.api.spider import APISpider


class Metawal(APISpider):
    """The geoportal catalogue of Wallonia, Belgium."""

    name = "metawal"
    portal = "https://metawal.wallonie.be/geonetwork"
    software = "geonetwork"
