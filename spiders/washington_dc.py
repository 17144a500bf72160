from crawlers.kinds.api.spider import APISpider


class WashingtonDC(APISpider):
    """Open Data DC, the portal of Washington, D.C., United States."""

    name = "washington_dc"
    portal = "https://opendata.dc.gov"
    software = "arcgis-hub"
