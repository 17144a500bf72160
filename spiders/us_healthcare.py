from crawlers.kinds.api.spider import APISpider


class USHealthcare(APISpider):
    """The datasets of HealthCare.gov, United States."""

    name = "us_healthcare"
    portal = "https://data.healthcare.gov"
    software = "dkan"
