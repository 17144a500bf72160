"""The versions of a dataset, on the command line: which there are, what one says, what two of them differ in."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import OutputError
from crawlers.fields import specs
from crawlers.items import Dataset, Resource
from crawlers.operate.strict_command import check_sources
from crawlers.records.moment import written
from crawlers.safety.redact import one_line
from crawlers.store.difference import difference, plain
from crawlers.store.figures.formatting import counted, size
from crawlers.store.history import EXPORTS, Bodies, last_at, of_dataset, other_before
from crawlers.store.index.captures import FILE as CAPTURES
from crawlers.store.index.index import sources_in
from crawlers.store.run_text import table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from crawlers.operate.strict_command import ProjectCommand
    from crawlers.store.difference import Change, Difference
    from crawlers.store.history import Version

NOT_KEPT = "bytes not kept"
_WIDEST = 4_000  # characters of a line
_HEADING = ("time", "run", "status", "size", "changed")
_COLOURS = {"-": "\x1b[31m{}\x1b[0m", "+": "\x1b[32m{}\x1b[0m"}


@dataclass(frozen=True, slots=True)
class DatasetHistory:
    """The versions of one dataset's documents, the oldest first.

    Args:
        bodies: their bytes.
        own: of its record.
        exports: of the documents that are asked for besides.
    """

    bodies: Bodies
    own: list[Version]
    exports: list[Version]

    @property
    def name(self) -> str:
        """Its source and its id."""
        return one_line(f"{self.bodies.folder.name}/{self.own[0].key[1]}")

    def at(self, until: datetime | None) -> Version | None:
        """Return the record's version at a moment, by default the last one; ``None`` if it had none then."""
        return last_at(self.own, written(until, "milliseconds") if until else self.own[-1].time)

    def before(self, version: Version) -> Version | None:
        """Return the version before one that has other bytes."""
        return other_before(self.own, version)

    def body(self, version: Version) -> bytes:
        """Return the bytes of a version.

        Raises:
            OutputError: they are not kept.
        """
        body = self.bodies.body(version)
        if body is None:
            raise OutputError(
                f"{self.name}, the version of {version.time}: {NOT_KEPT}. They are there if VERSIONS was on when the "
                "next version came, on the machine that crawled it, until they are pruned."
            )
        return body

    def need(self, until: datetime | None, option: str) -> Version:
        """Return the record's version at a moment, by default the last one.

        Raises:
            OutputError: it had none then.
        """
        found = self.at(until)
        if found is None:
            raise OutputError(f"{option}: {self.name} had no version then; its first is of {self.own[0].time}.")
        return found


@contextmanager
def opened(command: ProjectCommand, words: Sequence[str]) -> Iterator[DatasetHistory]:
    """Open the versions of the dataset that a command's words name: a source, and an id, a name or their beginning.

    Raises:
        CrawlersError: there are other words, there is no such source or dataset, or it can't be read.
    """
    if len(words) != 2:
        raise command.misuse(command.usage([*words]))
    source, dataset = words
    output = command.path("OUTPUT_DIR")
    check_sources([source], sources_in(output), output, OutputError)
    if (output / source / CAPTURES).exists():
        raise OutputError(
            f"{source} is an archive of files, whose versions `scrapy archive get NAME --at DATE` takes out: "
            "the datasets are those of the source that it is of."
        )
    versions = of_dataset(output / source, dataset)
    own = [version for version in versions if version.key[0] not in EXPORTS]
    exports = [version for version in versions if version.key[0] in EXPORTS]
    if not own:
        raise OutputError(f"{source} has exports of {dataset!r:.100}, and no record.")
    with Bodies(output / source) as bodies:
        yield DatasetHistory(bodies, own, exports)


def has_colours() -> bool:
    """Return whether standard output shows colours."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


# Which there are


def history_lines(history: DatasetHistory) -> Iterator[str]:
    """Yield a table of a dataset's versions, the oldest first, then one for each export."""
    yield f"{history.name}: {one_line(history.own[-1].title or history.own[-1].name)}"
    yield from _table(history, history.own)
    for key in sorted({version.key for version in history.exports}):
        yield ""
        yield one_line(f"{key[0]} {key[2]}")
        yield from _table(history, [one for one in history.exports if one.key == key])


