"""The languages of a dataset or of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.mapping import languages as tags
from crawlers.rdf.namespaces import DC, DCT, SCHEMA, SCHEMA_HTTPS

if TYPE_CHECKING:
    from crawlers.mapping.dcat.description import Description
    from crawlers.rdf.terms import Node, Term

_LANGUAGES = (DCT + "language", DC + "language", SCHEMA + "inLanguage", SCHEMA_HTTPS + "inLanguage")


def languages(about: Description, node: Node) -> list[str]:
    """BCP 47 tags in the alphabet's order, from codes, names or the EU's and the Library of Congress's IRIs."""
    found = [_tags(about, term) for term in about.terms(node, _LANGUAGES)]
    return found[0] if len(found) == 1 else sorted({tag for one in found for tag in one})


def _tags(about: Description, term: Term) -> list[str]:
    return next(filter(None, (tags.languages([text]) for text in about.texts([term]))), [])
