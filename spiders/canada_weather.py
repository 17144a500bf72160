from crawlers.kinds.api.spider import APISpider


class CanadaWeather(APISpider):
    """The discovery metadata of the Meteorological Service of Canada."""

    name = "canada_weather"
    portal = "https://api.weather.gc.ca/collections/discovery-metadata"
    software = "ogc-records"
