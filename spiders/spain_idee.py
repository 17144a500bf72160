from crawlers.kinds.csw.spider import CSWSpider


class SpainIdee(CSWSpider):
    """The INSPIRE catalogue of the spatial data infrastructure of Spain."""

    name = "spain_idee"
    url = "https://www.idee.es/csw-inspire-idee/srv/spa/csw"
