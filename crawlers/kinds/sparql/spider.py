"""Crawls a SPARQL endpoint: lists the datasets' IRIs, and requests their descriptions in batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from crawlers import arguments
from crawlers.arguments import Argument
from crawlers.kinds.sparql import queries
from crawlers.kinds.sparql.descriptions import Descriptions
from crawlers.kinds.sparql.dialect import BlankNodes, Datasets
from crawlers.kinds.sparql.queries import Endpoint
from crawlers.listing.since import SINCE
from crawlers.listing.spider import ListedSpider

if TYPE_CHECKING:
    from collections.abc import Iterator


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
        descriptions: what asks for them.
    """

    kind = "sparql"
    arguments: ClassVar[dict[str, Argument]] = {
        name: argument for name, argument in ListedSpider.arguments.items() if name != "max_resources"
    } | {
        "url": Argument(help="The endpoint's address.", parse=arguments.url),
        "graph": Argument(
            help="A named graph, or any for all of them; by default the default graph.", parse=graph_name
        ),
        "language": arguments.LANGUAGE,
        "since": SINCE,
        "rows": Argument(help="IRIs of datasets per listing request.", parse=arguments.positive, default="5000"),
        "batch": Argument(help="Datasets that are described per request.", parse=arguments.positive, default="50"),
    }
    graph: str | None = None

    def __init__(self, **given: str) -> None:
        super().__init__(**given)
        endpoint = Endpoint(str(self.url), self.args["graph"] or self.graph)
        self.descriptions = Descriptions(self, endpoint, self.args["batch"])
        self.blanks = BlankNodes(self, endpoint, self.found_all)

    def found_all(self) -> Iterator[Any]:
        """Yield what follows a whole list: the questions about what it lacks."""
        yield from self.lister.find_gone()

    def make_dialect(self) -> Datasets:
        return Datasets(self, self.descriptions, self.blanks, self.args["rows"])


class SPARQL(SPARQLSpider):
    """Any SPARQL endpoint with dcat:Dataset, the one that -a url= names."""

    name = "sparql"
