from crawlers.kinds.api.spider import APISpider


class WmoWis2(APISpider):
    """The global discovery catalogue of the World Meteorological Organization."""

    name = "wmo_wis2"
    portal = "https://wis2-gdc.weather.gc.ca/collections/wis2-discovery-metadata"
    software = "ogc-records"
