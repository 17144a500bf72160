"""Paths through a graph: ``dct:publisher/foaf:name``, ``^schema:isPartOf``, a subset of SPARQL's property paths."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from crawlers.exceptions import RulesError, hint
from crawlers.records.dcat.description import in_order
from crawlers.records.rdf.terms import SCHEMA, SCHEMA_HTTPS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from crawlers.records.rdf.terms import Graph, Node, Term

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


Path = tuple[Step, ...]
Ways = tuple[Path, ...]
"""Paths in order: the first that leads anywhere counts."""


def path(text: str, where: str, prefixes: Mapping[str, str]) -> Path:
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

    def _ends(self, start: Term, path: Path) -> list[Term]:
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
