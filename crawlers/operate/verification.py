"""What `scrapy verify` and `scrapy archive verify` share, their table and exit codes; and what the first does."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from crawlers.operate.console import print_error
from crawlers.safety.locks import is_crawled
from crawlers.safety.redact import one_line
from crawlers.store.comparison import Comparison
from crawlers.store.figures.formatting import counted, number, size
from crawlers.store.run_text import table

DIFFERS = 3
"""The exit code if something is damaged, missing or unreferenced, or could not be verified."""
_HEADING = ("source", "files", "size", "damaged", "missing", "unreferenced", "credentials")
_LONGEST = 5_000  # characters of a path
_MEND = "`scrapy harvest {names} -s VERIFY_DOCUMENTS=True` writes {what} again, as far as the portal still has them."
_UNREFERENCED = "No line of a manifest names the unreferenced files: a killed crawl left them. Remove those that stay."


class Verified(NamedTuple):
    """What was found in a source, or in an archive.

    Args:
        damaged: how many of them have other bytes, or can't be read.
        missing: how many are not there.
        unreferenced: how many are there, and nothing says that they should.
        credentials: how many have ``user:password@`` in an address; ``None`` if that was not looked for.
    """

    source: str
    files: int
    bytes: int
    damaged: int
    missing: int
    unreferenced: int
    credentials: int | None = None

    @property
    def differs(self) -> bool:
        """Whether something is not as it should be."""
        return bool(self.damaged or self.missing or self.unreferenced)


def print_table(found: Sequence[Verified]) -> None:
    """Print what was found, a row for each."""
    rows = [(one.source, number(one.files), size(one.bytes), *map(number, one[3:])) for one in found]
    for line in table([_HEADING, *rows], colours=False):
        print(line)


def print_difference(word: str, about: str) -> None:
    """Print a file that differs."""
    print(f"{word:<12}  {about}", flush=True)


def verify(output: Path, sources: Sequence[str], interval: float) -> int:
    """Print how the documents of sources differ from their manifests, and return the exit code.

    Args:
        interval: seconds between two lines about the progress.
    """
    found, failed = [], 0
    for source in sources:
        if is_crawled(output / source):
            failed += 1
            print_error(f"{source} is being crawled: verify it when the crawl has ended.")
            continue
        try:
            found.append(_verified(output / source, interval))
        except OSError as error:
            failed += 1
            print_error(f"{source} can't be verified: {error.filename or output / source}: {error.strerror or error}.")
    if found:
        print_table(found)
    _print_advice(found)
    return DIFFERS if failed or any(one.differs for one in found) else 0


def _verified(folder: Path, interval: float) -> Verified:
    counts = dict.fromkeys(("damaged", "unreadable", "missing", "unreferenced"), 0)
    with Comparison(folder) as comparison:
        progress = Progress(comparison.documents, comparison.size, interval)
        read = 0
        try:
            for one in comparison.differences():
                if one is None:
                    progress.add(comparison.bytes - read)
                    progress.end_file()
                    read = comparison.bytes
                    continue
                counts[one.word] += 1
                about = one_line(f"{folder.name}/{one.file}", _LONGEST) + (f"  {one.reason}" if one.reason else "")
                progress.say(one.word, about)
        finally:
            progress.close()
        damaged = counts["damaged"] + counts["unreadable"]
        more = (damaged, counts["missing"], counts["unreferenced"], comparison.logins)
        return Verified(folder.name, comparison.documents, comparison.bytes, *more)


def _print_advice(found: Sequence[Verified]) -> None:
    mendable = [one.source for one in found if one.damaged or one.missing or one.credentials]
    if mendable:
        what = "what is damaged or missing" if any(one.damaged or one.missing for one in found) else "these documents"
        print(_MEND.format(names=" ".join(mendable), what=what))
    if any(one.unreferenced for one in found):
        print(_UNREFERENCED)
    if logins := sum(one.credentials or 0 for one in found):
        verb = "has" if logins == 1 else "have"
        print(f"{counted(logins, 'document')} {verb} user:password@ in an address, from an earlier version.")


class Progress:
    """A bar on a terminal, else a line on standard error each so often.

    Args:
        interval: seconds between lines; 0 = neither lines nor a bar.
    """

    def __init__(self, files: int, volume: int, interval: float) -> None:
        self.files, self.volume, self.interval = files, volume, interval
        self.done_files = self.done_bytes = 0
        self.next = time.monotonic() + interval
        self.bar: tqdm[Any] | None = None
        if interval and sys.stderr.isatty():
            tqdm.monitor_interval = 0  # no thread of its own
            self.bar = tqdm(total=volume, unit="B", unit_scale=True, dynamic_ncols=True, leave=False)

    def add(self, count: int) -> None:
        """Count bytes that were read."""
        self.done_bytes += count
        if self.bar is not None:
            self.bar.update(count)
        elif self.interval and time.monotonic() >= self.next:
            self.next = time.monotonic() + self.interval
            files = f"{number(self.done_files)} of {counted(self.files, 'file')}"
            done = f"{files}, {size(self.done_bytes)} of {size(self.volume)}"
            print(f"{done} checked so far", file=sys.stderr, flush=True)

    def end_file(self) -> None:
        """Count a file."""
        self.done_files += 1

    def say(self, word: str, about: str) -> None:
        """Print a file that differs, above the bar."""
        if self.bar is not None:
            self.bar.clear()
        print_difference(word, about)

    def close(self) -> None:
        """Remove the bar."""
        if self.bar is not None:
            self.bar.close()
