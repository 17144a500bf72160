"""One dataset's description in RDF as an item."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crawlers.exceptions import AnswerError
from crawlers.items import Dataset
from crawlers.mapping import values
from crawlers.mapping.dcat.agents import agents
from crawlers.mapping.dcat.dates import issued, modified
from crawlers.mapping.dcat.description import Description
from crawlers.mapping.dcat.distributions import distributions, resources
from crawlers.mapping.dcat.identities import identifiers, identity
from crawlers.mapping.dcat.languages import languages
from crawlers.mapping.dcat.licenses import agreed
from crawlers.mapping.dcat.licenses import license as license_of
from crawlers.mapping.dcat.rights import access_rights, provenance, rights, unanimous
from crawlers.mapping.dcat.spatial import spatial
from crawlers.mapping.dcat.standards import conforms_to
from crawlers.mapping.dcat.temporal import temporal
from crawlers.mapping.dcat.themes import themes
from crawlers.mapping.frequencies import frequency
from crawlers.mapping.markup import markdown
from crawlers.rdf.namespaces import ADMS, DC, DCAT, DCT, FOAF, OWL, RDFS, SCHEMA, SCHEMA_HTTPS
from crawlers.rdf.terms import Literal, is_blank

if TYPE_CHECKING:
    from crawlers.rdf.terms import Graph, Node

_PAV = "http://purl.org/pav/"
_TITLE = (DCT + "title", DC + "title", SCHEMA + "name", SCHEMA_HTTPS + "name", RDFS + "label")
_DESCRIPTION = (
    *(DCT + "description", DCT + "abstract", DC + "description"),
    *(SCHEMA + "description", SCHEMA_HTTPS + "description"),
)
_LANDING_PAGE = (DCAT + "landingPage", FOAF + "homepage", SCHEMA + "url", SCHEMA_HTTPS + "url")
_VERSION = (
    *(DCAT + "version", OWL + "versionInfo", ADMS + "version"),
    *(_PAV + "version", SCHEMA + "version", SCHEMA_HTTPS + "version"),
)
_KEYWORDS = (DCAT + "keyword", DC + "subject", SCHEMA + "keywords", SCHEMA_HTTPS + "keywords")
_FREQUENCY = (DCT + "accrualPeriodicity", DC + "accrualPeriodicity")
_BETWEEN_KEYWORDS = re.compile(r"(?<![0-9]),|,(?![0-9])|;")


def dataset(description: Graph, subject: str, *, source: str, language: str | None = None) -> Dataset:
    """The item of one dataset, without documents.

    ``description`` holds what is said of ``subject`` and of the nodes that belong to it; nothing else is looked at and
    nothing is fetched. The same triples give the same item in whatever order. ``language`` is the tag of the texts to
    prefer. What cannot be read is in ``flaws``.

    Raises:
        AnswerError: the dataset has no `identity`.
    """
    about, node = Description(description, language), description.get(subject, {})
    item = _identified(description, subject, source)
    _describe(item, about, node)
    _classify(item, about, node)
    _attribute(item, about, node)
    item.flaws = about.sentences()
    return item


def _identified(description: Graph, subject: str, source: str) -> Dataset:
    id_ = identity(description, subject)
    if id_ is None:
        raise AnswerError("missing_id", "a dataset has neither an identifier nor an IRI")
    return Dataset(
        source=source,
        id=id_,
        identifier=next(iter(identifiers(description, subject)), None),
        uri=None if is_blank(subject) else subject,
    )


def _describe(item: Dataset, about: Description, node: Node) -> None:
    item.title = about.text(node, _TITLE)
    if not item.title:
        about.flaws.add("the dataset has no title")
    text = about.text(node, _DESCRIPTION)
    item.description = markdown(text) or None if text else None
    item.landing_page = about.read(node, _LANDING_PAGE, values.url)
    item.issued = issued(about, node)
    item.modified = modified(about, node)
    item.version = about.text(node, _VERSION)


def _classify(item: Dataset, about: Description, node: Node) -> None:
    item.keywords = _keywords(node)
    item.themes = themes(about.nodes, node, about.language)
    item.languages = languages(about, node)
    item.frequency = about.read(node, _FREQUENCY, frequency)
    item.temporal = temporal(about.nodes, node)
    item.spatial = spatial(about.nodes, node)
    item.conforms_to = conforms_to(about, node)


def _attribute(item: Dataset, about: Description, node: Node) -> None:
    """What the dataset does not say of its rights its distributions may."""
    item.publisher, item.contacts = agents(about, node)
    item.provenance = provenance(about, node)
    terms = distributions(about, node)
    nodes = [about.node(term) for term in terms]
    item.resources = resources(about, terms, item.id)
    item.rights = rights(about, node) or unanimous(rights(about, one) for one in nodes)
    item.access_rights = access_rights(about, node) or unanimous(access_rights(about, one) for one in nodes)
    item.license = license_of(about, node) or agreed(one.license for one in item.resources)


def _keywords(node: Node) -> list[str]:
    """In all languages, in the alphabet's order; one text that is a language's only one is a list with commas."""
    by_language: dict[str | None, list[str]] = {}
    for predicate in _KEYWORDS:
        for term in node.get(predicate, ()):
            if isinstance(term, Literal):
                by_language.setdefault(term.language, []).append(term.value)
    texts = [text for found in by_language.values() for text in _listed(found)]
    return sorted({text for one in texts if (text := values.text(one))})


def _listed(found: list[str]) -> list[str]:
    """
    >>> _listed(["Trees, forest; shrub"]), _listed(["1,5 °C", "Trees, old"]), _listed(["1,5 °C"])
    (['Trees', ' forest', ' shrub'], ['1,5 °C', 'Trees, old'], ['1,5 °C'])
    """
    return _BETWEEN_KEYWORDS.split(found[0]) if len(found) == 1 else found
