from crawlers.kinds.api.spider import APISpider


class API(APISpider):
    """Any catalogue with a JSON API that a declaration describes, the one that -a portal= and -a kind= name."""

    name = "api"
