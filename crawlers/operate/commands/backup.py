"""``scrapy backup``: copies into a folder what can't be crawled again."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path

from scrapy.exceptions import UsageError

from crawlers.operate.console import print_error
from crawlers.operate.strict_command import ProjectCommand

INCOMPLETE = 3


class Command(ProjectCommand):
    takes_empty_store = True
    interrupted = "Stopped: this backup is not finished. Remove it, and make another."

    takes = "FOLDER [--files]"
    summary = "Copy the output, the sources and the jobs into a new folder, also while crawls run"
    description = (
        "Copy OUTPUT_DIR, sources.toml, users.toml, audit.jsonl, catalogues/, spiders/ and the unfinished jobs into a "
        "new folder. Secrets, settings, logs and caches are not copied. Exit code: 0 done, 1 not done, 3 done without "
        "what can't be read or is damaged, which is named."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--files", action="store_true", help="copy the archive's files, too")

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawlers.operate.backup import Backup, Places
        from crawlers.store.figures.formatting import counted, size

        if len(args) != 1:
            raise UsageError("name one new folder.", print_help=False)
        places = Places.of(self.settings)
        backup = Backup(Path(args[0]), places, print_error)
        began = datetime.now(UTC).isoformat(timespec="seconds")
        backup.project()
        for name, files, volume in backup.sources():
            print(f"{name}: {counted(files, 'file')}, {size(volume)}", flush=True)
        archived, volume = backup.archive(self.settings, is_copied=opts.files)
        backup.finish(
            {
                "program": self.settings["VERSION"],
                "began": began,
                "output": str(places.folders["output"].resolve()),
                "archive_bytes": volume if opts.files else 0,
                "archive_bytes_left_out": 0 if opts.files else volume,
            }
        )
        print(f"{backup.folder} has {counted(backup.sums.total()[0], 'file')}, {size(backup.sums.total()[1])}.")
        if archived and not opts.files:
            print(
                f"The archive's {counted(archived, 'file')}, {size(volume)}, are not in it: --files copies them, too."
            )
        for file in backup.elsewhere():
            print(f"{file} is not in it: move it to catalogues/.")
        names = sorted({self.settings[name] for name in self.settings if name.endswith("_ENV")} - {""})
        print(
            f"Secrets are not in it: what the environment has, such as {', '.join(names)}; scrapy.cfg; your settings."
        )
        self.exitcode = INCOMPLETE if backup.left_out else 0
