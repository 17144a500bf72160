from crawlers.kinds.oai.spider import OAISpider


class Figshare(OAISpider):
    """The research repository Figshare."""

    name = "figshare"
    url = "https://api.figshare.com/v2/oai"
