"""``scrapy publish``: the plan as people read it, their approval, and the run."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawlers import signals
from crawlers.arguments import portal
from crawlers.exceptions import PublishError, SourcesError
from crawlers.extensions.progress import Progress
from crawlers.listing.spider import host_name
from crawlers.operate.console import ignoring_output_errors
from crawlers.operate.sources.file import SourcesFile
from crawlers.publish.datasets import check_options
from crawlers.publish.journal import NAME, Entry, Journal, Steps
from crawlers.publish.record import is_nothing
from crawlers.publish.spider import PREFIX
from crawlers.publish.targets import TARGETS
from crawlers.safety.redact import safe_line
from crawlers.safety.tokens import token
from crawlers.store.figures.formatting import counted

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from crawlers.operate.strict_command import StrictCommand
    from crawlers.publish.operations import Change, Step
    from crawlers.publish.publication import Plan


_LONGEST_ANSWER = 1024  # bytes of an answer


class Publishing:
    """One call of the command."""

    def __init__(self, command: StrictCommand, opts: argparse.Namespace) -> None:
        self.command = command
        self.settings: Any = command.settings
        self.opts = opts
        self.output = Path(self.settings["OUTPUT_DIR"])

    def arguments(self, args: list[str]) -> dict[str, str]:
        """Return the spider's arguments."""
        found = self._rollback(args) if self.opts.rollback else self._target(args)
        check_approval(self.settings, self.opts)
        return found | {"dry_run": "yes" if self.opts.dry_run else "no"}

    def _target(self, args: list[str]) -> dict[str, str]:
        verb, source = self.command.verb(args, self.opts)
        if not self.opts.to:
            raise PublishError("--to is missing: the portal's address, such as https://ecosystem.ckan.org.")
        what, given = args[0], vars(self.opts)
        options = {name: given[name] for name in verb.options if given.get(name) is not None}
        of = TARGETS[what].source_of(self.output, source[0] if source else None)
        if what == "datasets":
            options = self._declared(of) | options
            check_options(of, options)
        return {"what": what, "of": of, "to": self.to, **options}

    def _declared(self, source: str) -> dict[str, str]:
        """Return what sources.toml says of a source's packages."""
        path = Path(self.settings["SOURCES_FILE"])
        if not path.exists():
            return {}
        sources, mistakes = SourcesFile(path).read()
        if source in mistakes:
            raise SourcesError(mistakes[source])
        return sources[source].publish if source in sources else {}

    @property
    def to(self) -> str:
        """The portal's root."""
        try:
            return portal(self.opts.to)
        except ValueError as error:
            raise PublishError(f"--to {safe_line(self.opts.to)} is not {error}.") from None

    def _rollback(self, args: list[str]) -> dict[str, str]:
        if args:
            raise PublishError("--rollback takes the name of a run, and nothing else is published with it.")
        found = [entry for path in sorted(self.output.glob(f"{PREFIX}*/{NAME}")) if (entry := self._entry(path))]
        if not found:
            raise PublishError(f"{self.output} has no publish {self.opts.rollback}: the run reports have their names.")
        if len(found) > 1:
            raise PublishError(f"Several portals have a publish {self.opts.rollback}: name one with --to.")
        return {"to": found[0].portal, "rollback": found[0].run}

    def _entry(self, path: Path) -> Entry | None:
        """Return the publish that is to be undone; ``None`` if it is not in this journal, or of another portal."""
        with Journal(path) as journal:
            found = journal.entry(self.opts.rollback)
            if not found or found.phase == "planned" or path.parent.name != f"{PREFIX}{host_name(found.portal)}":
                return None
            if self.opts.to and found.portal != self.to:
                return None
            if found.phase == "undone" and not Steps(journal, found.run).has("conflict"):
                raise PublishError(f"The publish {found.run} was undone already, at {found.finished}.")
        return found

    def connect(self, crawler: Crawler) -> None:
        """Show the plan, and ask, when the crawl has one."""
        crawler.signals.connect(self.is_approved, signal=signals.plan_ready)
        self.crawler = crawler

    async def is_approved(self, plan: Plan) -> bool:
        """Show a plan; return whether it is to be carried out."""
        progress = self.crawler.get_extension(Progress)
        with progress.hidden() if progress else nullcontext():
            with ignoring_output_errors():
                for line in lines(plan, is_full=self.opts.full):
                    print(line)
            if self.opts.dry_run or not plan.has_work:
                return False
            return self.opts.yes or await _asked(f"Write this to {plan.entry.portal}? [y/N] ")


def check_approval(settings: BaseSettings, opts: argparse.Namespace) -> None:
    """Check that a publish can be approved, and carried out then.

    Raises:
        PublishError: a terminal to ask on, or the token, is missing.
    """
    if opts.dry_run:
        return
    if not opts.yes and not _is_interactive():
        raise PublishError("There is no terminal to ask on: add --yes to publish, or --dry-run to see the plan.")
    if not token(settings, "PUBLISH_TOKEN_ENV"):
        name = settings["PUBLISH_TOKEN_ENV"]
        raise PublishError(f"The environment has no {name}: set it to an API token of the portal that may write.")


def _is_interactive() -> bool:
    return bool(sys.stdin and sys.stdin.isatty() and sys.stdout.isatty())


