"""One dataset's description in RDF as an item."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import AnswerError
from crawlers.items import Dataset, Flaw
from crawlers.records import values
from crawlers.records.dcat.agents import AGENTS, agents
from crawlers.records.dcat.description import Description, earliest, latest
from crawlers.records.dcat.details import BY_KIND, NOWHERE, QUALIFIED, REGIONAL, RELATIONS, region, relations, samples
from crawlers.records.dcat.distributions import distributions, resources
from crawlers.records.dcat.extents import spatial, temporal
from crawlers.records.dcat.identities import chosen_identity, identifiers
from crawlers.records.dcat.terms import access_rights, conforms_to, rights, statement, unanimous
from crawlers.records.dcat.themes import themes
from crawlers.records.licenses import agreed
from crawlers.records.periods import frequency
from crawlers.records.rdf.jsonld import UNDEFINED
from crawlers.records.rdf.terms import DCAT, RDF, TIME, Literal, iris, is_blank
from crawlers.records.record import Fields

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawlers.records.rdf.terms import Graph

    Amend = Callable[[Dataset], None]

_OWN = {DCAT + "distribution", DCAT + "distributions"}
"""What these lead to is described with the dataset; what others lead to often stands elsewhere."""


_MOST_KEYS, _LONGEST_KEY = 10, 100
"""Keys that a sentence names, and characters of each."""


def is_cut(description: Graph) -> bool:
    """Return whether a description names a blank node or a distribution without describing it.

    >>> is_cut({"http://a.org/1": {DCAT + "distribution": ["http://a.org/1.csv"]}})
    True
    >>> is_cut({"http://a.org/1": {DCAT + "theme": ["http://a.org/rivers"]}})
    False
    """
    for node in description.values():
        for predicate, objects in node.items():
            for value in objects:
                named = isinstance(value, str) and (predicate in _OWN or value.startswith("_:"))
                if named and value not in description:
                    return True
    return False


def undefined_keys(description: Graph) -> str | None:
    """Return what to say of the keys that a JSON-LD context does not define; ``None`` if there are none.

    >>> undefined_keys({"_:a": {"https://a.org/dcat-ap.jsonld#colour": ["http://a.org/red"]}})
    "The JSON-LD context https://a.org/dcat-ap.jsonld does not define 'colour': what that says is only in the document."
    """
    iris = sorted(iri for iri in set().union(*description.values()) if UNDEFINED in iri)
    if not iris:
        return None
    keys = [repr(iri.partition("#")[2][:_LONGEST_KEY]) for iri in iris]
    if len(keys) > _MOST_KEYS:
        keys[_MOST_KEYS:] = [f"{len(keys) - _MOST_KEYS} more"]
    context = iris[0].partition("#")[0]
    return f"The JSON-LD context {context} does not define {', '.join(keys)}: what that says is only in the document."


def has_lost(now: Graph, before: Graph) -> bool:
    """Return whether a description has fewer statements of some property than an older one of the same dataset.

    >>> before = {"http://a.org/1": {"http://a.org/title": ["http://a.org/a"], "http://a.org/is": ["http://a.org/b"]}}
    >>> has_lost({"http://a.org/1": {"http://a.org/title": ["http://a.org/c"]}}, before), has_lost(before, before)
    (True, False)
    """
    return bool(_statements(before) - _statements(now))


def _statements(description: Graph) -> Counter[str]:
    """Return how many statements there are of each property."""
    counts: Counter[str] = Counter()
    for node in description.values():
        for predicate, objects in node.items():
            counts[predicate] += len(objects)
    return counts


_UNITS = {"years": "Y", "months": "M", "weeks": "W", "days": "D", "hours": "H"}


def dataset(
    description: Graph,
    subject: str,
    *,
    source: str,
    language: str | None = None,
    amend: Amend | None = None,
    is_whole: bool = True,
) -> Dataset:
    """Return the item of one dataset, without documents.

    ``description`` has the statements about ``subject`` and the nodes that belong to it; nothing else is looked at and
    nothing is fetched. The same triples give the same item in whatever order. ``language`` is the tag of the texts to
    prefer. What cannot be read is in ``flaws``. ``amend`` may change the fields that the description gave. Of a
    description that was cut (``is_whole``) nobody knows what its publisher left out of a distribution.

    Raises:
        AnswerError: the dataset has no `identity`.
    """
    names = identifiers(description, subject)
    id_ = chosen_identity(names, subject)
    if id_ is None:
        raise AnswerError("missing_id", "a dataset has neither an identifier nor an IRI")
    node = Description(description, subject, language)
    item = Dataset(source=source, id=id_, **_described(node))
    item.identifier = names[0] if names else None
    item.uri = None if is_blank(subject) else subject
    if not item.title:
        node.flaw("the dataset has no title", "title", "missing_value")
    _attribute(item, node)
    if amend:
        amend(item)
    item.derive()
    undefined = undefined_keys(description)
    if not is_whole:
        node.flaws = [flaw for flaw in node.flaws if not (flaw.kind == "missing_value" and flaw.resource_id)]
    item.flaws = node.sentences() + ([Flaw(undefined, "@context", "unreadable_statement")] if undefined else [])
    return item


def _described(node: Description) -> dict[str, Any]:
    """Return the fields that the dataset's own properties give, by name."""
    found = _FIELDS.read(node)
    found["publisher"], found["contacts"] = found.pop("agents", (None, []))
    found["country"], found["state"], found["city"] = found.pop("region", NOWHERE)
    return found


