from crawlers.kinds.dcat.spider import DCATSpider


class USEnergy(DCATSpider):
    """The United States Department of Energy."""

    name = "us_energy"
    url = "https://www.energy.gov/data.json"
