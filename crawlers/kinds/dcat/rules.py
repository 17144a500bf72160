"""What a catalogue file says of RDF that is not DCAT: which nodes are datasets, and which property is which field."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from crawlers.exceptions import RulesError, hint
from crawlers.fields import specs
from crawlers.items import Dataset, Resource
from crawlers.records import toml
from crawlers.records.dcat.description import in_order
from crawlers.records.dcat.details import RELATIONS
from crawlers.records.rdf.dcat_context import PREFIXES
from crawlers.records.rdf.terms import DC, DCAT, DCT, PROV, SCHEMA, SCHEMA_HTTPS, WDRS, iris
from crawlers.records.toml import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from crawlers.records.rdf.terms import Graph, Node, Term


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Parts of a dataset: its files, or the agents in one role.

    Args:
        each: leads from the dataset to each. ``()``: DCAT's distributions; or the dataset itself says all of one agent.
        fields: of each: where each field is.
    """

    each: Ways = ()
    fields: Mapping[str, Ways] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RDFRules:
    """What ``[rdf]`` says.

    Args:
        name: the file's, without ``.toml``.
        text: the whole file.
        classes: of the nodes that are datasets; empty where they are DCAT's.
        fields: of a dataset: where each is.
        agents: the fields of a dataset that are agents.
        resources: its files.
    """

    name: str
    text: str
    classes: frozenset[str] = frozenset()
    fields: Mapping[str, Ways] = field(default_factory=dict)
    agents: Mapping[str, Parts] = field(default_factory=dict)
    resources: Parts = field(default_factory=Parts)

    @property
    def digest(self) -> str:
        """A job that was begun with other rules can't be resumed."""
        return sha256(self.text.encode()).hexdigest()

    @property
    def says(self) -> bool:
        """Whether they say anything."""
        return bool(self.classes or self.fields or self.agents or self.resources.each or self.resources.fields)

    @cached_property
    def inverse(self) -> frozenset[str]:
        """The properties that a path follows from the value to the node that has it."""
        steps = (step for ways in self._ways() for path in ways for step in path)
        return frozenset(name for step in steps if step.is_inverse for name in step.properties)

    def _ways(self) -> Iterator[Ways]:
        yield from self.fields.values()
        for part in [*self.agents.values(), self.resources]:
            yield part.each
            yield from part.fields.values()


_PLURAL = {"agent", "agents"}


def _properties(item: type) -> dict[str, str]:
    return {name: iris(spec.rdf)[0] for name, spec in specs(item).items() if spec.rdf and spec.kind not in _PLURAL}


OF_DATASETS, OF_RESOURCES = _properties(Dataset), _properties(Resource)
PLAIN = tuple(name for name, spec in specs(Dataset).items() if not spec.rdf and spec.kind != "stamp")
"""Fields of datasets that no DCAT property of the dataset's own node gives."""
AGENTS = {name: spec.one or name for name, spec in specs(Dataset).items() if spec.kind in _PLURAL}
"""The fields that are agents, with the role of each."""
AGENT_FIELDS = ("name", "uri", "email", "url")
DATASET_FIELDS = (*OF_DATASETS, *PLAIN)
RESOURCE_FIELDS = tuple(OF_RESOURCES)

_SCHEMAS = (SCHEMA, SCHEMA_HTTPS)
ALSO = {
    "keywords": frozenset((DC + "subject", *(each + "keywords" for each in _SCHEMAS))),
    "themes": frozenset((DCT + "subject",)),
    "temporal": frozenset((DCAT + "temporal", *(each + "temporalCoverage" for each in _SCHEMAS))),
    "spatial": frozenset((DCAT + "spatial", *(each + "spatialCoverage" for each in _SCHEMAS))),
    "documentation": frozenset((WDRS + "describedby",)),
    "relations": frozenset((*RELATIONS, DCAT + "qualifiedRelation", PROV + "qualifiedInfluence")),
}
"""Other properties that the mapping adds to a field; those are left out where the rules say the field."""
FILES = frozenset((DCAT + "distributions", DCT + "hasPart", *(each + "distribution" for each in _SCHEMAS)))
"""The same for the dataset's files."""
ADDRESSES = frozenset(
    (DCAT + "downloadURL", DCAT + "accessURL", DCAT + "accessService", *(each + "contentUrl" for each in _SCHEMAS))
)
"""The properties that say where a file is; one that the rules find and that has none of these is at its own IRI."""

