from crawlers.kinds.api.spider import APISpider


class Caltech(APISpider):
    """CaltechDATA, the research data repository of Caltech, United States."""

    name = "caltech"
    portal = "https://data.caltech.edu"
    software = "invenio-rdm"