def _attribute(item: Dataset, node: Description) -> None:
    """Fill in the files and the terms; what of these the dataset does not say its distributions may."""
    nodes = distributions(node)
    item.resources = resources(nodes, item.id)
    item.rights, item.access_rights = rights(node), access_rights(node)
    if any(each.rights for each in item.resources):
        item.rights = item.rights or unanimous(map(rights, nodes))
        item.access_rights = item.access_rights or unanimous(map(access_rights, nodes))
    item.license = item.license or agreed(each.license for each in item.resources)


def _frequency(node: Description, *names: str) -> str | None:
    return node.read(frequency, *names) or _described_frequency(node, *names)


def _described_frequency(node: Description, *names: str) -> str | None:
    """Return the frequency that a time:DurationDescription gives, as Spain's profile has it."""
    for term in node.terms(*names):
        for held in (term, *node.at(term).terms(RDF + "value")):
            lengths = ((unit, node.at(held).texts(TIME + name)) for name, unit in _UNITS.items())
            parts = [f"{'T' if unit == 'H' else ''}{texts[0].strip()}{unit}" for unit, texts in lengths if texts]
            if found := frequency("P" + "".join(parts)):
                return found
    return None


def _keywords(node: Description, *names: str) -> list[str]:
    """Return keywords in all languages, sorted; a property's only text in a language is a list with commas."""
    lists: dict[tuple[str, str | None], list[str]] = {}
    for predicate in names:
        for term in node.fields[predicate]:
            if isinstance(term, Literal):
                lists.setdefault((predicate, term.language), []).append(term.value)
    return sorted({text for found in lists.values() for text in values.keywords(found)})


_FIELDS = Fields.of(
    Dataset,
    "rdf",
    BY_KIND,
    {
        "issued": earliest,
        "modified": latest,
        "keywords": _keywords,
        "themes": lambda node, *_: themes(node.nodes, node.fields, node.language),
        "frequency": _frequency,
        "temporal": lambda node, *_: temporal(node.nodes, node.fields),
        "spatial": spatial,
        "conforms_to": conforms_to,
        "provenance": statement,
        "sample": samples,
    },
    more={
        "agents": (agents, AGENTS),
        "relations": (relations, (*RELATIONS, *QUALIFIED)),
        "region": (region, REGIONAL),
    },
    without=("identifier", "access_rights", "rights"),
    spelled=iris,
)
