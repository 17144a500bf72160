"""A dataset's description in a profile of DCAT: a source's own triples and what the item adds, or the item's alone."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING

from crawlers import kind
from crawlers.fields import specs
from crawlers.items import Dataset, Resource
from crawlers.records.rdf.graphs import reached, valid_language
from crawlers.records.rdf.terms import (
    DC,
    DCAT,
    DCT,
    FOAF,
    ORG,
    OWL,
    PROV,
    SCHEMA,
    SCHEMA_HTTPS,
    SEPARATE,
    TYPE,
    VCARD,
    Literal,
    Term,
    iris,
    is_blank,
)
from crawlers.store.export import vocabularies
from crawlers.store.export.conformity import Conformity, rules_of
from crawlers.store.export.item_triples import files, item_triples
from crawlers.store.export.nodes import iri, minted, plain, printable

if TYPE_CHECKING:
    from crawlers.records.rdf.terms import Graph, Node
    from crawlers.store.export.conformity import Profile
    from crawlers.store.export.nodes import Nodes, Taken

# What a source that publishes RDF said of a dataset: its own triples, under names that any RDF parser accepts

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
_SAME_AS = OWL + "sameAs"
"""What a blank node says that describes a shared thing otherwise than the thing's own node."""


def _own_triples(dataset: Dataset, subject: str, taken: Taken) -> Graph:
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
        if _is_shared(nodes[name]):
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
        described[name][_SAME_AS] = [written]
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
    for number, name in enumerate(reached(nodes, [own], lambda node: SEPARATE.isdisjoint(node.get(TYPE, ())))):
        written = f"_:o{number}" if is_blank(name) else iri(name)
        if written and written != subject and name != own:
            names[name] = written
    return names


def _is_shared(node: Node) -> bool:
    """Return whether a node is an agent, a place, a period or a service."""
    return _is_exact(node) or not _SHARED.isdisjoint(node.get(TYPE, ()))


def _is_exact(node: Node) -> bool:
    """Return whether a node is a period or a service: in other words it is another one."""
    return not _EXACT.isdisjoint(node.get(TYPE, ()))


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


# What the nodes refer to


def _roots(nodes: Graph) -> set[str]:
    """Return the nodes that are there for their own sake: those with an IRI, and blank ones that nothing refers to."""
    cited = {each for node in nodes.values() for found in node.values() for each in found if isinstance(each, str)}
    return {name for name in nodes if not is_blank(name) or name not in cited}


def _prune(nodes: Graph, kept: set[str]) -> None:
    """Remove the nodes that neither these nor what they refer to refer to any more."""
    left = set(reached(nodes, [name for name in nodes if name in kept or not is_blank(name)]))
    for name in nodes.keys() - left:
        del nodes[name]


# With what the item says

_FROM_FILES = ("license", "rights", "access_rights")
"""Fields that an item may have from its files, or from words about rights."""
_READ = {name: iris(spec.rdf) for name, spec in specs(Dataset).items() if spec.rdf}
_READ["resources"] = (DCAT + "distribution",)
"""The properties that each field is read from."""
_FIELDS = {name: found[0] for name, found in _READ.items()}
"""The property of each field that an operator can set."""
_OF_SEVERAL = {name for name, count in Counter(chain.from_iterable(_READ.values())).items() if count > 1}
_OWN = {TYPE, DCT + "identifier", DCAT + "theme", DCAT + "distribution", PROV + "qualifiedAttribution"}
"""What a source's own triples say alone: the item has its name, themes, files and agents from other properties."""


def description(dataset: Dataset, taken: Taken, profile: str = "dcat-ap") -> tuple[Graph, str]:
    """Return the dataset's graph, in the forms of a profile, and its name in it.

    Args:
        taken: the names that are in use; those of the dataset and its distributions are added.
        profile: the name of a profile, see `crawlers.store.export.conformity`.
    """
    subject = _name(dataset, taken)
    rules = rules_of(profile)
    single = frozenset(rule.property for rule in rules[DCAT + "Dataset"] if rule.most == 1)
    about = item_triples(dataset, subject, single)
    own = _own_triples(dataset, subject, taken)
    classes = {name: frozenset(node.get(TYPE, ())) for name, node in own.items()}
    if DCAT + "distribution" not in own.get(subject, {}):
        files(about, subject, dataset, taken)
    if subject in own:
        _merge(about, own, subject, dataset)
    kept = _roots(about.graph)
    Conformity(about, rules, classes).reach(subject, DCAT + "Dataset")
    is_series = DCAT + "DatasetSeries" in about.graph[subject].get(TYPE, ())
    if not is_series or is_blank(subject) or _asks_for_class(rules):
        about.say(subject, TYPE, DCAT + "Dataset")
    _prune(about.graph, kept)
    _tell_apart(about.graph, subject, rules, dataset.source if own else None, taken)
    return about.graph, subject


