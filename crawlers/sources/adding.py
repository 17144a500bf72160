"""A new source from what was found at its address."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scrapy.http import Response

from crawlers.arguments import url as checked
from crawlers.catalogue import source_name
from crawlers.exceptions import SourcesError, hint
from crawlers.sources import choice
from crawlers.sources.detect import KINDS, Detection
from crawlers.sources.given import texts
from crawlers.sources.learned import Learned, learned
from crawlers.sources.table import source as checked_source

if TYPE_CHECKING:
    from pathlib import Path

    from crawlers.sources.detect import Asking, Finding
    from crawlers.sources.known import Known
    from crawlers.sources.source import Source

_EXAMPLES = {
    "ckan": {"portal": "https://example.org"},
    "dcat": {"url": "https://example.org/catalog.ttl"},
    "html": {"rules": "example.toml"},
}


@dataclass(slots=True)
class Adding:
    """What the user wants to add.

    Args:
        spider: the one that was named; ``None``: it is to be found out.
        address: what was typed: an address, or a rules file.
        table: the other keys of the table, as the file has them.
        rules: where a rules file goes that is learned.
        force: the spider is right whatever is found.

    Attributes:
        detection: what was asked for, and what came.
        found: what it is harvested as.
        others: what it may be harvested as instead.
        learned: of HTML: its rules, or why there are none.
    """

    name: str
    spider: str | None
    address: str
    table: dict[str, Any]
    rules: Path
    known: Known
    force: bool = False
    detection: Detection = field(init=False)
    found: Finding | None = None
    others: list[Finding] = field(default_factory=list)
    learned: Learned | None = None

    def __post_init__(self) -> None:
        self.check()
        kinds = (choice.kind(self.spider, self.known),) if self.spider and not self.force else KINDS
        self.detection = Detection(self.address, kinds)

    def check(self) -> None:
        """
        Raises:
            SourcesError: before anything is asked for: the name, the spider, the address or the arguments are wrong.
        """
        try:
            source_name(self.name)
            self.address = self.address.strip() if self.is_file else checked(self.address)
        except ValueError as error:
            what = self.address if "address" in str(error) else self.name
            raise SourcesError(f"{what[:200]!r} is not {error}.") from None
        texts({"address": self.address}, self.name)
        if self.spider is not None and self.spider not in self.known.spiders:
            meant, names = hint(self.spider, self.known.spiders), ", ".join(self.known.spiders)
            raise SourcesError(f"There is no spider {self.spider[:100]!r}.{meant} There are: {names}.")
        self._rules_are_new()
        if self.spider is None:
            texts(self.table.get("arguments", {}), f"{self.name}.arguments")
            checked_source(self.name, {**self.table, "spider": "ckan", "arguments": _EXAMPLES["ckan"]}, self.known)
        else:
            self.source(self.spider, _EXAMPLES.get(choice.kind(self.spider, self.known), {}))

    @property
    def is_file(self) -> bool:
        """Whether it is a rules file that was named, and no address."""
        reads_rules = self.spider in self.known.spiders and self.known.spiders[str(self.spider)].address == "rules"
        return reads_rules and "://" not in self.address

    def source(self, spider: str, arguments: dict[str, str]) -> Source:
        """
        Raises:
            SourcesError: the table would not be right.
        """
        given = self.table.get("arguments", {})
        return checked_source(
            self.name, {**self.table, "spider": spider, "arguments": {**arguments, **given}}, self.known
        )

    def asking(self) -> Asking[Source]:
        """Finds out what the address is.

        Raises:
            SourcesError: it is nothing that could be harvested, or not by that spider.
        """
        found = yield from self.detection.run()
        if not found:
            raise SourcesError(self._nothing())
        best, *self.others = found
        self.found = best
        spider = self.spider or choice.spider(best, self.known)
        if best.kind == "html" and best.page is not None:
            self.learned = yield from learned(best.page)
            return self._html(spider)
        return self.source(spider, choice.arguments(best, self.address, self.known.spiders[spider]))

    def _rules_are_new(self) -> None:
        """Before anything is asked for: what is learned would find no place.

        Raises:
            SourcesError: there is such a file.
        """
        learns = self.spider is None or self.known.spiders[self.spider].address == "rules"
        if learns and not self.is_file and not self.force and self.rules.exists():
            raise SourcesError(
                f"{self.rules} is there already: name another file with --rules, or harvest by that one: "
                f"scrapy sources add {self.name} html {self.rules}"
            )

    def forced(self) -> Source:
        """The table as it is typed.

        Raises:
            SourcesError: no spider was named.
        """
        if self.spider is None:
            raise SourcesError("--force needs the spider: scrapy sources add NAME SPIDER URL --force")
        if self.known.spiders[self.spider].address == "rules":
            return self._html(self.spider)
        return self.source(self.spider, {self.known.spiders[self.spider].address: self.address})

    def with_rules(self) -> Source:
        """A source of the rules file that was named.

        Raises:
            RulesError: it is none.
        """
        source = self.source(str(self.spider), {"rules": self.address})
        ready(source, self.known)
        return source

    def _html(self, spider: str) -> Source:
        """A person is to look at its rules first, or to write them, where they could not be learned."""
        if self.learned is None or self.learned.rules is None or self.learned.doubt:
            self.table["enabled"] = False
        return self.source(spider, {"rules": str(self.rules)})

    def _nothing(self) -> str:
        came = self.detection.answers.values()
        if not any(isinstance(one, Response) for one in came):
            return f"{self.address} can't be had: {next(map(str, came), 'it was not asked for')}.{_force(self.spider)}"
        if self.detection.unclear:
            named = _force(self.spider) or f" Or name the spider: scrapy sources add {self.name} SPIDER URL"
            return (
                f"{self.detection.unclear}. What is there can't be told, so nothing is added: try again later.{named}"
            )
        if self.spider:
            return f"{self.address} is nothing that spider {self.spider} harvests.{_force(self.spider)}"
        return f"{self.address} is no catalogue that is known: neither CKAN nor DCAT nor a page of HTML came."


def _force(spider: str | None) -> str:
    return " --force writes the table all the same." if spider else ""


def ready(source: Source, known: Known) -> None:
    """
    Raises:
        ArgumentError: its spider refuses the arguments.
        RulesError: its rules file is not there, or is none.
    """
    known.spiders[source.spider](source=source.name, **source.arguments)
