"""What a node of a class must have, from what it says otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.rdf.authorities import authority
from crawlers.rdf.namespaces import DCAT, DCT, FOAF, ORG, SCHEMA, SCHEMA_HTTPS, SKOS, VCARD
from crawlers.rdf.terms import Literal, is_blank
from crawlers.store.export import terms

if TYPE_CHECKING:
    from crawlers.rdf.terms import Node
    from crawlers.store.export.nodes import Nodes

_STATUS = "http://purl.org/adms/status/"
_SERVICE = (DCAT + "endpointURL", DCAT + "endpointDescription", FOAF + "page")
_ORGANISATIONS = (VCARD + "org", VCARD + "hasOrganizationName", ORG + "memberOf")
_FILE = (DCAT + "downloadURL", SCHEMA + "contentUrl", SCHEMA_HTTPS + "contentUrl")


class Completion:
    """Adds to a description what its nodes must have.

    Args:
        about: the description, which is changed.
        otherwise: the address of a file that has none: its dataset's page.
    """

    def __init__(self, about: Nodes, otherwise: str | None) -> None:
        self.about = about
        self.nodes = about.graph
        self.otherwise = otherwise

    def fill(self, subject: str, kind: str) -> None:
        """Add what a class must have, from what the node says otherwise."""
        if kind in (FOAF + "Agent", SKOS + "Concept"):
            self._name(subject, terms.name_of(kind))
            self._scheme(subject)
        elif kind == ORG + "Organization":
            self._name(subject, FOAF + "name")
            self._name(subject, SKOS + "prefLabel")
        elif kind == SKOS + "ConceptScheme":
            self._name(subject, DCT + "title")
        elif kind == VCARD + "Kind":
            self._contact(subject)
        elif kind == DCAT + "DataService":
            found = self._address(subject, *_SERVICE)
            self.about.say(subject, DCAT + "endpointURL", found)
            self._name(subject, DCT + "title", found)
        elif kind == DCAT + "Distribution":
            self._file(subject)

    def _scheme(self, subject: str) -> None:
        """Say which table a status is of, as the shapes want it."""
        if subject.startswith(_STATUS):
            self.about.say(subject, SKOS + "inScheme", self.about.node(_STATUS + "1.0", SKOS + "ConceptScheme"))
            self._name(_STATUS + "1.0", DCT + "title", "Status")

    def _contact(self, subject: str) -> None:
        node = self.nodes.get(subject, {})
        if VCARD + "fn" not in node:
            named = (subject, *(each for name in _ORGANISATIONS for each in node.get(name, ())))
            name = next(filter(None, (terms.label(self.nodes, each) for each in named)), None)
            self.about.say(subject, VCARD + "fn", Literal(name) if name else None)
        if VCARD + "hasEmail" not in node:
            self.about.say(subject, VCARD + "hasEmail", *node.get(FOAF + "mbox", ()))

    def _file(self, subject: str) -> None:
        """Add the address of a distribution, and a media type that stands as the format, which becomes a file type."""
        node = self.nodes.get(subject, {})
        if not self._address(subject, DCAT + "accessURL"):
            services = [each for each in node.get(DCAT + "accessService", ()) if isinstance(each, str)]
            found = self._address(subject, *_FILE) or next(
                filter(None, (self._address(each, *_SERVICE) for each in services)), self.otherwise
            )
            self.about.say(subject, DCAT + "accessURL", found)
        if DCAT + "mediaType" not in node:
            texts = (terms.label(self.nodes, each) or str(each) for each in node.get(DCT + "format", ()))
            types = (terms.authority_iri(DCT + "MediaType", text) for text in texts if "/" in text)
            self.about.say(subject, DCAT + "mediaType", next(filter(None, types), None))

    def _name(self, subject: str, property_: str, otherwise: str | None = None) -> None:
        node = self.nodes.get(subject, {})
        if any(isinstance(each, Literal) and each.value.strip() for each in node.get(property_, ())):
            return
        known = None if is_blank(subject) else authority(subject)[0]
        text = terms.label(self.nodes, subject) or known or otherwise or self._mailbox(node)
        written = Literal(text or ("?" if is_blank(subject) else subject), "en" if known and text == known else None)
        self.about.say(subject, property_, written)

    def _mailbox(self, node: Node) -> str | None:
        found = [*node.get(FOAF + "mbox", ()), *node.get(VCARD + "hasEmail", ())]
        return next((each.removeprefix("mailto:") for each in found if isinstance(each, str)), None)

    def _address(self, subject: str, *properties: str) -> str | None:
        """Return the first address under any of the properties; many catalogues write it as a text."""
        node = self.nodes.get(subject, {})
        given = (each for name in properties for each in node.get(name, ()))
        return next(
            filter(None, (each if isinstance(each, str) else terms.address(each.value) for each in given)), None
        )
