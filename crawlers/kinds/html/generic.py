from crawlers.kinds.html.spider import HTMLSpider


class HTML(HTMLSpider):
    """Any catalogue of HTML pages, by the rules file that -a rules= gives."""

    name = "html"