def _table(history: DatasetHistory, versions: list[Version]) -> Iterator[str]:
    rows = [(one.time, one.run, one.status, _size(history, one), changed(history.bodies, one)) for one in versions]
    return table([_HEADING, *rows], colours=has_colours())


def _size(history: DatasetHistory, version: Version) -> str:
    return NOT_KEPT if history.bodies.body(version) is None else size(version.known.bytes)


def changed(bodies: Bodies, version: Version) -> str:
    """Return what a version changed: its fields, or why the dataset was withdrawn."""
    if version.status == "withdrawn":
        return version.reason or ""
    return ", ".join(bodies.fields(version) or ())


# What one says


def version_lines(history: DatasetHistory, version: Version) -> Iterator[str]:
    """Yield a version as a person reads it: the fields of the item, else the document itself.

    Raises:
        OutputError: its bytes are not kept.
    """
    body = history.body(version)
    why = f" ({version.reason})" if version.reason else ""
    said = f"{version.status}{why} {version.time}, {size(version.known.bytes)}, run {version.run}"
    yield f"{history.name}: {one_line(said)}"
    item = history.bodies.item(version)
    if item is None:
        yield from map(_line, body.decode("utf-8", "replace").splitlines())
        return
    yield from _fields(item, "")
    for resource in item.resources:
        yield one_line(f"Resource {resource.id}")
        yield from _fields(resource, "  ")


def _fields(item: Dataset | Resource, indent: str) -> Iterator[str]:
    kind: type = type(item)
    for name, spec in specs(kind).items():
        value = plain(getattr(item, name))
        first, *more = _texts(value) if value is not None else [""]
        if first or more:
            yield f"{indent}{spec.title(name)}: {_line(first)}"
            yield from (f"{indent}  {_line(text)}".rstrip() for text in more)


def _texts(value: Any) -> list[str]:
    """Return a field's value by lines."""
    if isinstance(value, dict):
        return [", ".join(f"{name} {text}" for name, each in value.items() for text in _texts(each))]
    if isinstance(value, list):
        return [text for each in value for text in _texts(each)]
    return str(value).splitlines() or [""]


def _line(text: str) -> str:
    """Return a line as it is indented, without what acts on a terminal or forges another line."""
    rest = text.lstrip(" ")
    return " " * min(len(text) - len(rest), _WIDEST) + one_line(rest, _WIDEST)


# What two differ in


def compared(history: DatasetHistory, before: Version | None, after: Version) -> Difference:
    """Return what two versions differ in.

    Raises:
        OutputError: the bytes of one are not kept.
    """
    body, item = (history.body(before), history.bodies.item(before)) if before else (None, None)
    return difference(body, history.body(after), item, history.bodies.item(after))


def difference_lines(found: Difference, before: Version | None, after: Version) -> Iterator[str]:
    """Yield what two versions differ in: the fields of the item, then the record's own."""
    colours = has_colours()
    yield f"--- {_named(before)}" if before else "--- no version"
    yield f"+++ {_named(after)}"
    for heading, changes in (("fields", found.fields), ("the record itself", found.record)):
        if changes:
            yield f"{counted(len(changes), 'change')} of {heading}"
        for change in changes:
            yield from _change_lines(change, colours=colours)
    if found.left_out:
        yield found.left_out
    if not (found.fields or found.record):
        is_same = before is not None and before.known.sha256 == after.known.sha256
        yield "They are the same." if is_same else "They say the same: only how it is written differs."


def _named(version: Version) -> str:
    return one_line(f"{version.time} {version.status}, run {version.run}")


def _change_lines(change: Change, *, colours: bool) -> Iterator[str]:
    yield f"  {one_line(change.path or 'all of it', _WIDEST)}"
    for line in change.lines():
        shown = f"{line.sign} {_line(line.text)}"
        yield f"    {_COLOURS.get(line.sign, '{}').format(shown) if colours else shown}"
