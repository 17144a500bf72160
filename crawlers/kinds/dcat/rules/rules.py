"""The rules of a catalogue whose RDF is not DCAT."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from crawlers.kinds.dcat.rules.paths import Ways


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
