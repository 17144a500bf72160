"""`scrapy ecosystem run`: for portals and for extensions a crawl, CSV files, and what is published of them."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from crawlers import arguments
from crawlers.exceptions import HarvestError
from crawlers.operate.console import print_error, print_lines
from crawlers.operate.ecosystem import CATALOGUE, outage, tables
from crawlers.operate.ecosystem.part import PARTS, Part, Progress
from crawlers.operate.ecosystem.publishing import publish, wait_for_others
from crawlers.operate.harvest.crawls import Crawls
from crawlers.operate.harvest.outcome import COMPLETE, FAILED, INCOMPLETE, INTERRUPTED, NOTHING_STARTED, exit_code
from crawlers.operate.publish.command import check_approval
from crawlers.operate.sources.project_context import Known
from crawlers.records import moment
from crawlers.safety.redact import safe_line
from crawlers.store.runs import last

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from scrapy.settings import BaseSettings

    from crawlers.operate.harvest.outcome import Outcome

_MOST = 100  # per cent


class EcosystemRun:
    """One run.

    Args:
        opts: the options of the command.

    Raises:
        HarvestError: an option is wrong.
        PublishError: a terminal to ask on, or the token, is missing.
    """

    def __init__(self, settings: BaseSettings, opts: argparse.Namespace) -> None:
        self.opts = opts
        self.output, self.jobs, self.logs = (Path(settings[name]) for name in ("OUTPUT_DIR", "JOBS_DIR", "LOGS_DIR"))
        self.catalogue = _address("--catalogue", opts.catalogue or CATALOGUE)
        self.to = _address("--publish-to", opts.publish_to) if opts.publish_to else None
        self.limit = _percent(opts.max_down)
        self.crawls = Crawls(settings, Known(settings), opts.set, parallel=len(PARTS))
        self.is_asking = not (opts.yes or opts.dry_run)
        if self.to:
            check_approval(settings, opts)

    def run(self) -> int:
        """Crawl, and publish what may be published; return the exit code.

        Raises:
            CrawlersError: a sentence for the user.
        """
        with ExitStack() as stack:
            begun = {part: self._begin(part, stack) for part in PARTS if part.name not in self.opts.skip}
            under_way = {part: progress for part, progress in begun.items() if progress}
            outcomes = self._crawl(under_way)
            if self.crawls.is_stopped:
                return INTERRUPTED
            return max(exit_code(outcomes), self._conclude(under_way, {one.source: one.state for one in outcomes}))

    def _begin(self, part: Part, stack: ExitStack) -> Progress | None:
        """Begin a part, or continue it where an interrupted run left it; return ``None`` if another run is at it."""
        progress = Progress.take(self.jobs, part, self.catalogue)
        if progress is None:
            print_lines([f"{part.spider}: another run is at work on it."])
            return None
        stack.callback(progress.release)
        if part.kind == "site" and not progress.known_up.exists():
            outage.remember(self.output, part.spider, part.kind, progress.known_up)
        return progress

    def _crawl(self, under_way: Mapping[Part, Progress]) -> list[Outcome]:
        done = [part for part, progress in under_way.items() if self._is_crawled(part, progress)]
        print_lines(f"{part.spider}: this run has crawled it already." for part in done)
        wanted = [part.source(self.catalogue) for part in under_way if part not in done]
        return self.crawls.run(wanted) if wanted else []

    def _is_crawled(self, part: Part, progress: Progress) -> bool:
        """Return whether a complete crawl of the catalogue has ended since the run began."""
        run = last(self.output, part.spider)
        ended, begun = moment.moment(run.finished if run else None), moment.moment(progress.begun)
        if run is None or ended is None or begun is None:
            return False
        return run.state == "complete" and ended >= begun and run.arguments.get("catalogue") == self.catalogue

    def _conclude(self, under_way: Mapping[Part, Progress], states: Mapping[str, str]) -> int:
        """Do what follows the crawls, of the parts that are complete; return the exit code."""
        code, complete = COMPLETE, [part for part, progress in under_way.items() if self._is_crawled(part, progress)]
        for part, progress in under_way.items():
            if states.get(part.spider) == "running":
                print_lines([f"{part.spider}: run this again when that crawl has ended."])
                code = INCOMPLETE
            elif part not in complete:
                print_lines([f"{part.spider} is not complete: nothing of it is published.", *self._stop(part)])
                progress.end()
        if any(self._is_outage(part, under_way[part]) for part in complete):
            for part in complete:
                under_way[part].end()
            return FAILED
        for part in complete:
            code = max(code, self._finish(part, under_way[part]))
            if code == INTERRUPTED:
                break
        return code

    def _stop(self, part: Part) -> list[str]:
        """Return the sentence of a crawl that ended before its work was done; none of another crawl."""
        run = last(self.output, part.spider)
        return [safe_line(run.details["stopped"])] if run and run.details.get("stopped") else []

    def _is_outage(self, part: Part, progress: Progress) -> bool:
        if part.kind != "site":
            return False
        found = outage.compare(self.output / part.spider, progress.known_up)
        share = f"{found.lost:,} of {found.before:,} portals that were up at the last run are not up now"
        if found.percent <= self.limit:
            print_lines([f"{part.spider}: {share}."] if found.before else [])
            return False
        print_error(
            f"Nothing is published: {share}, more than {self.limit:g} %. The network here may be the reason: check it "
            f"and run again. If they are down indeed, add --max-down {ceil(found.percent)}."
        )
        return True

    def _finish(self, part: Part, progress: Progress) -> int:
        """Write the CSV files of a part, and publish it; return the exit code."""
        print_lines([tables.write(self.output, part.spider, part.kind, self.catalogue, self.opts.csv)])
        progress.known_up.unlink(missing_ok=True)
        code = self._publish(part) if self.to else COMPLETE
        if code != INTERRUPTED:
            progress.end()
        return code

    def _publish(self, part: Part) -> int:
        """Publish a part's records, then its time series unless that failed; return the exit code."""
        code = COMPLETE
        for target, stage in ((part.name, "publish"), ("timeseries", "timeseries")):
            if stage not in self.opts.skip and code < FAILED:
                wait_for_others(str(self.to), self.output)
                found = asyncio.run(publish(self._words(target, part), is_asking=self.is_asking))
                code = max(code, FAILED if found == NOTHING_STARTED else found)
        return code

    def _words(self, target: str, part: Part) -> list[str]:
        log = self.logs / f"publish-{target}" / f"{moment.name()}.log"
        try:
            log.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise HarvestError(f"{log} can't be written ({error.strerror}): set another -s LOGS_DIR=") from None
        settings = [word for setting in self.opts.set for word in ("-s", setting)]
        answer = ["--dry-run"] * self.opts.dry_run or ["--yes"] * self.opts.yes
        return [target, part.spider, "--to", str(self.to), *answer, *settings, "--logfile", str(log)]


def _address(option: str, text: str) -> str:
    try:
        return arguments.portal(text)
    except ValueError as error:
        raise HarvestError(f"{option} {text[:200]!r} is not {error}.") from None


def _percent(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1
    if not 0 <= found <= _MOST:
        raise HarvestError(f"--max-down {text[:100]!r} is not a percentage, from 0 to {_MOST}.")
    return found
