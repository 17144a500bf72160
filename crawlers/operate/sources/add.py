"""Makes a new source of what is found at its address."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crawlers.arguments import url as checked
from crawlers.exceptions import AnswerError, SourcesError, hint
from crawlers.kind import registered
from crawlers.listing.spider import source_name
from crawlers.operate.sources import spider_choice
from crawlers.operate.sources.detect import Detection
from crawlers.operate.sources.learn_rules import Learned, learned
from crawlers.operate.sources.options import texts
from crawlers.operate.sources.table import source as checked_source

if TYPE_CHECKING:
    from pathlib import Path

    from crawlers.kind import Asking, Finding, Kind
    from crawlers.operate.sources.project_context import Known
    from crawlers.operate.sources.source import Source


@dataclass(slots=True)
class Adding:
    """What the user wants to add.

    Args:
        spider: the spider that the user named; ``None``: find it out.
        address: what was typed: an address, or a rules file.
        table: the other keys of the table, as the file has them.
        rules: where a rules file goes that is learned.
        force: take the spider as it is named, without a request.

    Attributes:
        detection: what was requested, and what it gave.
        found: what it is harvested as.
        others: what it may be harvested as instead.
        learned: for a kind that takes a rules file: the rules, or why there are none.
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
        named = self.spider and not self.force
        kinds = [spider_choice.kind(str(self.spider), self.known)] if named else [*self.known.kinds]
        self.detection = Detection(self.address, kinds, self.table.get("arguments", {}))

    def check(self) -> None:
        """Check all that can be checked without a request.

        Raises:
            SourcesError: the name, the spider, the address or the arguments are wrong.
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
        self._check_rules_are_new()
        if self.spider is not None:
            self.source(self.spider, self._example(self.spider))
        else:
            texts(self.table.get("arguments", {}), f"{self.name}.arguments")
            some = self._any_spider()
            checked_source(
                self.name, {**self.table, "spider": some, "arguments": self._example(some)}, self.known
            )  # its other keys are the same for every spider

    @property
    def is_file(self) -> bool:
        """Whether the user named a rules file, not an address."""
        return self._takes_file(self.spider) and "://" not in self.address

    def source(self, spider: str, arguments: dict[str, str]) -> Source:
        """Return the source with these arguments besides those that the user gave.

        Raises:
            SourcesError: the table would be invalid.
        """
        given = self.table.get("arguments", {})
        return checked_source(
            self.name, {**self.table, "spider": spider, "arguments": {**arguments, **given}}, self.known
        )

    def asking(self) -> Asking[Source]:
        """Find out what the address is; return the source.

        Raises:
            SourcesError: it is nothing that could be harvested, or not by the spider that was named.
        """
        found = yield from self.detection.run()
        if not found:
            raise SourcesError(self._nothing())
        best, *self.others = found
        self.found = best
        spider = self.spider or spider_choice.spider(best, self.known)
        if self._takes_file(spider) and best.page is not None:
            self.learned = yield from learned(best.page)
            return self._with_learned_rules(spider)
        return self.source(spider, spider_choice.arguments(best, self.address, self.known.spiders[spider]))

    @property
    def question(self) -> str:
        """Why the user has to agree to what was found, as a sentence; empty if not."""
        if self.found is None or self.detection.is_led(self.found):
            return ""
        where = f"{self.found.address} is not below {self.address}, and nothing there leads to it"
        return f"{where}: it may be another catalogue."

    def forced(self) -> Source:
        """Return the source as the user typed it.

        Raises:
            SourcesError: no spider was named.
        """
        if self.spider is None:
            raise SourcesError("--force needs the spider: scrapy sources add NAME SPIDER URL --force")
        if self._takes_file(self.spider):
            return self._with_learned_rules(self.spider)
        return self.source(self.spider, {self.known.spiders[self.spider].address: self.address})

    def with_rules(self) -> Source:
        """Return the source of the rules file that the user named.

        Raises:
            RulesError: it is not a rules file.
        """
        spider = str(self.spider)
        source = self.source(spider, {self.known.spiders[spider].address: self.address})
        ready(source, self.known)
        return source

    def _with_learned_rules(self, spider: str) -> Source:
        """Return the source; it is disabled if a person must look at its rules first, or write them."""
        if self.learned is None or self.learned.rules is None or self.learned.doubt:
            self.table["enabled"] = False
        return self.source(spider, {self.known.spiders[spider].address: str(self.rules)})

    def _check_rules_are_new(self) -> None:
        """
        Raises:
            SourcesError: the file exists to which learned rules would be written.
        """
        spider = self.spider or next((name for name, kind in self.known.kinds.items() if kind.takes_file), None)
        if self._takes_file(spider) and not self.is_file and not self.force and self.rules.exists():
            raise SourcesError(
                f"{self.rules} is there already: name another file with --rules, or harvest by that one: "
                f"scrapy sources add {self.name} {spider} {self.rules}"
            )

    def _kind(self, spider: str | None) -> Kind | None:
        chosen = self.known.spiders.get(spider or "")
        return registered().get(chosen.kind) if chosen else None

    def _takes_file(self, spider: str | None) -> bool:
        kind = self._kind(spider)
        return kind is not None and kind.takes_file

    def _example(self, spider: str) -> dict[str, str]:
        kind = self._kind(spider)
        return {kind.address: kind.example} if kind else {}

    def _any_spider(self) -> str:
        for name in self.known.kinds:
            if name in self.known.spiders:
                return name
        raise SourcesError("No kind of catalogue is enabled: KINDS_ENABLED leaves out all of them.")

    def _nothing(self) -> str:
        """Return why no source was found."""
        answers = self.detection.answers.values()
        if self.detection.hindrance:
            return f"Nothing is added. {self.detection.hindrance}"
        if all(isinstance(answer, AnswerError) for answer in answers):
            reason = next(map(str, answers), "it was not requested")
            return f"{self.address} is not available: {reason}.{_force(self.spider)}"
        if self.detection.unclear:
            named = _force(self.spider) or f" Or name the spider: scrapy sources add {self.name} SPIDER URL"
            leaves = "This leaves open what is there, so nothing is added: try again later."
            return f"{self.detection.unclear}. {leaves}{named}"
        other = f": {self.detection.other}" if self.detection.other else ""
        if self.spider:
            return f"{self.address} is nothing that spider {self.spider} harvests{other}.{_force(self.spider)}"
        if other:
            return f"{self.address}{other}."
        titles = ", ".join(kind.title for kind in self.known.kinds.values())
        return f"{self.address} is not a catalogue of a known kind: {titles}."


def _force(spider: str | None) -> str:
    return " --force writes the table all the same." if spider else ""


def ready(source: Source, known: Known) -> None:
    """Check that a source could be harvested.

    Raises:
        ArgumentError: its spider refuses the arguments.
        RulesError: its rules file does not exist, or is invalid.
    """
    known.spiders[source.spider](source=source.name, **source.arguments)
