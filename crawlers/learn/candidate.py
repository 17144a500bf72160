"""A rule that may find a field, before and after it has been tried."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Table = dict[str, Any]
"""A rule as a rules file has it: ``{"label": "Lizenz"}``."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """
    Args:
        table: the rule.
        stability: how likely the way it finds the field is to hold on other pages, from 0 to 1.
        by: "label", "id", "property", "class", "tag", "path" or "position".
        why: what speaks against it, for people.
    """

    table: Table
    stability: float
    by: str
    why: tuple[str, ...] = ()

    @property
    def selector(self) -> str:
        """How it finds the element, for people: ``css h1``, ``label Lizenz``."""
        way = next(name for name in ("label", "css", "xpath") if name in self.table)
        return f"{way} {self.table[way]}"


@dataclass(frozen=True, slots=True)
class Learned:
    """The rule chosen for a field.

    Args:
        given: what it gives on each page.
        sure: from 0 to 1.
        why: why it is not surer, for people.
    """

    name: str
    table: Table
    by: str
    given: list[list[str]]
    sure: float
    why: tuple[str, ...] = field(default=())

    @property
    def value(self) -> str | Table:
        """The rule in its shortest form: a CSS selector alone is a text."""
        return self.table["css"] if set(self.table) == {"css"} else self.table
