"""``scrapy digest``: what changed in the sources and was not told yet, printed or sent."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from crawlers.operate.strict_command import ProjectCommand

if TYPE_CHECKING:
    from crawlers.operate.sources.source import Source


class Command(ProjectCommand):
    sources = slice(None)
    takes = "[SOURCE ...] [--since TIME] [--dry-run]"
    summary = "Send what changed in the sources, or print it"
    description = (
        "Send what changed in the sources that have a digest, or in those that are named, and was not told yet. "
        "`scrapy harvest --due` does so every day, or week. "
        "Exit code: 0 sent or printed, or nothing changed, 1 not sent, or not to all, 3 a source can't be read."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        since = "what changed since a date, or a time with its offset; that does not count as told"
        parser.add_argument("--since", metavar="TIME", help=since)
        parser.add_argument("--dry-run", action="store_true", help="print it, and send nothing")

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawlers.exceptions import SourcesError
        from crawlers.operate.notify.digests import Digests
        from crawlers.operate.strict_command import check_sources
        from crawlers.records.moment import beginning
        from crawlers.store.index.index import sources_in

        listed, output = self._listed(), self.path("OUTPUT_DIR")
        check_sources(args, {**listed, **dict.fromkeys(sources_in(output))}, output, SourcesError)
        self.moment("--since", opts.since)
        since = partial(beginning, opts.since) if opts.since else None
        digests = Digests(self.settings, listed)
        names = [*dict.fromkeys(args)]
        if not digests.groups(names, is_printed=True) and not digests.has_failed:
            raise SourcesError('No source has a digest: set DIGEST to "daily" or "weekly", or name sources.')
        if opts.dry_run:
            texts = [digest.plain() for digest in digests.shown(names, since)]
            print("\n".join(texts) or "Nothing changed that was not told yet.")
        else:
            digests.send(names, since)
            for digest in digests.sent:
                print(f"Sent: {digest.title}, {digest.span}.")
            if not (digests.sent or digests.has_failed):
                print("Nothing changed that was not told yet: nothing is sent.")
        self.is_damaged |= digests.is_damaged
        self.exitcode = int(digests.has_failed)

    def _listed(self) -> dict[str, Source]:
        """Return the sources of sources.toml, if there is one."""
        from crawlers.operate.sources.file import SourcesFile

        file = SourcesFile(self.path("SOURCES_FILE"))
        found, mistakes = file.read() if file.path.exists() else ({}, {})
        for mistake in mistakes.values():
            self.tell_damage(mistake)
        return found
