from crawlers.kinds.api.spider import APISpider


class Borealis(APISpider):
    """The Canadian Dataverse repository."""

    name = "borealis"
    portal = "https://borealisdata.ca"
    software = "dataverse"