KEYS = ("class", "prefixes", "fields", "resources")
"""The keys of ``[rdf]``."""
PREFIX = "rdf:"
"""What the ``metadata_source`` of records begins with that such rules mapped; the file's name follows."""
_FOLDER = "catalogues"
_WHAT = "The rules"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,100}")
_PREFIXES = {**PREFIXES, "dcterms": DCT}


def lasting(name: str) -> RDFRules:
    """Return the rules of a file, if the records on disk can be mapped again: they have only its name.

    Raises:
        RulesError: it can't be read, or is no such file; or it is elsewhere than where its name is looked for.
    """
    found = toml.needed(name, _WHAT)
    if not _NAME.fullmatch(found.stem):
        raise RulesError(f"{_WHAT} {name[:200]} need a file name of letters, digits, dots and hyphens.")
    own = toml.find(_place(found.stem), _WHAT)
    if own is None or Path(str(own)).resolve() != Path(str(found)).resolve():
        message = "their records could not be mapped again, as they have only the file's name"
        raise RulesError(f"{_WHAT} {name[:200]} are not in {_FOLDER}/: {message}. Put the file there.")
    return _load(found)


def named(name: str) -> RDFRules | None:
    """Return the rules of a name; ``None`` if there is no such file.

    Raises:
        RulesError: it is no such file.
    """
    found = toml.find(_place(name), _WHAT) if _NAME.fullmatch(name) else None
    return _load(found) if found else None


def _place(name: str) -> str:
    return f"{_FOLDER}/{name}.toml"


def _load(path: Path) -> RDFRules:
    return toml.load(path, _WHAT, lambda text: loads(text, path.name.removesuffix(".toml")))


def loads(text: str, name: str) -> RDFRules:
    """
    Raises:
        RulesError: it is not TOML, a key is unknown, or a value is not what the key takes.
    """
    with toml.located(text):
        file = toml.table(text)
        table = file.table("rdf")
        if table is None:
            raise RulesError("[rdf] is missing: write the class of the datasets there, and [rdf.fields].")
        found = _stated(table, name, text)
        table.end()
        file.end()
        if not found.says:
            raise RulesError("[rdf] is empty: it needs class, [rdf.fields] or [rdf.resources].")
    return found


def stated(content: Mapping[str, Any]) -> RDFRules:
    """Return the rules that stand in another file's ``[rdf]``, or in a document that they were used for.

    Args:
        content: the table as TOML has it, without other keys.

    Raises:
        RulesError: a key is unknown, or a value is not what the key takes.
    """
    return _of_text(json.dumps(content, ensure_ascii=False, default=str))


@lru_cache(maxsize=16)
def _of_text(text: str) -> RDFRules:
    table = Table(json.loads(text), "rdf")
    found = _stated(table, "", text)
    table.end()
    return found


def _stated(table: Table, name: str, text: str) -> RDFRules:
    prefixes = {**_PREFIXES, **_prefixes(table.table("prefixes"))}
    fields = table.table("fields")
    agents = {key: _agents(fields, key, prefixes) for key in AGENTS if fields and key in fields.left}
    return RDFRules(
        name=name,
        text=text,
        classes=frozenset(each for text in table.texts("class") for each in _class(text, prefixes)),
        agents=agents,
        fields=_fields(fields, DATASET_FIELDS, prefixes, AGENTS),
        resources=_resources(table.table("resources"), prefixes),
    )


