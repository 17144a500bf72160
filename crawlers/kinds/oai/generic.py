from crawlers.kinds.oai.spider import OAISpider


class OAI(OAISpider):
    """Any OAI-PMH repository, the one that -a url= names."""

    name = "oai"
