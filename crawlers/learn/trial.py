"""What a rule gives on pages, by the very code that a crawl extracts with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import RulesError
from crawlers.mapping.html.document import document
from crawlers.mapping.html.field import read
from crawlers.mapping.html.search import Search
from crawlers.rules.field import field
from crawlers.rules.rules import Resources, Rules
from crawlers.rules.selectors import from_css

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crawlers.learn.candidate import Table
    from crawlers.learn.sample import Sample
    from crawlers.rules import Rule


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

    def files(self, number: int, css: str, rules: Iterable[Rule]) -> list[dict[str, str]]:
        """The files that rules of ``[resources]`` give on one page, each field's text."""
        row = Resources(css=css, xpath=from_css(css, css), fields=tuple(rules))
        how = Rules(text="", start=(), hosts=(), structured=False, resources=row)
        found = document(self.samples[number].page, how)["resources"]
        return [{name: " ".join(texts(one["value"])) for name, one in each.items()} for each in found]


def texts(value: Any) -> list[str]:
    """
    >>> texts("a"), texts(None), texts(["a", "b"])
    (['a'], [], ['a', 'b'])
    """
    if value is None:
        return []
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]
