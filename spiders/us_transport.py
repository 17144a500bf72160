from crawlers.kinds.waf.spider import WAFSpider


class USTransport(WAFSpider):
    """The transport atlas of the Bureau of Transportation Statistics, United States."""

    name = "us_transport"
    url = "https://transtats.bts.gov/NTADmetadata/"
