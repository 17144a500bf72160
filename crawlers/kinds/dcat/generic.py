from crawlers.kinds.dcat.spider import DCATSpider


class DCAT(DCATSpider):
    """Any catalogue that publishes DCAT, at the address that -a url= gives."""

    name = "dcat"
