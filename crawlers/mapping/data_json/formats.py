"""The format of a distribution, by the rules that hold for DCAT as RDF."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.mapping.dcat import formats
from crawlers.mapping.dcat.description import Description
from crawlers.rdf.namespaces import DCAT, DCT
from crawlers.rdf.terms import Literal

if TYPE_CHECKING:
    from crawlers.mapping.data_json.node import Node
    from crawlers.rdf import terms as rdf

_NOWHERE = Description({})
_FILE = {DCT + "format": "format", DCAT + "mediaType": "mediaType"}


def file_type(fields: Node, url: str | None) -> tuple[str | None, str | None]:
    """The format, and the media type: of POD 1.0's ``format``, which is one, both."""
    node: rdf.Node = {predicate: [Literal(text)] for predicate, name in _FILE.items() if (text := fields.text(name))}
    return formats.file_format(_NOWHERE, node, _service(fields), url), formats.media_type(_NOWHERE, node)


def _service(fields: Node) -> rdf.Node:
    """What the first service says of its protocol."""
    services = fields.nodes("accessService", text=lambda _: None) if "accessService" in fields.fields else iter(())
    standards = (one for service in services for one in service.references("conformsTo"))
    return {DCT + "conformsTo": [Literal(one) for one in standards]}
