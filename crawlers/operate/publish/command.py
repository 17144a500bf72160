"""What `scrapy publish` does: checks what was asked, shows the plan, asks, and runs."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from crawlers import signals
from crawlers.arguments import portal
from crawlers.exceptions import PublishError, SourcesError, hint
from crawlers.extensions.progress import Progress
from crawlers.listing.spider import host_name
from crawlers.operate.console import ignoring_output_errors
from crawlers.operate.publish import plan as written
from crawlers.operate.sources.file import read
from crawlers.publish.datasets import check_options
from crawlers.publish.journal import NAME, Journal, Steps
from crawlers.publish.spider import PREFIX
from crawlers.publish.targets import TARGETS
from crawlers.safety.redact import safe_line
from crawlers.safety.tokens import token

if TYPE_CHECKING:
    import argparse

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from crawlers.publish.journal import Entry
    from crawlers.publish.publication import Plan

OPTIONS = ("dataset", "resource", "since", "organization", "max_deleted")
"""Those that not every target takes."""
_LONGEST = 1024  # bytes of an answer


class Publishing:
    """One call of the command.

    Args:
        opts: its options.
    """

    def __init__(self, settings: BaseSettings, opts: argparse.Namespace) -> None:
        self.settings = settings
        self.opts = opts
        self.output = Path(settings["OUTPUT_DIR"])

    def arguments(self, args: list[str]) -> dict[str, str]:
        """Return the spider's arguments.

        Raises:
            PublishError: something is missing, or can't be published.
        """
        found = self._rollback(args) if self.opts.rollback else self._target(args)
        check_approval(self.settings, self.opts)
        return found | {"dry_run": "yes" if self.opts.dry_run else "no"}

    def _target(self, args: list[str]) -> dict[str, str]:
        what, *source = args or [""]
        if what not in TARGETS or len(source) > 1:
            meant = hint(what, TARGETS) if what not in TARGETS else ""
            takes = f"scrapy publish takes: {'|'.join(TARGETS)} [SOURCE] --to URL, or --rollback RUN."
            raise PublishError(f"{takes}{meant}")
        if not self.opts.to:
            raise PublishError("--to is missing: the portal's address, such as https://ecosystem.ckan.org.")
        options = {name: value for name in OPTIONS if (value := getattr(self.opts, name)) is not None}
        other = next((name for name in options if name not in TARGETS[what].options), None)
        if other:
            raise PublishError(f"scrapy publish {what} takes no --{other.replace('_', '-')}.")
        of = TARGETS[what].source_of(self.output, source[0] if source else None)
        if what == "datasets":
            options = self._declared(of) | options
            check_options(of, options)
        return {"what": what, "of": of, "to": self.to, **options}

    def _declared(self, source: str) -> dict[str, str]:
        """Return what sources.toml says of a source's packages.

        Raises:
            SourcesError: the file is not readable, or the table is invalid.
        """
        path = Path(self.settings["SOURCES_FILE"])
        if not path.exists():
            return {}
        sources, mistakes = read(path)
        if source in mistakes:
            raise SourcesError(mistakes[source])
        return sources[source].publish if source in sources else {}

    @property
    def to(self) -> str:
        """The portal's root.

        Raises:
            PublishError: it is not an address.
        """
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
        """Return the publish that is to be undone; ``None`` if it is not in this journal, or of another portal.

        Raises:
            PublishError: it was undone already, all of it.
        """
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
                for line in written.lines(plan, is_full=self.opts.full):
                    print(line)
            if self.opts.dry_run or not plan.has_work:
                return False
            return self.opts.yes or await _asked(f"Write this to {plan.entry.portal}? [y/N] ")


def check_approval(settings: BaseSettings, opts: argparse.Namespace) -> None:
    """Check that a publish can be approved, and carried out then.

    Args:
        opts: has ``yes`` and ``dry_run``.

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
            answer.set_result(os.read(descriptor, _LONGEST))

    loop.add_reader(descriptor, read)
    try:
        found: bytes = await answer
    finally:
        loop.remove_reader(descriptor)
    return found.strip().lower() in (b"y", b"yes")
