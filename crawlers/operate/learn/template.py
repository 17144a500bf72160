"""What the rules of known software give on the sample pages: proposals that come before any guess."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlers.kinds.html.mapping.document import document
from crawlers.kinds.html.rules import FIELDS
from crawlers.kinds.html.software import known
from crawlers.operate.learn.candidates import Learned, texts
from crawlers.operate.learn.files import Files

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crawlers.items import Document
    from crawlers.kinds.html.software import Software
    from crawlers.operate.learn.sample import Sample

BY = "template"
"""What its rules are found by."""

_LINKED = 0.97


class Template:
    """
    Args:
        samples: the pages; the first shows which software it is.

    Attributes:
        software: what made the pages; ``None`` if it is not known.
        found: the rules that find their field on a sample page.
    """

    def __init__(self, samples: list[Sample]) -> None:
        self.software: Software | None = known(samples[0].page)
        self._tables: dict[str, Any] = self.software.tables if self.software else {}
        self._documents: list[Document] = []
        self._files: list[Any] = []
        if self.software and self._tables:
            rules = self.software.rules(samples[0].address)
            self._documents = [document(sample.page, rules) for sample in samples]
            self._files = samples[0].page.find(rules.resources.xpath) if rules.resources else []
        shipped = (self._rule(name) for name in FIELDS)
        self._shipped = {rule.name: rule for rule in shipped if rule}
        self.found = {name: rule for name, rule in self._shipped.items() if any(rule.given)}

    @property
    def is_service(self) -> bool:
        """Whether the software is one whose pages are filled by scripts, and whose API has the files."""
        return self.software is not None and not self._tables

    def fields(self, guessed: Iterable[Learned]) -> list[Learned]:
        """Return its rules, and what was guessed of fields that it does not find.

        Of pages that have the title where the software shows it, labels alone are a guess: a portal has added them.
        What the software gives to a field is no other's.
        """
        taken = {value for rule in self.found.values() for given in rule.given for value in given}
        new = (rule for rule in guessed if not taken.issuperset(value for given in rule.given for value in given))
        guesses = {rule.name: rule for rule in new if "title" not in self.found or "label" in rule.table}
        rules = {**self._shipped, **guesses, **self.found}
        return [rules[name] for name in FIELDS if name in rules]

    def _rule(self, name: str) -> Learned | None:
        """Return the rule of a field; ``None`` if the software has none for it."""
        written = self._tables.get("fields", {}).get(name)
        if written is None:
            return None
        entries = [each["fields"].get(name) for each in self._documents]
        given = [texts(each["value"]) if each else [] for each in entries]
        sure = min((each["confidence"] for each in entries if each), default=0.0)
        first, *further = written if isinstance(written, list) else [written]
        table = {"css": first} if isinstance(first, str) else first
        held = tuple(number for number, shown in enumerate(given[1:], 2) if shown)
        return Learned(name, table, BY, given, sure, (), held, tuple(further))

    @property
    def files(self) -> Files | None:
        """The rules of the files; ``None`` if no sample page has any."""
        counts = [len(each["resources"]) for each in self._documents]
        if not any(counts):
            return None
        tables = dict(self._tables["resources"])
        how = {name: tables.pop(name) for name in ("css", "xpath") if name in tables}
        first = next(each["resources"][0] for each in self._documents if each["resources"])
        shown = {name: " ".join(texts(each["value"])) for name, each in first.items()}
        return Files(how, tables, counts, shown, _LINKED, elements=tuple(self._files))