def _asks_for_class(rules: Profile) -> bool:
    """Return whether what a catalogue lists must be a dcat:Dataset: a series is not everywhere."""
    return any(rule.property == DCAT + "dataset" and rule.value != "node" for rule in rules[DCAT + "Catalog"])


def _name(dataset: Dataset, taken: Taken) -> str:
    """Return a dataset's IRI; one without is a blank node, unless another one has its identifier or IRI.

    A reader of the export calls it by the first of its identifier and its IRI that no earlier one is called by.
    """
    identifier, wanted = plain(dataset.identifier) or plain(dataset.id), iri(dataset.uri)
    called = dict.fromkeys(filter(None, (identifier, wanted)))
    is_known = any(taken.take(f"identifier {each}") for each in called)
    if is_known and not wanted:
        return "_:dataset"
    return taken.first(wanted if is_known else None, minted(dataset.source, dataset.id))


def _merge(about: Nodes, own: Graph, subject: str, dataset: Dataset) -> None:
    """Add to a source's own triples what it says in other vocabularies; the operator's fields replace its own."""
    said, node = about.graph, own[subject]
    fields = [name for name in dataset.set_by_operator if _FIELDS.get(name) in said[subject]]
    replaced, before = {_FIELDS[name] for name in fields}, reached(own, [subject])
    for name in node.keys() & ({each for field in fields for each in _READ[field]} - _OF_SEVERAL):
        del node[name]
    left = _OWN - ({DCT + "identifier"} if dataset.uri and subject != iri(dataset.uri) else set())
    if DCT + "rights" in node or any(file.license or file.rights for file in dataset.resources):
        left |= {_FIELDS[name] for name in _FROM_FILES}
    if DCT + "hasVersion" in node:  # both are one role
        left |= {DCAT + "hasVersion"}
    added = {name: each for name, each in said[subject].items() if name in replaced or name not in {*node, *left}}
    node |= added
    for name in set(before).difference(reached(own, [subject])):
        del own[name]
    about.graph = own
    for name in reached(said, [each for values in added.values() for each in values]):
        own.setdefault(name, {predicate: each for predicate, each in said[name].items() if predicate != TYPE})


def _tell_apart(nodes: Graph, subject: str, rules: Profile, owner: str | None, taken: Taken) -> None:
    """Describe a shared node as a blank one, the same as its IRI, if an earlier dataset described it otherwise.

    Args:
        owner: the source, if it publishes RDF: all that it says of an IRI is one description.
    """
    apart: dict[Term, str] = {}
    for name, node in nodes.items():
        if name == subject or is_blank(name) or not _is_shared(node):
            continue
        others = {each for each, said in node.items() if not _agrees(taken, name, each, said, owner)} - {TYPE, _SAME_AS}
        if name.startswith(vocabularies.EU) or (owner and not _is_exact(node)):  # names in all languages are of one
            others &= {rule.property for kind in node[TYPE] for rule in rules.get(str(kind), ()) if rule.most == 1}
        if others:
            apart[name] = f"_:a{len(apart)}"
    for node in nodes.values() if apart else ():
        for predicate in node.keys() - {_SAME_AS}:
            node[predicate] = [apart.get(each, each) for each in node[predicate]]
    for iri_, blank in apart.items():
        node = nodes.pop(str(iri_))
        if _SAME_AS in node:
            nodes[str(iri_)] = {_SAME_AS: node.pop(_SAME_AS)}  # of the IRI, whichever description counts
        nodes[blank] = node | {_SAME_AS: [iri_]}


def _agrees(taken: Taken, name: str, predicate: str, said: list[Term], owner: str | None) -> bool:
    written = repr(sorted(repr(each) for each in said if not is_blank(each)))
    return taken.agrees(f"{name} {predicate}", sha256(written.encode(errors="replace")).hexdigest(), owner)
