"""``scrapy crawl``: Scrapy's own, with the verdict as its exit code and in its last lines."""

from __future__ import annotations

import gc
import logging
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.commands import crawl
from scrapy.exceptions import UsageError
from scrapy.settings import SETTINGS_PRIORITIES

from crawlers.exceptions import CrawlersError, JobFinished, StoppedError, TakenError, hint
from crawlers.operate.console import INTERRUPTED, ignoring_output_errors, open_streams
from crawlers.operate.setting_types import invalid
from crawlers.operate.strict_command import StrictCommand, given, misspelt, unknown

if TYPE_CHECKING:
    import argparse
    import asyncio

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

NOT_STARTED = 1
GARBAGE = (100_000, 50, 100)  # default (700, 10, 10): a page of records is many objects, and none is garbage yet
_COLOURS = {"complete": 32, "partial": 32, "incomplete": 33, "interrupted": 33, "blocked": 31, "failed": 31}


class Command(StrictCommand, crawl.Command):
    takes_known_settings_only = takes_valid_settings_only = False  # it checks them itself, later, and exits with 1

    description = (
        "Run a spider: the metadata of its catalogue goes to OUTPUT_DIR. `scrapy catalogues` lists the spiders "
        "and their arguments. Exit code: 0 complete or partial (stopped by a limit of yours), 1 could not start, "
        "3 incomplete, 4 blocked or failed, 130 interrupted."
    )

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        open_streams()  # before the log is configured, which writes to them
        # It looks at all modules once for each of its callers (inspect.stack): here they are few
        import scrapy.core.downloader.contextfactory  # noqa: F401

        defaults = dict(self.settings)
        super().process_options(args, opts)
        self.unknown = unknown(given(opts), defaults)
        self.mistake = misspelt(self.unknown, defaults) or invalid(dict(self.settings), defaults)
        if self.mistake:
            self.settings.set("LOG_LEVEL", "ERROR", "cmdline")  # it may be the mistake
        if "_job" in opts.spargs:  # Scrapyd's, whose working directory is arbitrary
            _below_home(self.settings)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1:
            raise UsageError("name one spider; `scrapy catalogues` lists them", print_help=False)
        self.exitcode = NOT_STARTED
        if not self._is_spider(args[0]):
            return
        if self.mistake:
            _report(self.mistake, logged=self._is_logged)
            return
        for name in self.unknown:
            logger.warning("-s %s is not a setting of Scrapy or of this project: nothing here reads it", name)
        gc.freeze()  # imported modules are never garbage
        gc.set_threshold(*GARBAGE)
        if "_job" in opts.spargs:
            _warn_of_home(self.settings)
        crawler = self._create_crawler(args[0])
        crawl: Any = self.crawler_process.crawl(crawler, **opts.spargs)
        self.crawler_process.start()
        if has_started(crawl, logged=self._is_logged):
            self.exitcode = conclude(crawler)
        elif isinstance(error := crawl.exception(), JobFinished):
            from crawlers.store.runs import EXIT_CODES

            self.exitcode = EXIT_CODES.get(error.verdict, 0)  # type: ignore[call-overload]
        elif isinstance(error, StoppedError):
            self.exitcode = INTERRUPTED

    def _is_spider(self, name: str) -> bool:
        """Return whether there is such a spider; if not, print which there are."""
        loader = self.crawler_process.spider_loader
        try:
            loader.load(name)
        except KeyError:
            there = sorted(loader.list())
            _print(f"There is no spider {name!r}.{hint(name, there)} There are: {', '.join(there)}.")
            return False
        return True

    @property
    def _is_logged(self) -> bool:
        return bool(self.settings["LOG_FILE"])


def _below_home(settings: BaseSettings) -> None:
    """Make the paths in a job's settings relative to CRAWLERS_HOME, as those in this project's settings are."""
    home = os.environ.get("CRAWLERS_HOME", "")
    for name in ("OUTPUT_DIR", "JOBDIR"):
        if settings.getpriority(name) == SETTINGS_PRIORITIES["cmdline"] and settings[name]:
            settings.set(name, str(Path(home, settings[name])), "cmdline")


def _warn_of_home(settings: BaseSettings) -> None:
    if not Path(settings["OUTPUT_DIR"]).is_absolute():
        where = Path(settings["OUTPUT_DIR"]).absolute()
        logger.warning("The output is in %s, by Scrapyd's working directory: set CRAWLERS_HOME for Scrapyd", where)


def has_started(crawl: asyncio.Task[None], *, logged: bool) -> bool:
    """Return whether the crawl started; print a user's mistake as a sentence, and a bug with its traceback."""
    error = crawl.exception() if crawl.done() and not crawl.cancelled() else None
    if isinstance(error, CrawlersError):
        _report(error, logging.INFO if isinstance(error, JobFinished) else logging.ERROR, logged=logged)
    elif error is not None:
        _print("".join(traceback.format_exception(error)))
    return error is None


def _report(sentence: object, level: int = logging.ERROR, *, logged: bool) -> None:
    _print(sentence)
    if logged:  # the terminal may be unattended
        logger.log(level, "%s", sentence)


def conclude(crawler: Crawler) -> int:
    """Print the last lines of a crawl that has ended; return the exit code."""
    from crawlers.extensions.report import Report

    report = crawler.get_extension(Report)
    if report is None:  # the user has removed it from EXTENSIONS
        return 0
    if report.verdict is None:  # a second signal: the engine did not finish
        report.finish("shutdown")
    _print(_coloured(report.summary, str(report.verdict)))
    return max(report.exit_code, _not_stored(crawler))


def _not_stored(crawler: Crawler) -> int:
    """Print why not all of a crawl is in the store, if so; return the exit code of that."""
    from crawlers.fleet import load
    from crawlers.store.runs import EXIT_CODES

    storing = crawler.get_extension(load("storing").Storing) if crawler.settings["OUTPUT_STORE"] else None
    if storing is None or storing.failed is None:
        return 0
    is_taken = isinstance(storing.failed, TakenError)  # then the rest is in the folder `left`
    _print(storing.failed if is_taken else f"{storing.failed} Not all is stored: the same command stores the rest.")
    return EXIT_CODES["interrupted" if is_taken else "failed"]


def _print(text: object) -> None:
    """Print on stderr; if that is closed or full, the exit code and the report still have the verdict."""
    with ignoring_output_errors():
        print(text, file=sys.stderr)


def _coloured(summary: str, verdict: str) -> str:
    if not sys.stderr.isatty() or os.environ.get("NO_COLOR"):
        return summary
    return summary.replace(verdict, f"\x1b[1;{_COLOURS[verdict]}m{verdict}\x1b[0m", 1)
