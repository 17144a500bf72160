from crawlers.kinds.sparql.spider import SPARQLSpider


class EuropeanUnion(SPARQLSpider):
    """The data portal of the European Union."""

    name = "european_union"
    url = "https://data.europa.eu/sparql"
