"""``scrapy reindex``: makes index.sqlite anew from the manifests and run reports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.commands import ScrapyCommand

from crawlers.index import Index

if TYPE_CHECKING:
    import argparse


class Command(ScrapyCommand):
    requires_project = True
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def short_desc(self) -> str:
        return "Make index.sqlite anew from the manifests"

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        output = Path(self.settings["OUTPUT_DIR"])  # type: ignore[index]
        for suffix in ("", "-wal", "-shm"):
            (output / f"index.sqlite{suffix}").unlink(missing_ok=True)
        sources = sorted(path.parent.name for path in output.glob("*/manifest.jsonl"))
        for source in sources:
            index = Index(output, source)
            index.read_reports()
            print(f"{source}: {sum(1 for _ in index.datasets())} datasets")
            index.close()
        if not sources:
            print(f"{output} holds no source: there is nothing to index")
