from crawlers.kinds.oai.spider import OAISpider


class Pangaea(OAISpider):
    """PANGAEA, the publisher for earth and environmental science, Germany."""

    name = "pangaea"
    url = "https://ws.pangaea.de/oai/provider"