def _prefixes(table: Table | None) -> dict[str, str]:
    found = {key: table.text(key) or "" for key in list(table.left)} if table else {}
    for key, iri in found.items():
        if ":" not in iri:
            raise RulesError(
                f"rdf.prefixes.{key} is {iri[:100]!r}, and must be an IRI such as https://example.org/ns#."
            )
    return found


def _class(text: str, prefixes: Mapping[str, str]) -> tuple[str, ...]:
    steps = path(text, "rdf.class", prefixes)
    if len(steps) > 1 or steps[0].is_inverse:
        raise RulesError(f"rdf.class is {text[:100]!r}, and must be a class such as schema:Dataset.")
    return steps[0].properties


def _fields(
    table: Table | None, names: Collection[str], prefixes: Mapping[str, str], others: Collection[str] = ()
) -> dict[str, Ways]:
    if table is None:
        return {}
    found = {key: _ways(table, key, prefixes) for key in list(table.left) if key in names}
    table.end((*names, *others))
    return found


def _ways(table: Table, key: str, prefixes: Mapping[str, str]) -> Ways:
    where = table.name(key)
    texts = table.texts(key)
    if not texts:
        raise RulesError(f"{where} is empty: write a property, or leave it out.")
    return tuple(path(text.strip(), where, prefixes) for text in texts)


def _agents(table: Table, key: str, prefixes: Mapping[str, str]) -> Parts:
    if not isinstance(table.left[key], dict):
        return Parts(each=_ways(table, key, prefixes))
    own = table.required(key)
    each = _ways(own, "each", prefixes) if "each" in own.left else ()
    fields = _fields(own, AGENT_FIELDS, prefixes, ["each"])
    if not fields and not each:
        raise RulesError(f"{own.path} is empty: it needs each, or one of {', '.join(AGENT_FIELDS)}.")
    return Parts(each=each, fields=fields)


def _resources(table: Table | None, prefixes: Mapping[str, str]) -> Parts:
    if table is None:
        return Parts()
    each = _ways(table, "each", prefixes) if "each" in table.left else ()
    fields = _fields(table, RESOURCE_FIELDS, prefixes, ["each"])
    if "url" in fields and "download_url" in fields:
        raise RulesError("rdf.resources.url and rdf.resources.download_url are the same address: write one of them.")
    return Parts(each=each, fields=fields)


# Paths: dct:publisher/foaf:name, ^schema:isPartOf, a subset of SPARQL's property paths

T = TypeVar("T")

