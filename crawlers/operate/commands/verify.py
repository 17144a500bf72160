"""``scrapy verify``: compares the documents on disk with the manifests; nothing is changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.exceptions import OutputError, hint
from crawlers.operate.strict_command import ProjectCommand

if TYPE_CHECKING:
    import argparse


class Command(ProjectCommand):
    """Exit code: 0 all is as the manifests say, 1 no such source, 3 something differs."""

    def syntax(self) -> str:
        return "[SOURCE ...]"

    def short_desc(self) -> str:
        return "Compare the documents on disk with the manifests"

    def long_desc(self) -> str:
        return (
            "Print documents that are damaged or missing, and files that no line of a manifest names. Nothing is "
            "changed. Exit code: 0 all is as the manifests say, 1 no such source, 3 something differs."
        )

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawlers.operate.verification import verify
        from crawlers.store.index.index import sources_in

        output = self.path("OUTPUT_DIR")
        if not output.is_dir():
            raise OutputError(f"{output} is no folder: name another with -s OUTPUT_DIR=.")
        known = sources_in(output)
        self.tell_replaced(args)
        for name in args:
            if name not in known:
                there = ", ".join(known) or "none"
                raise OutputError(f"{output} has no source {name!r}.{hint(name, known)} There are: {there}.")
        interval = self.settings.getfloat("LOGSTATS_INTERVAL")  # type: ignore[union-attr]
        self.exitcode = verify(output, list(dict.fromkeys(args)) or known, interval)
        if not known:
            print(f"{output} holds no source: there is nothing to verify")
