"""``scrapy history``: the versions of a dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.operate.strict_command import ProjectCommand

if TYPE_CHECKING:
    import argparse


class Command(ProjectCommand):
    """Exit code: 0 shown, 1 no such source or dataset."""

    sources = slice(1)
    takes = "SOURCE DATASET"
    summary = "List the versions of a dataset, and of its exports"
    description = (
        "DATASET is an id, a name, or what one of them begins with. Each version has its time, run, status, size and "
        "the fields that it changed. Exit code: 0 shown, 1 no such source or dataset."
    )

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawlers.operate.versions import history_lines, opened

        with opened(self, args) as history:
            for line in history_lines(history):
                print(line)
