"""What a source that publishes RDF said of a dataset: its own triples, under names that any RDF parser accepts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers import kind
from crawlers.fields import specs
from crawlers.items import Resource
from crawlers.records.rdf.graphs import reached, valid_language
from crawlers.records.rdf.terms import (
    DC,
    DCAT,
    DCT,
    FOAF,
    ORG,
    OWL,
    SCHEMA,
    SCHEMA_HTTPS,
    TYPE,
    VCARD,
    Literal,
    Term,
    iris,
    is_blank,
)
from crawlers.store.export.iris import iri, minted
from crawlers.store.export.nodes import plain, printable

if TYPE_CHECKING:
    from crawlers.items import Dataset
    from crawlers.records.rdf.terms import Graph, Node
    from crawlers.store.export.iris import Taken

_SEPARATE = {DCAT + name for name in ("Dataset", "DatasetSeries", "Catalog", "CatalogRecord")}
_NOT_A_DATASET = {DCAT + name for name in ("Catalog", "CatalogRecord", "Distribution", "DataService")}
_OF_CATALOGUES = {DCAT + name for name in ("dataset", "catalog", "record", "service")}
_FILES = (DCAT + "distribution", DCAT + "distributions", SCHEMA + "distribution", SCHEMA_HTTPS + "distribution")
_OTHERS = (SCHEMA, SCHEMA_HTTPS, DC)
_OF_FILES = {
    other: iris(spec.rdf)[0]
    for name, spec in specs(Resource).items()
    for other in iris(spec.rdf)[1:]
    if other.startswith(_OTHERS)
}
"""What says a field of a file in other vocabularies, and the property that DCAT has for it."""
_SHARED = {
    *(FOAF + name for name in ("Agent", "Group", "Organization", "Person")),
    *(VCARD + name for name in ("Group", "Individual", "Kind", "Organization")),
    *(schema + name for schema in (SCHEMA, SCHEMA_HTTPS) for name in ("Organization", "Person", "Place")),
    ORG + "Organization",
    DCT + "Location",
}
"""Agents and places: what many datasets describe, each in its words."""
_EXACT = {DCT + "PeriodOfTime", DCAT + "DataService"}
"""Periods and services: what two sources describe differently are two things."""
SAME_AS = OWL + "sameAs"
"""What a blank node says that describes a shared thing otherwise than the thing's own node."""


def own_triples(dataset: Dataset, subject: str, taken: Taken) -> Graph:
    """Return what the dataset's document says, if it is RDF; empty if it is not.

    Other datasets and catalogues are cited and not described.

    Args:
        subject: what the dataset is called in the export.
        taken: the IRIs that are in use; those of the distributions are added.
    """
    found = kind.triples(dataset.document, dataset.metadata_source, dataset.metadata_url)
    if not found:
        return {}
    nodes, own = found
    names = _names(nodes, own, subject)
    files = [each for link in _FILES for each in nodes.get(own, {}).get(link, ())]
    described_files = [str(each) for each in files if each in names]
    same: dict[str, str] = {}
    for name in [name for name, written in names.items() if name not in (own, *described_files) and taken.has(written)]:
        written = names.pop(name)  # another dataset, or its file: only cited
        if is_shared(nodes[name]):
            names[name] = f"_:s{len(same)}"
            same[names[name]] = written
    for number, each in enumerate(dict.fromkeys(described_files)):
        if not is_blank(each) and each != own:  # a dataset may be its own file
            other = minted(dataset.source, dataset.id, each, str(number))
            names[each] = taken.first(names[each], other, dataset.source)
    blank = dict.fromkeys(each for node in nodes.values() for values in node.values() for each in values)
    cited = {str(each): f"_:c{number}" for number, each in enumerate(blank) if isinstance(each, str) and is_blank(each)}
    described = {names[name]: _node(node, cited | names) for name, node in nodes.items() if name in names}
    for name, written in same.items():
        described[name][SAME_AS] = [written]
    if subject in described:
        _restate(described, subject, [names[each] for each in described_files])
    return described


def _restate(described: Graph, subject: str, files: list[str]) -> None:
    """Say in DCAT's words, too, what a file and its place are in others; the dataset is nothing else besides."""
    node = described[subject]
    node[TYPE] = [each for each in node.get(TYPE, ()) if each not in _NOT_A_DATASET]
    others = [each for name in _FILES[1:] for each in node.get(name, ()) if each in files]
    if others:
        node[_FILES[0]] = list(dict.fromkeys([*node.get(_FILES[0], ()), *others]))
    for each in files:
        for other, name in _OF_FILES.items():
            if other in described[each]:
                described[each].setdefault(name, described[each][other])
        if each in others:
            described[each][TYPE] = list(dict.fromkeys([*described[each].get(TYPE, ()), DCAT + "Distribution"]))


def _names(nodes: Graph, own: str, subject: str) -> dict[str, str]:
    """Return what the nodes are called in the export, without those that are not described there."""
    names = {own: subject}
    for number, name in enumerate(reached(nodes, [own], _is_part)):
        written = f"_:o{number}" if is_blank(name) else iri(name)
        if written and written != subject and name != own:
            names[name] = written
    return names


def is_shared(node: Node) -> bool:
    """Return whether a node is an agent, a place, a period or a service."""
    return is_exact(node) or not _SHARED.isdisjoint(node.get(TYPE, ()))


def is_exact(node: Node) -> bool:
    """Return whether a node is a period or a service: in other words it is another one."""
    return not _EXACT.isdisjoint(node.get(TYPE, ()))


def _is_part(node: Node) -> bool:
    """Return whether a node is no dataset or catalogue of its own."""
    return _SEPARATE.isdisjoint(node.get(TYPE, ()))


def _node(node: Node, names: dict[str, str]) -> Node:
    found: Node = {}
    for predicate, values in node.items():
        name = iri(predicate)
        if name and name not in _OF_CATALOGUES:
            held = dict.fromkeys(found.get(name, ()))
            held |= dict.fromkeys(each for value in values if (each := _term(value, names)) is not None)
            found[name] = [each for each in held if name != TYPE or isinstance(each, str)]
    return {name: values for name, values in found.items() if values}


def _term(term: Term, names: dict[str, str]) -> Term | None:
    """Return a value; what is no IRI stays as a text."""
    if isinstance(term, str):
        known = names.get(term) or (None if is_blank(term) else iri(term))
        return known or (None if is_blank(term) else _literal(Literal(term)))
    return _literal(term)


def _literal(term: Literal) -> Literal:
    language = valid_language(term.language) if term.language else None
    datatype = iri(term.datatype) if term.datatype and not language else None
    return Literal(plain(term.value) or printable(term.value), language, datatype)
