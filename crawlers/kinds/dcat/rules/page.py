"""A page of RDF that is not DCAT, read by rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

from crawlers.kinds.dcat.page import RDFPage
from crawlers.kinds.dcat.rules.catalogue import TaughtCatalogue
from crawlers.kinds.dcat.rules.file import PREFIX
from crawlers.kinds.dcat.rules.translation import Translation

if TYPE_CHECKING:
    from crawlers.kinds.dcat.page import Amend
    from crawlers.kinds.dcat.rules.rules import RDFRules
    from crawlers.records.rdf.formats import Format
    from crawlers.records.rdf.terms import Graph


class TaughtPage(RDFPage):
    """A page whose nodes rules say something of.

    Args:
        rules: the rules.
        given: name and language, as `RDFPage` takes them.
    """

    def __init__(self, rules: RDFRules, file: BinaryIO, format_: Format, base: str, **given: Any) -> None:
        super().__init__(file, format_, base, catalogue=TaughtCatalogue(rules), **given)
        self.rules = rules
        self.mapped = self._mapped
        self.source = PREFIX + rules.name

    def _mapped(self, description: Graph, subject: str) -> tuple[Graph, Amend]:
        known = Translation(self.rules, description, subject, self.language)
        return known.graph, known.amend
