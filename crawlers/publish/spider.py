"""Publishes to a CKAN portal, as a run: pace, error lines, report and verdict are those of any crawl."""

from __future__ import annotations

import logging
import re
from contextlib import ExitStack
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from scrapy.exceptions import CloseSpider
from twisted.python.failure import Failure

from crawlers import arguments, signals
from crawlers.arguments import Argument
from crawlers.exceptions import AnswerError, CrawlersError
from crawlers.listing.crawl import remembering
from crawlers.listing.spider import CatalogueSpider, host_name, source_name
from crawlers.publish.journal import NAME, Journal, Steps
from crawlers.publish.portal import Portal, is_stopping, write_addresses
from crawlers.publish.publication import Plan, Publication
from crawlers.publish.targets import TARGETS, target
from crawlers.records import moment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from crawlers.publish.journal import Entry
    from crawlers.publish.operations import State, Step

logger = logging.getLogger(__name__)

PREFIX = "publish-to-"
"""What the source of a portal that is published to begins with; its host follows."""
_OUTCOMES = {"package_create": "new", "datastore_create": "new", "package_retire": "withdrawn"}
"""What a run report calls a step of an operation that is done; all others are "updated"."""
_STATES: dict[State, str] = {"unchanged": "unchanged", "left_out": "unchanged", "restored": "restored"}


def _day(text: str) -> str:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise ValueError("a day such as 2026-11-22") from None
    if day > datetime.now(UTC).date():
        raise ValueError("a day that has come")
    return day.isoformat()


def _percent(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,3}", text) or int(text) > 100:
        raise ValueError("a whole number from 0 to 100")
    return int(text)


