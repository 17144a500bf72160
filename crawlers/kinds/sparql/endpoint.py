"""Where queries are sent."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import urlencode

from scrapy import FormRequest, Request

_ROWS = "application/sparql-results+json, application/json;q=0.9"
_GRAPH = "application/n-triples, text/turtle;q=0.9, application/rdf+xml;q=0.8, application/ld+json;q=0.5"


class Endpoint(NamedTuple):
    """An endpoint.

    Args:
        url: its address.
        graph: the named graph with the catalogue; ``any`` for all; ``None`` for the default graph.
    """

    url: str
    graph: str | None = None

    def request(self, query: str, method: str, *, is_graph: bool = False, **keywords: Any) -> Request:
        """Return the request for a query.

        Args:
            method: POST sends it as a form; GET as a parameter, for endpoints that refuse POST.
            is_graph: whether the answer is RDF, which may be large; else it is a table.
            keywords: of the request: callback ....
        """
        keywords |= {"headers": {"Accept": _GRAPH if is_graph else _ROWS}, "meta": {"spool": True} if is_graph else {}}
        if method == "POST":
            return FormRequest(self.url, formdata={"query": query}, **keywords)
        return Request(f"{self.url}{'&' if '?' in self.url else '?'}{urlencode({'query': query})}", **keywords)