async def _asked(question: str) -> bool:
    """Ask a question on the terminal; return whether the answer is yes. The crawl goes on meanwhile."""
    print(question, end="", flush=True)
    loop, answer = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()
    descriptor = sys.stdin.fileno()

    def read() -> None:
        loop.remove_reader(descriptor)
        if not answer.done():
            answer.set_result(os.read(descriptor, _LONGEST_ANSWER))

    loop.add_reader(descriptor, read)
    try:
        found: bytes = await answer
    finally:
        loop.remove_reader(descriptor)
    return found.strip().lower() in (b"y", b"yes")


RECORDS = 20
"""Records that are shown with their fields."""
_FIELDS = 12  # of a record
_LEFT_OUT = 10
_NAMES = 12  # of fields, in the last line
_LONGEST_VALUE = 60  # characters of a value


def lines(plan: Plan, *, is_full: bool = False) -> Iterator[str]:
    """Yield the lines of a plan."""
    what = f"the way back from {plan.entry.run}: {plan.entry.title}" if plan.is_rollback else plan.entry.title
    yield f"{what} -> {plan.entry.portal}"
    changes: Counter[str] = Counter()
    records = 0
    for records, step in enumerate(_steps(plan), 1):
        _count(changes, step.change)
        if is_full or records <= RECORDS:
            yield ""
            yield from _record(records, step, plan, is_full=is_full)
    if records > RECORDS and not is_full:
        yield ""
        yield f"... and {counted(records - RECORDS, 'more record')}: --full shows them"
    yield ""
    if not plan.is_rollback:
        yield from _left_out(plan, is_full=is_full)
    yield _total(plan, records, changes)


def _steps(plan: Plan) -> Iterator[Step]:
    return plan.steps.back(*plan.steps.to_restore()) if plan.is_rollback else plan.steps.forward("planned")


def _record(number: int, step: Step, plan: Plan, *, is_full: bool) -> Iterator[str]:
    change = step.change
    yield f"{number}. {safe_line(change.title, 100)} ({safe_line(change.subject, 100)})"
    shown = change.fields if is_full else change.fields[:_FIELDS]
    width = max((len(safe_line(field.name)) for field in shown), default=0)
    for field in shown:
        values = (field.after, field.before) if plan.is_rollback else (field.before, field.after)
        yield f"     {safe_line(field.name):<{width}}  {_difference(*values)}"
    if len(shown) < len(change.fields):
        yield f"     ... and {counted(len(change.fields) - len(shown), 'more field')}"


def _difference(before: Any, after: Any) -> str:
    r"""Return what changes; of two lists, what comes and what goes.

    >>> _difference(101, 205), _difference(None, "x\x1b[2J"), _difference(["a", "b"], ["b", "c"])
    ('101 -> 205', 'nothing -> x[2J', '2 -> 2 values: +c, -a')
    """
    if isinstance(before, list) and isinstance(after, list):
        old, new = [_text(one) for one in before], [_text(one) for one in after]
        moved = [f"+{one}" for one in new if one not in old] + [f"-{one}" for one in old if one not in new]
        more = f", ... {len(moved) - _FIELDS} more" if len(moved) > _FIELDS else ""
        return f"{len(old)} -> {len(new)} values: {', '.join(moved[:_FIELDS])}{more}"
    return f"{_text(before)} -> {_text(after)}"


def _text(value: Any) -> str:
    """
    >>> _text("a" * 100)[-23:], _text(True), _text([]), _text(["dcat", 2])
    ('aaaaa… (100 characters)', 'true', 'nothing', 'dcat, 2')
    """
    if is_nothing(value):
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    more = f" ({len(text):,} characters)" if len(text) > _LONGEST_VALUE else ""
    return safe_line(text, _LONGEST_VALUE) + more


def _left_out(plan: Plan, *, is_full: bool) -> Iterator[str]:
    found = 0
    for found, step in enumerate(plan.steps.forward("left_out"), 1):
        if is_full or found <= _LEFT_OUT:
            yield f"Left out: {safe_line(step.change.title, 100)} ({safe_line(step.change.subject, 100)}): {step.error}"
    if found > _LEFT_OUT and not is_full:
        yield f"... and {found - _LEFT_OUT} more are left out"
    if found:
        yield ""


def _count(changes: Counter[str], change: Change) -> None:
    for field in change.fields:
        name = field.total or field.name
        if name in changes or len(changes) <= _NAMES:
            changes[name] += 1
        else:
            changes[""] += 1


def _total(plan: Plan, records: int, changes: Counter[str]) -> str:
    if not records:
        rest = "" if plan.is_rollback else f": {counted(plan.entry.unchanged, 'record')} as wanted"
        return f"Nothing to do{rest}."
    verb = "restored" if plan.is_rollback else "changed"
    named = changes if len(changes) <= _NAMES else {}
    fields = ", ".join(f"{safe_line(name)} {count}" for name, count in sorted(named.items(), key=lambda item: -item[1]))
    count = counted(sum(changes.values()), "field")
    rest = "" if plan.is_rollback else f" {plan.entry.unchanged:,} more as wanted."
    return f"{counted(records, 'record')} to be {verb}, {count}{f' ({fields})' if fields else ''}.{rest}"
