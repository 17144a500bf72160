"""What `scrapy harvest` does: it chooses the sources, crawls them, and reports how each crawl ended."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from crawlers.exceptions import HarvestError
from crawlers.operate.console import print_error, print_lines
from crawlers.operate.harvest import Outcome
from crawlers.operate.harvest.claim import see
from crawlers.operate.harvest.crawls import Crawls
from crawlers.operate.harvest.outcome import INTERRUPTED, exit_code
from crawlers.operate.harvest.selection import Choice, due, enabled, named, not_approved, still_due
from crawlers.operate.mirrored import bring_up, look_again
from crawlers.operate.queue import need
from crawlers.operate.sources.file import left_out, reads
from crawlers.operate.sources.project_context import Known
from crawlers.store.run_text import table
from crawlers.store.runs import last
from crawlers.store.sources_file import text

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import BaseSettings

    from crawlers.operate.sources import Source


class Harvesting:
    """Chooses the sources and harvests them, as the options say."""

    def __init__(self, settings: BaseSettings, opts: argparse.Namespace) -> None:
        self.settings = settings
        self.opts = opts
        self.output, self.jobs = Path(settings["OUTPUT_DIR"]), Path(settings["JOBS_DIR"])
        self.queue: str = opts.queue or settings["QUEUE"]
        self.colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")

    def run(self, names: list[str]) -> int:
        """Harvest the sources; return the exit code.

        Raises:
            HarvestError: an option or a name is wrong.
        """
        names = [*names, *(word for word in self.opts.scrapyd if not _is_address(word))]
        if bool(names) + self.opts.all + self.opts.due != 1:
            raise HarvestError("Name sources, or choose --all or --due; `scrapy sources` lists them.")
        known = Known(self.settings)
        nodes = [word for word in self.opts.scrapyd if _is_address(word)] or self.settings.getlist("SCRAPYD_NODES")
        crawls = Crawls(self.settings, known, self.opts.set, parallel=number(self.opts.parallel), nodes=nodes)
        wrong = self._read(names, known)
        bring_up(self.settings, creates=True)
        refused = [Outcome(source=name, state="not started", sentence=text) for name, text in wrong.items()]
        choices = self._choices([name for name in names if name not in wrong])
        chosen = [choice.source for choice in choices if choice.is_taken]
        if self.opts.dry_run or (self.opts.verbose and not chosen):
            print_lines(table([("source", "", "why"), *map(_foreseen, choices)], colours=self.colours))
        self._print_left_out(chosen)
        if self.opts.all and not chosen and not wrong:
            print_lines([f"{self.settings['SOURCES_FILE']} has no enabled source: there is nothing to harvest."])
        if chosen and not self.opts.dry_run and not self.opts.scrapyd and self.queue:
            return self._defer(chosen, crawls, refused)
        if chosen and not self.opts.dry_run:
            return self._crawl(chosen, crawls, refused)
        return exit_code(refused)

    def _print_left_out(self, chosen: list[Source]) -> None:
        """Print which sources are not approved; with ``--due``, only if something is printed anyway."""
        is_heard = self.opts.all or (self.opts.due and (chosen or self.opts.verbose or self.opts.dry_run))
        sentence = not_approved(self.sources) if is_heard else ""
        print_lines([sentence] if sentence else [])

    def _crawl(self, chosen: list[Source], crawls: Crawls, refused: list[Outcome]) -> int:
        due = {source.name: source for source in chosen} if self.opts.due else {}
        outcomes = crawls.run(
            chosen,
            is_wanted=lambda name: name not in due or self._is_due(due[name]),
            silent=bool(due) and not self.opts.verbose,
        )
        return INTERRUPTED if crawls.is_stopped else exit_code([*refused, *outcomes])

    def _is_due(self, source: Source) -> bool:
        """Return whether a source is due, also by what other nodes have crawled meanwhile."""
        look_again(self.settings, [source.name])
        return still_due(source, self.output, self.jobs, datetime.now(UTC))

    def _defer(self, chosen: list[Source], crawls: Crawls, refused: list[Outcome]) -> int:
        """Put the crawls into the queue; with ``--wait``, wait for them. Return the exit code."""
        queue = need("queue").Queue(self.queue)
        locked = need("queue").all_locks(crawls, self.sources)
        wrong = {source.name: crawls.mistake(source) for source in chosen if source.name not in locked}
        for name, why in wrong.items():
            print_error(f"[{name}] is not queued: {why}")
        refused += [Outcome(source=name, state="not started", sentence=why) for name, why in wrong.items()]
        names = [source.name for source in chosen if source.name in locked]
        jobs = queue.defer({name: locked[name] for name in names}, due=self.opts.due)
        told = {name: "is queued." if job else "is in the queue already." for name, job in jobs.items()}
        print_lines(f"[{name}] {sentence}" for name, sentence in told.items() if jobs[name] or not self.opts.due)
        if not self.opts.wait:
            return exit_code(refused)
        try:
            queue.wait([job for job in jobs.values() if job], names)
        except KeyboardInterrupt:
            return INTERRUPTED
        look_again(self.settings, names)
        return exit_code([*refused, *(_came(self.output, name) for name in names)])

    def _read(self, names: list[str], known: Known) -> dict[str, str]:
        """Read the sources; print and return what is wrong with tables that were to be harvested, by name."""
        path = Path(self.settings["SOURCES_FILE"])
        content = text(path)
        self.sources, mistakes = reads(content, path, known)
        off = left_out(content, path)
        wrong = {name: why for name, why in mistakes.items() if (name in names if names else name not in off)}
        for why in wrong.values():
            print_error(why)
        return wrong

    def _choices(self, names: list[str]) -> list[Choice]:
        if self.opts.due:
            found = due(self.sources, self.output, self.jobs, datetime.now(UTC))
            for choice in found if not self.opts.dry_run else ():
                if choice.is_waiting:
                    see(self.jobs, choice.source.name)
            return found
        return enabled(self.sources) if self.opts.all else named(self.sources, names)


def _is_address(text: str) -> bool:
    """Return whether a word after ``--scrapyd`` is an address; a source's name has neither character."""
    return ":" in text or "/" in text


def number(text: str) -> int:
    """Return the number of parallel crawls.

    Raises:
        HarvestError: it is not a number.
    """
    if not (text.isascii() and text.isdecimal() and int(text[:9])):
        raise HarvestError(f"--parallel {text!r} is not a whole number, 1 or more.")
    return int(text[:9])


def _came(output: Path, source: str) -> Outcome:
    """Return what came of a source's crawl on some node."""
    run = last(output, source)
    return Outcome(source=source, state=run.state if run else "not started", sentence="", run=run)


def _foreseen(choice: Choice) -> tuple[str, str, str]:
    return choice.source.name, "would run" if choice.is_taken else "", choice.reason
