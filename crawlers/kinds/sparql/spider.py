"""Crawls a SPARQL endpoint: lists the datasets' IRIs, and requests their descriptions in batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlencode

from scrapy import FormRequest, Request

from crawlers import arguments
from crawlers.arguments import Argument
from crawlers.kinds.sparql import queries
from crawlers.kinds.sparql.batches import Batches
from crawlers.kinds.sparql.listing import Datasets, Keyset
from crawlers.listing import since
from crawlers.listing.listed import ListedSpider

if TYPE_CHECKING:
    from collections.abc import Callable

_ROWS = "application/sparql-results+json, application/json;q=0.9"
_GRAPH = "application/n-triples, text/turtle;q=0.9, application/rdf+xml;q=0.8, application/ld+json;q=0.5"


def graph_name(value: str) -> str:
    """
    >>> graph_name("any")
    'any'
    """
    if value != queries.ANY and not queries.is_usable(value):
        raise ValueError("the IRI of a named graph, or any for all of them")
    return value


class SPARQLSpider(ListedSpider):
    """A SPARQL endpoint with dcat:Dataset; a catalogue inherits from this class and sets ``name`` and ``url``.

    Attributes:
        graph: the named graph with the catalogue; ``any`` for all; ``None`` for the default graph.
        batches: the descriptions.
    """

    kind = "sparql"
    arguments: ClassVar[dict[str, Argument]] = {
        name: argument for name, argument in ListedSpider.arguments.items() if name != "max_resources"
    } | {
        "url": Argument(help="The endpoint's address.", parse=arguments.url),
        "graph": Argument(
            help="A named graph, or any for all of them; by default the default graph.", parse=graph_name
        ),
        "language": Argument(
            help="The language of titles and descriptions where there are several: fr, de.", parse=arguments.language
        ),
        "since": Argument(
            help="Only what changed since then: last (the last complete crawl), or a date.", parse=since.since
        ),
        "rows": Argument(help="IRIs of datasets per listing request.", parse=arguments.positive, default="5000"),
        "batch": Argument(help="Datasets that are described per request.", parse=arguments.positive, default="50"),
    }
    graph: str | None = None

    def __init__(self, **given: str) -> None:
        super().__init__(**given)
        self.graph = self.args["graph"] or self.graph
        self.batches = Batches(self, self.args["batch"])

    def make_listing(self) -> Datasets:
        return Datasets(self, self.withdrawals, self.completeness)

    def beginning(self) -> Keyset:
        return Keyset(rows=self.args["rows"], since=since.beginning(self))

    def query(
        self,
        query: str,
        method: str,
        callback: Callable[..., Any],
        errback: Callable[..., Any],
        keywords: dict[str, Any],
        *,
        is_graph: bool = False,
        page: int | None = None,
    ) -> Request:
        """Return the request for a query.

        Args:
            method: POST sends it as a form; GET as a parameter, for endpoints that refuse POST.
            keywords: what the callback takes besides the answer.
            is_graph: whether the answer is RDF, which may be large; else it is a table.
            page: a number that tells the request from one for the same query, which would be dropped as known.
        """
        headers = {"Accept": _GRAPH if is_graph else _ROWS}
        meta = {"page": page} | ({"spool": True} if is_graph else {})
        given: dict[str, Any] = {"headers": headers, "errback": errback, "cb_kwargs": keywords, "meta": meta}
        url = str(self.url)
        if method == "POST":
            return FormRequest(url, callback, formdata={"query": query}, **given)
        return Request(f"{url}{'&' if '?' in url else '?'}{urlencode({'query': query})}", callback, **given)
