"""Rules as they are tried: what each gives on pages, by the code that a crawl extracts with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import RulesError
from crawlers.kinds.html.mapping.document import Search, document, read
from crawlers.kinds.html.rules import Resources, Rules, field_rule, from_css
from crawlers.records.html_page import text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crawlers.kinds.html.rules import Rule
    from crawlers.operate.learn.sample import Sample

_LONGEST_LABEL = 40  # characters


class Trial:
    """
    Attributes:
        samples: the pages; the first has the values that the user has seen.
    """

    def __init__(self, samples: list[Sample]) -> None:
        self.samples = samples
        self._given: dict[tuple[str, str, int], list[str]] = {}

    def first(self, name: str, table: Table) -> list[str]:
        return self.on(0, name, table)

    def every(self, name: str, table: Table) -> list[list[str]]:
        return [self.on(number, name, table) for number in range(len(self.samples))]

    def on(self, number: int, name: str, table: Table) -> list[str]:
        """Return what the rule gives on a page; nothing if the rule is invalid."""
        key = (name, json.dumps(table), number)
        if key not in self._given:
            self._given[key] = self._run(number, name, table)
        return self._given[key]

    def _run(self, number: int, name: str, table: Table) -> list[str]:
        page = self.samples[number].page
        try:
            rule = field_rule(name, dict(table), name)
            found = read(page, rule, Search(page, (rule,)), page.language)
        except RulesError:
            return []
        return texts(found["value"]) if found else []

    def stray(self, number: int, name: str, table: Table) -> str | None:
        """Return what looks like another field's label at the beginning of what a label rule gives on a further page.

        It is an element's whole text on that page and on the sample, where the rule does not give it.
        """
        if "label" not in table or not (given := self.on(number, name, table)):
            return None
        page = self.samples[number].page
        rule = field_rule(name, dict(table), name)
        first = _first_text(Search(page, (rule,)).find(rule).values[0])
        is_more = first and len(first) <= _LONGEST_LABEL and given[0].startswith(first) and given[0] != first
        if not is_more or any(item.startswith(first) for item in self.first(name, table)):
            return None
        return first if first in self.samples[0].texts.values() else None

    def files(self, number: int, table: Table, rules: Iterable[Rule]) -> list[dict[str, str]]:
        """Return the files that rules of ``[resources]`` give on one page, each field's text.

        Args:
            table: how the element of each file is found.
        """
        css = table.get("css")
        row = Resources(css=css, xpath=from_css(css, css) if css else table["xpath"], fields=tuple(rules))
        how = Rules(text="", start=(), hosts=(), structured=False, resources=row)
        found = document(self.samples[number].page, how)["resources"]
        return [{name: " ".join(texts(item["value"])) for name, item in each.items()} for each in found]


def _first_text(value: Any) -> str:
    """Return the text of the first innermost element of a value; "" if a text precedes it."""
    for part in value if isinstance(value, list) else [value]:
        if isinstance(part, str):
            if part.strip():
                return ""
            continue
        for element in part.iter():
            if element.text and element.text.strip():
                return text(element)
    return ""


def texts(value: Any) -> list[str]:
    """
    >>> texts("a"), texts(None), texts(["a", "b"])
    (['a'], [], ['a', 'b'])
    """
    if value is None:
        return []
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]


Table = dict[str, Any]
"""A rule as a rules file has it: ``{"label": "Lizenz"}``."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """
    Args:
        table: the rule.
        stability: how likely it is to find the field on other pages, from 0 to 1.
        by: "label", "id", "property", "class", "tag", "path" or "position".
        why: what speaks against it, as text.
    """

    table: Table
    stability: float
    by: str
    why: tuple[str, ...] = ()

    @property
    def selector(self) -> str:
        return selector(self.table)


def selector(table: Table) -> str:
    """Return how a rule finds the element, as text.

    >>> selector({"css": "h1", "html": True}), selector({"label": "Lizenz"})
    ('css h1', 'label Lizenz')
    """
    way = next(name for name in ("label", "css", "xpath") if name in table)
    return f"{way} {table[way]}"


@dataclass(frozen=True, slots=True)
class Learned:
    """The rule chosen for a field.

    Args:
        given: what it gives on each page.
        sure: from 0 to 1.
        why: why it is not more certain, as text.
        found: the further pages, by number, on which it finds what may be a value of the field.
        further: the ways after the first one, as a rules file has them.
    """

    name: str
    table: Table
    by: str
    given: list[list[str]]
    sure: float
    why: tuple[str, ...] = ()
    found: tuple[int, ...] = ()
    further: tuple[str | Table, ...] = ()

    @property
    def selector(self) -> str:
        return selector(self.table)

    @property
    def certainty(self) -> str:
        """How sure it is, as text; a rule of known software may have found nothing."""
        return f"{round(100 * self.sure)} %" if any(self.given) else "shipped, not seen here"

    @property
    def value(self) -> str | Table | list[str | Table]:
        """The rule in its shortest form: a CSS selector alone is a text."""
        first = self.table["css"] if set(self.table) == {"css"} else self.table
        return [first, *self.further] if self.further else first
