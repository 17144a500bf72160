"""``scrapy sources add``: makes a source of what is found at an address, and writes its table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

from crawlers.arguments import url as checked
from crawlers.exceptions import AnswerError, CrawlersError, SourcesError, hint, with_command
from crawlers.kind import Asking, Finding, detector
from crawlers.listing.spider import CatalogueSpider, source_name
from crawlers.operate.sources import edit
from crawlers.operate.sources.detect import Detection, probe
from crawlers.operate.sources.dry_run import DryRun, coverage, dry_run, shown
from crawlers.operate.sources.file import Call, SourcesFile, misplaced
from crawlers.operate.sources.folders import approved
from crawlers.operate.sources.learn_rules import Learned, learned
from crawlers.operate.sources.registry import portal
from crawlers.operate.sources.source import Known, Source, read_source, texts
from crawlers.operate.strict_command import ProjectCommand
from crawlers.safety.redact import redact
from crawlers.store.sources_file import text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.operate.sources.file import Call
    from crawlers.operate.sources.source import Source


@dataclass(slots=True)
class Adding:
    """What the user wants to add.

    Args:
        spider: the spider that the user named; ``None``: find it out.
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
        kinds = [*self.known.kinds]
        if self.spider and not self.force:
            kinds = [self.known.spiders[self.spider].kind]
            if detector(kinds[0]) is None:
                what = f"What spider {self.spider} harvests can't be recognised"
                raise SourcesError(f"{what}: --force writes the table as it is.")
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
            some = next((name for name in self.known.kinds if name in self.known.spiders), None)
            if some is None:
                raise SourcesError("No kind of catalogue is enabled: KINDS_ENABLED leaves out all of them.")
            table = {**self.table, "spider": some, "arguments": self._example(some)}
            read_source(self.name, table, self.known)  # its other keys are the same for every spider

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
        return read_source(self.name, {**self.table, "spider": spider, "arguments": {**arguments, **given}}, self.known)

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
        spider = self.spider or chosen_spider(best, self.known)
        if self._takes_file(spider) and best.page is not None:
            self.learned = yield from learned(best.page)
            return self._with_learned_rules(spider)
        return self.source(spider, chosen_arguments(best, self.address, self.known.spiders[spider]))

    @property
    def question(self) -> str:
        """Why the user has to agree to what was found, as a sentence; empty if not."""
        if self.found is None or self.detection.is_led(self.found):
            return ""
        where = f"{self.found.address} is not below {self.address}, and nothing there leads to it"
        return f"{where}: it may be another catalogue."

    def typed(self) -> Source:
        """Return the source as the user typed it: by a rules file, or forced.

        Raises:
            SourcesError: no spider was named.
            RulesError: it is not a rules file.
        """
        if self.spider is None:
            raise SourcesError("--force needs the spider: scrapy sources add NAME SPIDER URL --force")
        if self._takes_file(self.spider) and not self.is_file:
            return self._with_learned_rules(self.spider)
        source = self.source(self.spider, {self.known.spiders[self.spider].address: self.address})
        if self.is_file:
            self.known.check_ready(source)
        return source

    def _with_learned_rules(self, spider: str) -> Source:
        """Return the source; it is disabled if a person must look at its rules first, or write them."""
        if self.learned is None or self.learned.rules is None or self.learned.doubt:
            self.table["enabled"] = False
        return self.source(spider, {self.known.spiders[spider].address: str(self.rules)})

    def _check_rules_are_new(self) -> None:
        spider = self.spider or next((name for name, kind in self.known.kinds.items() if kind.takes_file), None)
        if self._takes_file(spider) and not self.is_file and not self.force and self.rules.exists():
            raise SourcesError(
                f"{self.rules} is there already: name another file with --rules, or harvest by that one: "
                f"scrapy sources add {self.name} {spider} {self.rules}"
            )

    def _takes_file(self, spider: str | None) -> bool:
        kind = self.known.kind_of(spider or "")
        return kind is not None and kind.takes_file

    def _example(self, spider: str) -> dict[str, str]:
        kind = self.known.kind_of(spider)
        return {kind.address: kind.example} if kind else {}

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


# The verb


_LONGEST = 1000  # characters of a line


