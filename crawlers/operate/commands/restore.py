"""``scrapy restore``: puts a backup back, after all of it was checked."""

from __future__ import annotations

import argparse
from pathlib import Path

from scrapy.exceptions import UsageError

from crawlers.exceptions import BackupError
from crawlers.operate.strict_command import ProjectCommand


class Command(ProjectCommand):
    reads_output = False
    interrupted = "Stopped: run the same command to continue."

    takes = "FOLDER"
    summary = "Put back what a backup has, where nothing is yet"
    description = (
        "Compare every file of a backup with its SHA-256; then copy all to OUTPUT_DIR, JOBS_DIR, sources.toml and what "
        "is beside it, which must be empty or missing. Exit code: 0 restored, 1 not restored."
    )

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawlers.operate.backup import Places, rebind, restore
        from crawlers.store.figures.formatting import counted, size

        if len(args) != 1:
            raise UsageError("name the folder of a backup.", print_help=False)
        if self.settings["OUTPUT_STORE"]:
            raise BackupError(
                "OUTPUT_DIR is a store: restore into a folder with -s OUTPUT_DIR=FOLDER, then scrapy push it."
            )
        places = Places.of(self.settings)
        about, count, volume = restore(Path(args[0]), places)
        self.catch_up()
        rebind(about, places)
        print(f"Restored {counted(count, 'file')}, {size(volume)}, from the backup of {about.get('began')}.")
        if left := about.get("archive_bytes_left_out"):
            print(f"The archive's files, {size(left)}, are not in the backup.")
        print(
            "Set the secrets in the environment again. scrapy verify compares the documents; scrapy harvest continues."
        )
