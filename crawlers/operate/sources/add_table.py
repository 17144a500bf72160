"""``scrapy sources add``: finds out what an address is, writes its table, and prints what was done."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError
from scrapy.utils.conf import arglist_to_dict

from crawlers.exceptions import SourcesError
from crawlers.operate.sources import edit
from crawlers.operate.sources.add import Adding
from crawlers.operate.sources.duplicates import misplaced
from crawlers.operate.sources.probe import probe
from crawlers.operate.sources.purge import approved
from crawlers.operate.sources.registry import portal
from crawlers.safety.redact import redact
from crawlers.store.sources_file import text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from crawlers.operate.sources.command import Call
    from crawlers.operate.sources.file import SourcesFile
    from crawlers.operate.sources.learn_rules import Learned
    from crawlers.operate.sources.source import Source
    from crawlers.operate.strict_command import ProjectCommand

_LONGEST = 1000  # characters of a line


def add(call: Call) -> int:
    """Add a source: its name, the spider if the user names it, and the address, unless a known portal has it.

    Raises:
        UsageError: an argument is not NAME=VALUE, or the address is missing.
        SourcesError: there is such a source, or nothing that could be harvested at the address, or nobody agrees.
    """
    file, names, opts = call.file, call.names, call.opts
    if len(names) not in ((1,) if opts.known is not None else (2, 3)):
        raise UsageError(call.command.usage(["add"]), print_help=False)
    name, spider = names[0], names[1] if len(names) == 3 else None
    known = portal(opts.known) if opts.known is not None else None
    _check_new(file, name, text(file.path) if file.path.exists() else "")
    rules = Path(opts.rules or file.path.parent / "catalogues" / f"{name}.toml")
    table = _table(opts, call.settings)
    if known:
        spider, table["arguments"] = known.kind, known.given | table.get("arguments", {})
    address = known.address if known else names[-1]
    adding = Adding(name, spider, address, table, rules, file.known, force=opts.force)
    source = _found(call.command, adding)
    if not (opts.yes or _is_wanted(adding)):
        print("Nothing was added.")
        return 0
    learned = adding.learned.rules if adding.learned else None
    with edit.new_file(rules, learned) if learned else nullcontext():
        edit.write(file.path, lambda content: _added(file, content, source))
    hint = misplaced(source, file.known)  # of one that was not looked for
    for line in (*_summary(file.path, adding, source, call.output / source.name), *filter(None, [hint])):
        print(redact(line)[:_LONGEST])
    return 0


def _is_wanted(adding: Adding) -> bool:
    """Ask about a catalogue to which nothing at the address leads.

    Raises:
        SourcesError: there is no terminal to ask on.
    """
    if not (adding.found and adding.question):
        return True
    take = f"To take it: scrapy sources add {adding.name} {adding.found.address}, or add --yes."
    return approved(f"{adding.question} {take}", f"{adding.question} Take it?")


def _check_new(file: SourcesFile, name: str, content: str) -> None:
    found, mistakes = file.parse(content)
    if name in {**found, **mistakes}:
        raise SourcesError(f"{file.path} already has [{name}]: choose another name, or edit the file.")


def _table(opts: argparse.Namespace, settings: Mapping[str, str]) -> dict[str, Any]:
    try:
        arguments = arglist_to_dict(opts.spargs)
    except ValueError:
        raise UsageError("-a is not NAME=VALUE", print_help=False) from None
    table = {"schedule": opts.schedule, "contact": opts.contact, "arguments": arguments, "settings": dict(settings)}
    table["review"] = "open" if opts.review else None
    return {name: value for name, value in table.items() if value}


def _found(command: ProjectCommand, adding: Adding) -> Source:
    """Return the source at the address, and print what each request gave."""
    if adding.is_file:
        return adding.with_rules()
    if adding.force:
        return adding.forced()
    try:
        return probe(command, adding.address, adding.asking())
    finally:
        for line in adding.detection.lines():
            print(redact(line)[:_LONGEST])


def _added(file: SourcesFile, before: str, source: Source) -> str:
    """Return the file's text with the source.

    Raises:
        SourcesError: meanwhile such a source was added, or one that harvests the same.
    """
    _check_new(file, source.name, before)
    content = edit.add(before, source)
    _, mistakes = file.parse(content)
    if source.name in mistakes:
        raise SourcesError(mistakes[source.name])
    return content


def _summary(path: Path, adding: Adding, source: Source, folder: Path) -> Iterator[str]:
    """Yield what was written, and what to do next.

    Args:
        path: of sources.toml.
        folder: the source's, in OUTPUT_DIR.
    """
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
