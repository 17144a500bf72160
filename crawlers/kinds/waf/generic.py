from crawlers.kinds.waf.spider import WAFSpider


class WAF(WAFSpider):
    """Any web-accessible folder, the one that -a url= names."""

    name = "waf"
