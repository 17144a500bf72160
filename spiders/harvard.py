from crawlers.kinds.api.spider import APISpider


class Harvard(APISpider):
    """The Dataverse of Harvard University, United States."""

    name = "harvard"
    portal = "https://dataverse.harvard.edu"
    software = "dataverse"