class PublishSpider(CatalogueSpider):
    """One publish, or the way back from one; what an interrupted publish has left is finished or undone first.

    The plan is sent as the signal ``plan_ready``; without an approval nothing is written.
    """

    name = "publish"
    address = "to"
    has_time_series = False
    arguments: ClassVar[dict[str, Argument]] = {
        "what": Argument(help="What is published.", parse=arguments.choice(*TARGETS)),
        "of": Argument(help="The source that it is taken from: the name of its folder.", parse=source_name),
        "to": Argument(help="The CKAN portal.", parse=arguments.portal),
        "dataset": Argument(help="The portal's dataset that has the time series.", parse=arguments.text),
        "resource": Argument(help="The name of its resource.", parse=arguments.text),
        "since": Argument(help="The first day of the time series that is published.", parse=_day),
        "organization": Argument(help="The organisation that owns the packages of datasets.", parse=arguments.text),
        "fields": Argument(help="Fields of the portal's schema by facts of datasets, as JSON.", parse=arguments.text),
        "harvest_source": Argument(help="The portal's harvest source that lists the packages.", parse=arguments.text),
        "max_deleted": Argument(help="The part of a source's packages that may be deleted, in %.", parse=_percent),
        "rollback": Argument(help="Undo this run instead."),
        "dry_run": Argument(help="yes: only make the plan.", parse=arguments.choice("yes", "no"), default="no"),
    }
    custom_settings: dict[str, Any] | None = {  # noqa: RUF012  # as Scrapy declares it
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,  # one step after the other
        "HTTPCACHE_ENABLED": False,  # a record is read as it is now
        "ITEM_PIPELINES": {},  # its documents are the portal's
    }

    def __init__(self, **given: str) -> None:
        super().__init__(**given)
        self.portal: str = self.args["to"]
        self.allowed_domains = [urlsplit(self.portal).hostname]
        self.is_dry_run = self.args["dry_run"] == "yes"
        self.write_addresses = [] if self.is_dry_run else write_addresses(self.portal)
        self.published: Entry | None = None
        self.counts: dict[State, int] = {}

    @property
    def source(self) -> str:
        """The portal's: publish-to-ecosystem.ckan.org."""
        return f"{PREFIX}{host_name(self.portal)}"

    @property
    def reported(self) -> dict[str, Any]:
        if self.published is None:
            return {}
        entry = self.published
        about = {"run": entry.run, "title": entry.title, "phase": entry.phase, "as_wanted": entry.unchanged}
        return {"published": about | {"records": self.counts}}

    async def start(self) -> AsyncIterator[Any]:
        """Publish.

        Raises:
            CloseSpider: something is missing, and an error line says what.
        """
        try:
            with ExitStack() as stack:
                await self._publish(stack.enter_context(Journal(self._folder(stack) / NAME)))
        except CloseSpider:
            if is_stopping(self.crawler):
                return
            raise
        except AnswerError as error:
            raise self._stopped("fetch", error, "portal") from None
        except CrawlersError as error:
            raise self._stopped("write", AnswerError("disk", str(error)), "disk") from None
        return
        yield  # Scrapy wants a generator; the steps are no requests of a queue

    def _folder(self, stack: ExitStack) -> Path:
        """Return where the journal is; a dry run has its own, unless it looks at an old publish."""
        if self.is_dry_run and not self.args["rollback"]:
            return Path(stack.enter_context(TemporaryDirectory(prefix="publish-")))
        return Path(self.crawler.settings["OUTPUT_DIR"]) / self.source

    async def _publish(self, journal: Journal) -> None:
        undone = self.args["rollback"]
        interrupted = journal.interrupted(self.portal)
        if interrupted and interrupted.run != undone and not self.is_dry_run:
            logger.warning("The publish %s was interrupted; it is finished or undone first.", interrupted.run)
            steps = Steps(journal, interrupted.run)
            is_rollback = interrupted.phase == "undoing" or steps.has("failed", "conflict")
            await self._carry_out(steps, is_rollback=is_rollback)
        steps = Steps(journal, undone) if undone else await self._plan(journal)
        if await self._is_approved(steps):
            await self._carry_out(steps, is_rollback=bool(undone))

    async def _plan(self, journal: Journal) -> Steps:
        state, days = self.records.job.state, self.crawler.settings.getint("RUNS_KEPT_DAYS")
        if days:
            journal.forget(before=moment.written(datetime.now(UTC) - timedelta(days=days)))
        chosen = target(Path(self.crawler.settings["OUTPUT_DIR"]), self.args)
        run = journal.begin(state.get("run") or moment.name(), self.portal, chosen.title)
        steps = Steps(journal, run)
        async for changes in chosen.changes(Portal(self.crawler, self.portal)):
            steps.add(changes)
        return steps

    async def _is_approved(self, steps: Steps) -> bool:
        is_rollback = bool(self.args["rollback"])
        self._note(steps)
        states = steps.to_restore() if is_rollback else ("planned",)
        has_work = steps.has(*states)
        plan = Plan(steps.entry, steps, is_rollback=is_rollback, has_work=has_work)
        answers = await self.crawler.signals.send_catch_log_async(signal=signals.plan_ready, plan=plan)
        for _, answer in answers:
            if isinstance(answer, Failure):
                answer.raiseException()
        is_approved = any(answer is True for _, answer in answers)
        self.run_state.expected = self.run_state.listed
        self.run_state.is_limited = has_work and not is_approved
        return is_approved or not (has_work or self.is_dry_run)

    async def _carry_out(self, steps: Steps, *, is_rollback: bool) -> None:
        self._note(steps)
        for step in steps.forward(*(steps.to_restore() if is_rollback else ("planned", "sent"))):
            self.expect(step.change.operation, step.change.subject, listed_by=steps.run)
        self.run_state.expected = self.records.expected
        portal, tries = Portal(self.crawler, self.portal), self.crawler.settings.getint("RETRY_TIMES") + 1
        publication = Publication(
            portal=portal, steps=steps, tries=tries, settled=self._settled, failed=self._step_failed
        )
        is_done = True
        try:
            if is_rollback:
                await publication.restore()
            else:
                is_done = await publication.publish()
        finally:
            self._note(steps)
        if not is_done:
            raise CloseSpider("rolled_back")

    def _note(self, steps: Steps) -> None:
        self.published, self.counts = steps.entry, steps.counts()

    def _settled(self, step: Step) -> None:
        operation = step.change.operation
        outcome = _STATES.get(step.state) or _OUTCOMES.get(operation, "updated")
        with remembering(self):
            self.records.settle((operation, step.change.subject, None), outcome)
        self._count()

    def _stopped(self, stage: signals.Stage, error: AnswerError, reason: str) -> CloseSpider:
        logger.error("%s", error)
        self.failed(stage, error)
        return CloseSpider(reason)

    def _step_failed(self, step: Step, error: AnswerError) -> None:
        logger.error("%s (%s): %s", step.change.title, step.change.subject, error)
        about = {"dataset_id": step.change.subject, "dataset_title": step.change.title}
        self.failed("write", error, None, missing=step.change.operation, **about)
        self._count()

    def _count(self) -> None:
        """Count a step that is over; one that is restored after it was done counts once."""
        self.run_state.count_listed(min(self.run_state.listed + 1, self.run_state.expected or 0))
