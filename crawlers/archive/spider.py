"""Looks at the files that the datasets of a source link, and keeps them: a crawl of many hosts."""

from __future__ import annotations

import asyncio
import os
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from scrapy import signals

from crawlers import arguments
from crawlers.archive import findings
from crawlers.archive.answers import Answers
from crawlers.archive.blobs import Blobs
from crawlers.archive.forms import Forms
from crawlers.archive.looks import Looks, asked_about
from crawlers.archive.partial import sweep
from crawlers.archive.requests import Requests
from crawlers.archive.store import open_blobs
from crawlers.archive.targets import (
    ANY,
    MARK,
    WHATS,
    AddressError,
    Choice,
    Subject,
    check,
    check_choice,
    is_fresh,
    is_put_off,
    left_out,
    requestable,
    targets,
    utc,
)
from crawlers.arguments import Argument
from crawlers.components.scrapy_internals import has_others, is_closing
from crawlers.exceptions import AnswerError, ArgumentError
from crawlers.listing.spider import CatalogueSpider, source_name
from crawlers.s3.address import is_address
from crawlers.store.index.known import RESOURCES
from crawlers.store.location import bring_up

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler

    from crawlers.items import Capture


_DOUBTFUL = 1_000  # files that may be missing for our own network's sake
_LOOK = 0.2  # seconds between looks at whether any host has answered


def _formats(text: str) -> list[str]:
    found = [word.strip().upper() for word in text.split(",") if word.strip()]
    if not found:
        raise ValueError("formats with commas between them: CSV,XLSX")
    return found


