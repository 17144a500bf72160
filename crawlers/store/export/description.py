"""A dataset's description in a profile of DCAT: a source's own triples and what the item adds, or the item's alone."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING

from crawlers.fields import specs
from crawlers.items import Dataset
from crawlers.records.rdf.graphs import reached
from crawlers.records.rdf.terms import DCAT, DCT, PROV, TYPE, iris, is_blank
from crawlers.store.export import vocabularies
from crawlers.store.export.conformity import Conformity
from crawlers.store.export.iris import iri, minted
from crawlers.store.export.item_triples import files, item_triples
from crawlers.store.export.nodes import plain
from crawlers.store.export.own_triples import SAME_AS, is_exact, is_shared, own_triples
from crawlers.store.export.profile import profile as rules_of
from crawlers.store.export.reach import prune, roots

if TYPE_CHECKING:
    from crawlers.records.rdf.terms import Graph, Term
    from crawlers.store.export.iris import Taken
    from crawlers.store.export.nodes import Nodes
    from crawlers.store.export.profile import Profile

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
        profile: the name of a profile, see `crawlers.store.export.profile`.
    """
    subject = _name(dataset, taken)
    rules = rules_of(profile)
    single = frozenset(rule.property for rule in rules[DCAT + "Dataset"] if rule.most == 1)
    about = item_triples(dataset, subject, single)
    own = own_triples(dataset, subject, taken)
    classes = {name: frozenset(node.get(TYPE, ())) for name, node in own.items()}
    if DCAT + "distribution" not in own.get(subject, {}):
        files(about, subject, dataset, taken)
    if subject in own:
        _merge(about, own, subject, dataset)
    kept = roots(about.graph)
    Conformity(about, rules, classes).reach(subject, DCAT + "Dataset")
    is_series = DCAT + "DatasetSeries" in about.graph[subject].get(TYPE, ())
    if not is_series or is_blank(subject) or _asks_for_class(rules):
        about.say(subject, TYPE, DCAT + "Dataset")
    prune(about.graph, kept)
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
        if name == subject or is_blank(name) or not is_shared(node):
            continue
        others = {each for each, said in node.items() if not _agrees(taken, name, each, said, owner)} - {TYPE, SAME_AS}
        if name.startswith(vocabularies.EU) or (owner and not is_exact(node)):  # names in all languages are of one
            others &= {rule.property for kind in node[TYPE] for rule in rules.get(str(kind), ()) if rule.most == 1}
        if others:
            apart[name] = f"_:a{len(apart)}"
    for node in nodes.values() if apart else ():
        for predicate in node.keys() - {SAME_AS}:
            node[predicate] = [apart.get(each, each) for each in node[predicate]]
    for iri_, blank in apart.items():
        node = nodes.pop(str(iri_))
        if SAME_AS in node:
            nodes[str(iri_)] = {SAME_AS: node.pop(SAME_AS)}  # of the IRI, whichever description counts
        nodes[blank] = node | {SAME_AS: [iri_]}


def _agrees(taken: Taken, name: str, predicate: str, said: list[Term], owner: str | None) -> bool:
    written = repr(sorted(repr(each) for each in said if not is_blank(each)))
    return taken.agrees(f"{name} {predicate}", sha256(written.encode(errors="replace")).hexdigest(), owner)
