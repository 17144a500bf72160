from crawlers.kinds.sparql.spider import SPARQLSpider


class SPARQL(SPARQLSpider):
    """Any SPARQL endpoint with dcat:Dataset, the one that -a url= names."""

    name = "sparql"