def add(call: Call) -> int:
    """Add a source: its name, the spider if the user names it, and the address, unless a known portal has it."""
    file, names, opts = call.file, call.names, call.opts
    if len(names) not in ((1,) if opts.known is not None else (2, 3)):
        raise UsageError(call.command.usage(["add"]), print_help=False)
    if opts.json and not opts.preview:
        raise UsageError("scrapy sources add takes --json with --preview.", print_help=False)
    name, spider = names[0], names[1] if len(names) == 3 else None
    known = portal(opts.known) if opts.known is not None else None
    check_new(file, name, text(file.path) if file.path.exists() else "")
    rules = Path(opts.rules or rules_of(file, name))
    given = {} if opts.preview else call.settings  # those of a preview are its own
    table = {"schedule": opts.schedule, "contact": opts.contact, "arguments": call.arguments, "settings": given}
    waits = opts.review or call.command.settings.getbool("REVIEW")
    table = {key: value for key, value in (table | {"review": "open" if waits else None}).items() if value}
    if known:
        spider, table["arguments"] = known.kind, known.given | table.get("arguments", {})
    address = known.address if known else names[-1]
    adding = Adding(name, spider, address, table, rules, file.known, force=opts.force)
    if opts.preview:
        return preview(call, adding)
    source = _found(call.command, adding)
    if adding.found and adding.question and not opts.yes:
        take = f"To take it: scrapy sources add {name} {adding.found.address}, or add --yes."
        if not approved(f"{adding.question} {take}", f"{adding.question} Take it?"):
            print("Nothing was added.")
            return 0
    learned = adding.learned.rules if adding.learned else None
    with edit.new_file(rules, learned) if learned else nullcontext():
        edit.write(file.path, lambda content: added(file, content, name, edit.table_of(source)))
    hint = misplaced(source, file.known)  # of one that was not looked for
    for line in (*_summary(file.path, adding, source, call.output / source.name), *filter(None, [hint])):
        print(with_command(redact(line)[:_LONGEST]))
    return 0


def rules_of(file: SourcesFile, name: str) -> Path:
    """Return where the rules go that are learned for a source."""
    return file.path.parent / "catalogues" / f"{name}.toml"


def check_new(file: SourcesFile, name: str, content: str) -> None:
    """Check that there is no source of a name.

    Raises:
        SourcesError: there is one.
    """
    found, mistakes = file.parse(content)
    if name in {**found, **mistakes}:
        raise SourcesError(f"{file.path} already has [{name}]: choose another name, or edit the file.")


def _found(command: ProjectCommand, adding: Adding) -> Source:
    """Return the source at the address, and print what each request gave."""
    if adding.is_file or adding.force:
        return adding.typed()
    try:
        return probe(command, adding.address, adding.asking())
    finally:
        for line in adding.detection.lines():
            print(redact(line)[:_LONGEST])


def added(file: SourcesFile, before: str, name: str, table: dict[str, Any]) -> str:
    """Return the file's text with one more source.

    Raises:
        SourcesError: there is one of that name, or its table is invalid.
    """
    check_new(file, name, before)
    content = edit.append(before, name, table)
    _, mistakes = file.parse(content)
    if name in mistakes:
        raise SourcesError(mistakes[name])
    return content


def _summary(path: Path, adding: Adding, source: Source, folder: Path) -> Iterator[str]:
    """Yield what was written, and what to do next."""
    where = ", ".join(f"{name} = {value}" for name, value in source.arguments.items()) or "its own address"
    yield f"Added [{source.name}] to {path}: spider {source.spider}, {where}."
    if folder.exists():
        yield f"{folder} exists, and its files stay: remove it first if they are another catalogue's."
    if adding.found and adding.found.note:
        yield adding.found.note
    for other in adding.others:
        words = "".join(f" -a {name}={value}" for name, value in other.arguments.items())
        yield f"Spider {other.kind} could harvest it, too: scrapy sources add NAME {other.kind} {other.address}{words}"
    if not source.enabled and not adding.learned:
        yield f"It is disabled: write {adding.rules}, then: scrapy sources enable {source.name}"
    if adding.learned:
        yield _learned(adding.learned, adding)
        yield from filter(None, [adding.learned.advice])
    if source.review == "open":
        yield f"It is open: --all and --due skip it until it is approved: scrapy sources approve {source.name}"
    if source.enabled:
        yield f"To see what a crawl would find: scrapy sources validate {source.name}"


def _learned(learned: Learned, adding: Adding) -> str:
    then = f"then: scrapy sources enable {adding.name}"
    if learned.rules is None:
        pages = f"{adding.address} --list LISTING" if learned.is_dataset else f"PAGE --list {adding.address}"
        pages += " --browser" if learned.in_browser else ""
        return (
            f"It is disabled, since its rules could not be learned: {learned.reason}. "
            f"Learn them from a dataset's page: scrapy learn {pages} -o {adding.rules}, {then}"
        )
    if learned.doubt:
        return f"{adding.rules} has the learned rules. It is disabled: {learned.doubt}. Check the rules, {then}"
    return f"{adding.rules} has the learned rules: {learned.reason}."


def chosen_spider(finding: Finding, known: Known) -> str:
    """Return the name of the spider that is declared for this very catalogue, else of the generic one of its kind."""
    spiders = ((name, spider) for name, spider in known.spiders.items() if spider.kind == finding.kind)
    same = (name for name, spider in spiders if _knows(spider, finding))
    return next(same, finding.kind)