class ArchiveSpider(CatalogueSpider):
    """The files of one source, which ``-a of=`` names; its own source is ``archive-of-<source>``."""

    address = "of"
    crosses_hosts = True
    arguments: ClassVar[dict[str, Argument]] = {
        "of": Argument(help="The source whose files are archived: the name of its folder.", parse=source_name),
        "what": Argument(
            help="resources: what resources link. pages, documentation: what datasets name as such. all: any address.",
            parse=arguments.choice(*WHATS),
            default="resources",
        ),
        "dataset": Argument(help="Only the files of this dataset: its id or its name.", parse=arguments.text),
        "publisher": Argument(help="Only the files of this publisher's datasets.", parse=arguments.text),
        "format": Argument(help="Only files that the catalogue says are of these formats: CSV,XLSX.", parse=_formats),
        "max_files": Argument(help="Stop after this many addresses.", parse=arguments.positive),
        "mode": Argument(
            help="archive: keep the files. check: only find out whether they are there.",
            parse=arguments.choice("archive", "check"),
            default="archive",
        ),
    }
    custom_settings: dict[str, Any] | None = {  # noqa: RUF012  # as Scrapy declares it
        "CONCURRENT_REQUESTS": 200,  # default 16; of many hosts
        "CONCURRENT_REQUESTS_PER_DOMAIN": 2,  # default 8; two in parallel are what AutoThrottle aims at for each host,
        "AUTOTHROTTLE_ENABLED": False,  # and with hundreds of hosts the latency that it measures would be our own
        "RETRY_TIMES": 2,  # a file that fails is asked for again in the next run
        "DOWNLOAD_HANDLERS": {
            **dict.fromkeys(("file", "data", "ftp", "s3")),
            **dict.fromkeys(("http", "https"), "crawlers.archive.download.ArchiveHandler"),
        },
        "REQUEST_FINGERPRINTER_CLASS": "crawlers.archive.fingerprinter.ArchiveFingerprinter",
        "ITEM_PIPELINES": {"pipelines.archive.Store": 300, "pipelines.archive.Captures": 400},
        "HTTPCACHE_ENABLED": False,
    }
    former_callbacks: ClassVar[dict[str, str]] = {
        "files.parse": "answers.file",
        "files.parse_form": "answers.form",
        "files.failed": "answers.failed",
        "apis.parse": "answers.capabilities",
        "checks.parse": "answers.check",
    }
    of: str | None = None
    output: Path
    blobs: Blobs
    forms: Forms
    obeys_robots: bool
    max_size: int
    links_per_page: int
    used: int
    longest_fresh: timedelta

    def __init__(self, **given: str) -> None:
        super().__init__(**given)
        self.of = self.args["of"] or self.of
        if self.of is None:
            raise ArgumentError(f"spider {self.name} needs to know the source whose files it archives: -a of=hdx")
        choice = {name: self.args[name] for name in ("what", "dataset", "publisher")}
        if self.args["format"] and choice["what"] != "resources":
            raise ArgumentError(f"-a format= chooses resources: leave it out with -a what={choice['what']}.")
        self.choice = Choice(source=self.of, formats=self.args["format"] or (), **choice)
        self.looks = Looks(self.source, self.args["mode"])
        self.requests = Requests(self)
        self.answers = Answers(self, self.requests)
        self.is_check = self.args["mode"] == "check"
        self.is_online = self.has_begun_all = False
        self.doubtful = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler, **given: str) -> Self:
        spider = super().from_crawler(crawler, **given)
        spider.output = Path(crawler.settings["OUTPUT_DIR"])
        bring_up(crawler.settings, [str(spider.of)], spider.logger.warning)
        if crawler.settings["OUTPUT_STORE"] and not is_address(crawler.settings["ARCHIVE_STORE"], "ARCHIVE_STORE"):
            spider.logger.warning("ARCHIVE_STORE is a folder of this machine: other machines will lack these files.")
        check(spider.output, str(spider.of))
        check_choice(spider.output, spider.choice)
        spider.blobs = open_blobs(crawler.settings)
        spider.forms = Forms.read(Path(crawler.settings["FORMS_FILE"]))
        spider.obeys_robots = crawler.settings.getbool("ARCHIVE_ROBOTSTXT_OBEY")
        spider.max_size = crawler.settings.getint("ARCHIVE_MAX_SIZE")
        spider.links_per_page = crawler.settings.getint("ARCHIVE_LINKS_PER_PAGE")
        spider.used = sweep(spider.blobs.scratch)
        spider.longest_fresh = timedelta(days=crawler.settings.getfloat("ARCHIVE_FRESH_DAYS"))
        crawler.signals.connect(spider.conclude, signals.spider_idle)
        crawler.signals.connect(spider.release, signals.engine_stopped)
        return spider

    @property
    def source(self) -> str:
        """The archive's own."""
        return f"archive-of-{self.of}"

    @property
    def reported(self) -> dict[str, Any]:
        """How many files were found in which state, how many were not due, and whose robots.txt counted."""
        settled = self.records.counts()
        captures = self.opened_index().captures.counts(self.records.job.state["run"])
        not_due = {name: settled[name] for name in ("fresh", "put off") if name in settled}
        return {"captures": captures | not_due, "robotstxt_obeyed": self.obeys_robots}

    def release(self) -> None:
        """Say that the folder of the downloads is not used any more."""
        os.close(self.used)

    # What is looked at

    async def start(self) -> AsyncIterator[Any]:
        """Yield a request for each address that is due, and the captures of those that can't be requested."""
        self.run_state.walks.begin("files")
        begun = 0
        try:
            for subjects in targets(self.output, self.choice, self.unread, is_check=self.is_check):
                wanted = [*self.begin(subjects)] if begun != self.args["max_files"] else None
                if wanted is None:
                    self.run_state.is_limited = True
                    break
                begun += bool(wanted)
                for one in wanted:
                    yield one
                await asyncio.sleep(0)  # thousands may be fresh
        finally:  # `any_answer` waits for it
            self.has_begun_all = True

    def unread(self, sentence: str) -> None:
        """Report a document whose addresses are not looked at."""
        self.failed("list", AnswerError("invalid_record", sentence))

    def begin(self, subjects: list[Subject]) -> Iterator[Request | Capture]:
        """Yield the request for the file of some resources, or their captures if it can't be requested."""
        due = [subject for subject in subjects if self.is_due(subject, subject.resource_id)]
        if not due:
            return
        is_stated = due[0].resource_id.startswith(MARK)
        asked = asked_about(due, request_type=ANY if is_stated else "file")
        try:
            yield self.requests.first(requestable(due[0].url), asked)
        except AddressError as error:
            yield from self.looks.unasked(asked, error)
        except ValueError as error:  # Scrapy's
            reason = f"the address is invalid ({error})"
            yield from self.looks.captures(asked, findings.CAUSES["invalid_address"], reason=reason)

    def is_due(self, subject: Subject, expected: str) -> bool:
        """Expect a file; return whether it is to be requested. Settle it if it is not.

        Args:
            expected: what the ledger knows the file by: the resource, with the address if a page links it.
        """
        key = ("file", subject.dataset_id, expected)
        self.expect(*key, listed_by=subject.url)
        self.run_state.count_listed(self.records.expected)
        if self.records.is_settled(key):  # before a kill
            return False
        last, now = self.last(subject), utc()
        if self.is_check or last is None or last.resource_id != subject.resource_id:  # it has no capture of its own
            return True
        if is_put_off(last, now):
            self.records.settle(key, "put off")
        elif is_fresh(last, now, self.longest_fresh) and self.blobs.get(str(last.sha256)):
            self.records.settle(key, "fresh")
        else:
            return True
        return False

    def last(self, subject: Subject) -> Capture | None:
        """Return what the last look at a file found."""
        return self.opened_index().captures.last(subject.dataset_id, subject.resource_id, subject.url)

    async def any_answer(self) -> None:
        """Wait until a host has answered, or none can: whether we are offline does not depend on who is asked first.

        Of more than `_DOUBTFUL` files at a time the others do not wait: each is held in memory.
        """
        self.doubtful += 1
        while not self.is_online and self.doubtful <= _DOUBTFUL and self._may_be_answered():  # noqa: ASYNC110
            await asyncio.sleep(_LOOK)  # no event says that nothing is left to be asked
        self.doubtful -= 1

    def _may_be_answered(self) -> bool:
        is_asking = not self.has_begun_all or has_others(self.crawler, apart=self.doubtful)
        return is_asking and not is_closing(self.crawler)

    def conclude(self, **_: Any) -> None:
        """Judge the run when no request is left: it is whole if each resource was looked at, or need not be."""
        if not self.run_state.walks.is_open("files"):
            return
        lacking = left_out(self.output, self.choice, RESOURCES) if self.choice.has_resources else 0
        listed = self.run_state.expected = self.records.expected
        is_whole = not (lacking or self.run_state.is_limited)
        self.run_state.walks.end("files", "whole" if is_whole else "short", evidence="file", listed=listed)
        if lacking and not self.run_state.is_limited:
            left = f"{lacking} more are not in the index, which keeps {RESOURCES} resources of a dataset"
            self.failed("list", AnswerError("unproven", f"the catalogue listed {listed} datasets, and {left}"))
