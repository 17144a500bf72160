from crawlers.kinds.waf.spider import WAFSpider


class USAlaskaGeology(WAFSpider):
    """The publications of the geological survey of Alaska, United States."""

    name = "us_alaska_geology"
    url = "https://dggs.alaska.gov/webpubs/metadata/"
