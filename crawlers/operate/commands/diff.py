"""``scrapy diff``: what two versions of a dataset differ in."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from crawlers.exceptions import OutputError
from crawlers.operate.strict_command import ProjectCommand

if TYPE_CHECKING:
    import argparse
    from datetime import datetime

    from crawlers.operate.versions import DatasetHistory
    from crawlers.store.history import Version


class Command(ProjectCommand):
    sources = slice(1)
    takes = "SOURCE DATASET [--from TIME] [--to TIME] [--json]"
    summary = "Show what two versions of a dataset differ in, field by field"
    description = (
        "DATASET is an id, a name, or what one of them begins with. By default the last two versions are compared. "
        "Exit code: 0 shown, also if nothing differs; 1 no such source, dataset or version, or bytes are not kept."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--from", dest="since", metavar="TIME", help="from the version then: 2026-11-20 (its beginning)"
        )
        parser.add_argument("--to", metavar="TIME", help="to the version then: 2026-11-20 (its end), 2026-11-20T10:00Z")
        parser.add_argument("--json", action="store_true", help="a JSON Patch (RFC 6902) of the record")

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawlers.operate.versions import compared, difference_lines, opened
        from crawlers.records.moment import end
        from crawlers.safety import strict_json

        with opened(self, args) as history:
            until = self.moment("--to", opts.to, args[0], end)
            since = self.moment("--from", opts.since, args[0])
            if since and until and since > until:
                raise OutputError(
                    f"--from {opts.since} is after --to {opts.to}: what is compared is older than what it became."
                )
            after = history.need(until, "--to")
            before = _before(history, since, after)
            found = compared(history, before, after)
        if opts.json:
            sys.stdout.buffer.write(strict_json.dumps(found.patch()))
            sys.stdout.buffer.flush()
            return
        for line in difference_lines(found, before, after):
            print(line)


def _before(history: DatasetHistory, since: datetime | None, after: Version) -> Version | None:
    """Return the version that another one is compared with; ``None`` if the dataset had none then.

    Raises:
        OutputError: none was written before it.
    """
    if since:
        return history.at(since)
    before = history.before(after)
    if before is None:
        raise OutputError(f"{history.name} has no other version before {after.time}: there is nothing to compare.")
    return before
