from crawlers.kinds.sparql.spider import SPARQLSpider


class Spain(SPARQLSpider):
    """The open data portal of Spain."""

    name = "spain"
    url = "https://datos.gob.es/virtuoso/sparql"
