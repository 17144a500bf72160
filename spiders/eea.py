from crawlers.kinds.api.spider import APISpider


class EEA(APISpider):
    """The geospatial data catalogue of the European Environment Agency."""

    name = "eea"
    portal = "https://sdi.eea.europa.eu/catalogue"
    software = "geonetwork"
