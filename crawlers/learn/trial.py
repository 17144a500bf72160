"""What a rule gives on pages, by the very code that a crawl extracts with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import RulesError
from crawlers.mapping.html.document import document
from crawlers.mapping.html.field import read
from crawlers.mapping.html.page import text
from crawlers.mapping.html.search import Search
from crawlers.rules.field import field
from crawlers.rules.rules import Resources, Rules
from crawlers.rules.selectors import from_css

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crawlers.learn.candidate import Table
    from crawlers.learn.sample import Sample
    from crawlers.rules import Rule

_LONGEST_LABEL = 40  # characters


class Trial:
    """
    Attributes:
        samples: the pages, that with the values a user has seen first.
    """

    def __init__(self, samples: list[Sample]) -> None:
        self.samples = samples
        self._given: dict[tuple[str, str, int], list[str]] = {}

    def first(self, name: str, table: Table) -> list[str]:
        return self.on(0, name, table)

    def every(self, name: str, table: Table) -> list[list[str]]:
        return [self.on(number, name, table) for number in range(len(self.samples))]

    def on(self, number: int, name: str, table: Table) -> list[str]:
        """What the rule gives on one page; nothing when it can't be."""
        key = (name, json.dumps(table), number)
        if key not in self._given:
            self._given[key] = self._run(number, name, table)
        return self._given[key]

    def _run(self, number: int, name: str, table: Table) -> list[str]:
        page = self.samples[number].page
        try:
            rule = field(name, dict(table), name)
            found = read(page, rule, Search(page, (rule,)), page.language)
        except RulesError:
            return []
        return texts(found["value"]) if found else []

    def stray(self, number: int, name: str, table: Table) -> str | None:
        """What looks like the label of another field at the beginning of what a label rule gives on a further page.

        It is an element's whole text there, and on the sample, where the rule gives nothing like it.
        """
        if "label" not in table or not (given := self.on(number, name, table)):
            return None
        page = self.samples[number].page
        rule = field(name, dict(table), name)
        first = _first_text(Search(page, (rule,)).find(rule).values[0])
        is_more = first and len(first) <= _LONGEST_LABEL and given[0].startswith(first) and given[0] != first
        if not is_more or any(one.startswith(first) for one in self.first(name, table)):
            return None
        return first if first in self.samples[0].texts.values() else None

    def files(self, number: int, table: Table, rules: Iterable[Rule]) -> list[dict[str, str]]:
        """The files that rules of ``[resources]`` give on one page, each field's text.

        Args:
            table: how the element of each file is found.
        """
        css = table.get("css")
        row = Resources(css=css, xpath=from_css(css, css) if css else table["xpath"], fields=tuple(rules))
        how = Rules(text="", start=(), hosts=(), structured=False, resources=row)
        found = document(self.samples[number].page, how)["resources"]
        return [{name: " ".join(texts(one["value"])) for name, one in each.items()} for each in found]


def _first_text(value: Any) -> str:
    """That of the first innermost element of a value; "" where a text stands before it."""
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
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]
