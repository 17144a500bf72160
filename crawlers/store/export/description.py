"""A dataset's description in a profile of DCAT: a source's own triples and what the item adds, or the item's alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.fields import specs
from crawlers.items import Dataset
from crawlers.rdf.graphs import reached
from crawlers.rdf.namespaces import DCAT, DCT, FOAF, TYPE, iris
from crawlers.rdf.terms import is_blank
from crawlers.store.export.conformity import Conformity
from crawlers.store.export.iris import host, iri, minted
from crawlers.store.export.item_triples import files, item_triples
from crawlers.store.export.nodes import named_agent
from crawlers.store.export.own_triples import own_triples
from crawlers.store.export.profile import profile as rules_of
from crawlers.store.export.reach import prune, roots

if TYPE_CHECKING:
    from crawlers.rdf.terms import Graph
    from crawlers.store.export.iris import Taken
    from crawlers.store.export.nodes import Nodes
    from crawlers.store.export.profile import Profile

_FROM_ITEMS = (
    *("title", "description", "publisher", "contacts", "keywords", "themes", "languages", "license", "issued"),
    *("modified", "landing_page", "frequency", "spatial", "temporal"),
)
"""Fields that an item may add to a source's own triples, besides its files."""
_FROM_FILES = ("access_rights", "rights", "identifier", "version", "conforms_to", "provenance")
"""Fields that an item may have from other vocabularies or from the files: not added to a source's own triples."""
_FIELDS = {name: iris(specs(Dataset)[name].rdf)[0] for name in (*_FROM_ITEMS, *_FROM_FILES)}
_FIELDS["resources"] = DCAT + "distribution"
"""The property of each field that an operator can set."""
_CHOSEN = {DCAT + "spatialResolutionInMeters"}
"""Where several are given, the item has the one that counts."""
_ADDED = frozenset(_FIELDS[name] for name in _FIELDS if name not in _FROM_FILES)


def description(dataset: Dataset, taken: Taken, profile: str = "dcat-ap") -> tuple[Graph, str]:
    """Return the dataset's graph and its IRI in it; it conforms to the profile, and lacks nothing that is mandatory.

    Args:
        taken: the IRIs that are in use; those of the dataset and its distributions are added.
        profile: the name of a profile, see `crawlers.store.export.profile`.
    """
    subject = taken.first(iri(dataset.uri), minted(dataset.source, dataset.id))
    about = item_triples(dataset, subject)
    preferred = dict(about.graph[subject])
    own = own_triples(dataset, subject, taken)
    if DCAT + "distribution" not in own.get(subject, {}):
        files(about, subject, dataset, taken)
    if subject in own:
        _merge(about, own, subject, dataset)
    node, rules = about.graph[subject], rules_of(profile)
    if profile == "dcat-us":
        _as_dcat_us(about, subject, dataset)
    kept = roots(about.graph)
    Conformity(about, rules, preferred, iri(dataset.landing_page)).reach(subject, DCAT + "Dataset")
    for name in (DCT + "title", DCT + "description"):
        node.setdefault(name, preferred[name])
    _license_files(about.graph, subject)
    prune(about.graph, kept)
    _leave_out_told(about.graph, subject, rules, taken)
    return about.graph, subject


def _as_dcat_us(about: Nodes, subject: str, dataset: Dataset) -> None:
    """Add a publisher, which is mandatory there; a dataset that is its own landing page is no document there."""
    node = about.graph[subject]
    node[TYPE] = [each for each in node[TYPE] if each != FOAF + "Document"]
    if DCT + "publisher" not in node:
        about.say(subject, DCT + "publisher", named_agent(about, host(dataset)))


def _merge(about: Nodes, own: Graph, subject: str, dataset: Dataset) -> None:
    """Put a source's own triples in place of what the item says the same of; the operator's fields stay."""
    said, node = about.graph, own[subject]
    replaced = {_FIELDS[name] for name in dataset.set_by_operator if name in _FIELDS}
    added = _ADDED - ({DCT + "license"} if any(one.license for one in dataset.resources) else set())
    if subject != iri(dataset.uri):
        added |= {DCT + "identifier"}
    for name, values in said[subject].items():
        if name in replaced or name in _CHOSEN or (name in added and name not in node):
            node[name] = values
    about.graph = own
    for name in reached(said, [each for values in node.values() for each in values]):
        own.setdefault(name, said[name])


def _license_files(nodes: Graph, subject: str) -> None:
    """Give its dataset's licence to a file that has none: many programs look for it there alone."""
    license_ = nodes[subject].get(DCT + "license", [])[:1]
    for each in nodes[subject].get(DCAT + "distribution", ()) if license_ else ():
        node = nodes[str(each)]
        if DCT + "license" not in node:
            node[DCT + "license"] = license_


def _leave_out_told(nodes: Graph, subject: str, rules: Profile, taken: Taken) -> None:
    """Of a node that several datasets describe, leave out what it may have once and has from another."""
    for name, node in nodes.items():
        if name == subject or is_blank(name):
            continue
        kinds = set(map(str, node.get(TYPE, ())))
        once = {
            rule.property for kind in kinds for rule in rules.get(kind, ()) if rule.most == 1 and rule.property in node
        }
        for property_ in sorted(once) if DCAT + "Distribution" not in kinds else ():
            if not taken.is_new(f"{name} {property_}"):
                del node[property_]