MOST = 1_000
"""Values of one step: what leads to more is a hub."""
_MOST_READ = 10 * MOST
"""Values that are looked at: the others are not even sorted, as each dataset may lead to the same hub."""
_ROOM = 200_000
"""Values that all paths of one dataset lead to: those of a hub count for each of its files."""
_LONGEST = 8
_IRI = re.compile(r"""\^?(https?://[^\s<>"{}|\\^`]+)""")
_STEP = re.compile(r"""(\^?)\s*(?:<([a-z][a-z0-9+.-]*:[^\s<>"{}|\\^`]+)>|([A-Za-z][\w.-]*):([\w.-]+))\s*""")
_EXAMPLES = "dct:title, dct:publisher/foaf:name, ^schema:isPartOf, https://example.org/ns#title"


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a path.

    Args:
        properties: any of these; schema.org's has two names.
        is_inverse: whether it leads to the nodes whose value the node is.
    """

    properties: tuple[str, ...]
    is_inverse: bool = False


Steps = tuple[Step, ...]
Ways = tuple[Steps, ...]
"""Paths in order: the first that leads anywhere counts."""


def path(text: str, where: str, prefixes: Mapping[str, str]) -> Steps:
    """Return a path.

    Args:
        where: the key that has it, for messages.
        prefixes: the namespaces that names may begin with.

    Raises:
        RulesError: it is not a path, or a prefix is unknown.

    >>> path("^schema:isPartOf", "title", {"schema": "http://schema.org/"})
    (Step(properties=('http://schema.org/isPartOf', 'https://schema.org/isPartOf'), is_inverse=True),)
    """
    if whole := _IRI.fullmatch(text.strip()):
        return (Step(_names(whole[1]), text.strip().startswith("^")),)
    found: list[Step] = []
    end = 0
    while match := _STEP.match(text, end):
        found.append(_step(match, where, prefixes))
        end = match.end()
        if text[end : end + 1] != "/":
            break
        end += 1
    if end != len(text) or text.endswith("/"):
        raise RulesError(f"{where} is {text[:100]!r}, and must be a property or a path of them: {_EXAMPLES}.")
    if len(found) > _LONGEST:
        raise RulesError(f"{where} has {len(found)} steps, and {_LONGEST} are the most.")
    return tuple(found)


def _step(match: re.Match[str], where: str, prefixes: Mapping[str, str]) -> Step:
    mark, whole, prefix, name = match.groups()
    if whole is None and prefix not in prefixes:
        advice = f"Say it in [rdf.prefixes], or write the whole IRI as <https://...>.{hint(prefix, prefixes)}"
        raise RulesError(f"{where}: the prefix of {prefix}:{name} is unknown. {advice}")
    return Step(_names(whole or prefixes[prefix] + name), bool(mark))


def _names(iri: str) -> tuple[str, ...]:
    """Return the names of a property: catalogues write schema.org's with http and with https.

    >>> _names("https://schema.org/name"), _names("urn:a")
    (('http://schema.org/name', 'https://schema.org/name'), ('urn:a',))
    """
    for namespace in (SCHEMA, SCHEMA_HTTPS):
        if iri.startswith(namespace):
            name = iri.removeprefix(namespace)
            return SCHEMA + name, SCHEMA_HTTPS + name
    return (iri,)


class Links:
    """What leads from one node of a graph to others.

    Args:
        node: returns what the graph says of a node.
        referring: returns the nodes that have a node as the value of a property.
        note: gets each statement that is used, and returns whether it may be.
        room: how many values are looked at, in all; then nothing leads anywhere.
    """

    def __init__(
        self,
        node: Callable[[str], Node],
        referring: Callable[[str, str], Iterable[str]],
        note: Callable[[str, str, Term], bool] = lambda *_: True,
        room: int = _ROOM,
    ) -> None:
        self.node = node
        self.referring = referring
        self.note = note
        self.room = room

    def values(self, start: Term, ways: Ways) -> list[Term]:
        """Return where the first of the paths leads that leads anywhere."""
        return next(filter(None, (self._ends(start, each) for each in ways)), [])

    def _ends(self, start: Term, path: Steps) -> list[Term]:
        terms = [start]
        for step in path:
            terms = list(dict.fromkeys(value for term in terms for value in self._step(term, step)))
            if len(terms) > MOST:
                terms = in_order(terms)[:MOST]
        return terms

    def _step(self, term: Term, step: Step) -> Iterator[Term]:
        self.room -= 1
        if not isinstance(term, str) or self.room <= 0:
            return
        for name in step.properties:
            if step.is_inverse:
                yield from (each for each in self._looked(self.referring(term, name)) if self.note(each, name, term))
            else:
                values = self._looked(self.node(term).get(name, ()))
                yield from (each for each in values if self.note(term, name, each))

    def _looked(self, values: Iterable[T]) -> Iterator[T]:
        for each in islice(values, max(0, min(_MOST_READ, self.room))):
            self.room -= 1
            yield each


def links(graph: Graph) -> Links:
    """Return the links of a graph in memory."""
    inverse: dict[tuple[str, str], list[str]] = {}
    for subject, node in graph.items():
        for name, values in node.items():
            for value in values:
                if isinstance(value, str):
                    inverse.setdefault((value, name), []).append(subject)
    return Links(
        lambda subject: graph.get(subject, {}), lambda value, name: inverse.get((value, name), ()), room=2 * _ROOM
    )