def chosen_arguments(finding: Finding, typed: str, chosen: type[CatalogueSpider]) -> dict[str, str]:
    """Return where the catalogue is, unless the spider knows, and which part of it the address is about."""
    where = {} if _knows(chosen, finding) else {chosen.address: finding.address, **finding.arguments}
    recogniser = detector(finding.kind)
    narrowed = recogniser.narrowed(typed) if recogniser else {}
    return where | {name: value for name, value in narrowed.items() if name in chosen.arguments}


def _knows(chosen: type[CatalogueSpider], finding: Finding) -> bool:
    """Return whether a spider is declared for the catalogue that was found."""
    own, recogniser = getattr(chosen, chosen.address, None), detector(finding.kind)
    return bool(own and recogniser and recogniser.is_same(str(own), finding.address))


RECORDS = 5
_FIELDS = ("title", "description", "publisher", "license", "keywords", "modified", "landing_page", "resources")
"""Of a record, what is shown."""


def preview(call: Call, adding: Adding) -> int:
    """Print what would be added, as text or as JSON; return the exit code."""
    found = _previewed(call, adding)
    if call.opts.json:
        print(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        print("\n".join(redact(line) for line in _lines(found)))
    return 1 if found["mistake"] else 0


def _previewed(call: Call, adding: Adding) -> dict[str, Any]:
    known: dict[str, Any] = {"mistake": None, "rules": None, "doubt": None, "question": "", "others": []}
    known |= dict.fromkeys(("spider", "kind", "verdict", "expected"))
    known |= {"arguments": {}, "enabled": True, "records": [], "coverage": [], "errors": {}, "flaws": {}}
    try:
        source = adding.typed() if adding.is_file else probe(call.command, adding.address, adding.asking())
        known |= _described(adding, source)
        if adding.learned is None or adding.learned.rules is not None:
            known |= _tried(_dry_run(call, adding, source))
    except CrawlersError as error:
        known["mistake"] = str(error)
    return known | {"notes": [*adding.detection.lines()]}


def _described(adding: Adding, source: Source) -> dict[str, Any]:
    given = adding.table.get("arguments", {})
    learned = adding.learned
    return {
        "spider": source.spider,
        "kind": adding.known.spiders[source.spider].kind,
        "arguments": {name: value for name, value in source.arguments.items() if name not in given},
        "enabled": source.enabled,
        "rules": learned.rules if learned else None,
        "doubt": learned and (learned.doubt or (None if learned.rules else learned.reason)),
        "question": adding.question,
        "others": [f"{other.kind}: {other.address}" for other in adding.others],
    }


def _dry_run(call: Call, adding: Adding, source: Source) -> DryRun:
    """Crawl some records, by learned rules that are in no file yet."""
    kind = adding.known.kind_of(source.spider)
    with TemporaryDirectory(prefix="preview-") as folder:
        if adding.learned and adding.learned.rules and kind:
            rules = Path(folder) / "rules.toml"
            rules.write_text(adding.learned.rules, encoding="utf-8")
            source = replace(source, arguments=source.arguments | {kind.address: str(rules)})
        return dry_run(source, adding.known, call.settings, call.output, RECORDS)


def _tried(found: DryRun) -> dict[str, Any]:
    fields = [field for field in coverage(found.records) if field.count]
    return {
        "verdict": found.verdict,
        "expected": found.expected,
        "records": [_record(record) for record in found.records[:RECORDS]],
        "coverage": [{"field": field.name, "count": field.count, "of": field.total} for field in fields],
        "errors": found.errors,
        "flaws": found.flaws,
    }


def _record(record: dict[str, Any]) -> dict[str, str]:
    return {name: shown(record[name]) for name in _FIELDS if record.get(name) not in (None, "", [], {})}


def _lines(found: dict[str, Any]) -> Iterator[str]:
    yield from found["notes"]
    if found["spider"]:
        arguments = ", ".join(f"{name} = {value}" for name, value in found["arguments"].items())
        yield f"Would be added: spider {found['spider']}, {arguments or 'its own address'}."
    if found["doubt"]:
        yield f"It would be disabled: {found['doubt']}."
    if found["question"]:
        yield found["question"]
    if found["verdict"]:
        total = "" if found["expected"] is None else f" of {found['expected']}"
        yield f"{found['verdict']}, {len(found['records'])}{total} datasets crawled:"
    for record in found["records"]:
        yield "  " + "; ".join(f"{name}: {value}" for name, value in record.items())
    if found["mistake"]:
        yield found["mistake"]


def read(text: str) -> dict[str, Any]:
    """Return what a preview printed as JSON.

    Raises:
        SourcesError: it is none.
    """
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict) or "mistake" not in found:
        raise SourcesError("The preview ended without a result: try again.")
    return found
