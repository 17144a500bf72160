"""A source whose datasets link files, and the archive of it: what both crawls leave."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from subprocess import PIPE
from typing import TYPE_CHECKING, Any

from tests import forked
from tests.conftest import ROOT, Crawl, json_lines, options, scrapy
from tests.portal.files import Reply

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from tests.portal.files import Asked, Files

SOURCE = "towns"


class Archives:
    """Crawls a catalogue of links, and archives its files.

    Args:
        folder: an empty one.
        files: the hosts; the first has the catalogue, too.
    """

    def __init__(self, folder: Path, files: Files) -> None:
        self.output, self.store = folder / "output", folder / "archive"
        self.folder = self.output / f"archive-of-{SOURCE}"
        self.files = files
        self.settings = {"ARCHIVE_STORE": str(self.store), "FORMS_FILE": str(folder / "forms.toml")}
        self.settings["JOBS_DIR"] = str(folder / "jobs")
        self.settings["ALLOWED_PRIVATE_HOSTS"] = ",".join(f"127.0.0.{number}" for number in range(1, 9))

    def list(self, links: Mapping[str, str] | Iterable[str], **more: Any) -> None:
        """Crawl a catalogue with a dataset for each link: ``{"https://...": "CSV"}``, or paths of the first host.

        Args:
            more: fields of each dataset.
        """
        formats = links if isinstance(links, dict) else dict.fromkeys(links, "CSV")
        datasets = [
            {"identifier": f"d{number}", "title": f"Dataset {number}", **more, "distribution": [self._link(url, text)]}
            for number, (url, text) in enumerate(formats.items())
        ]
        body = json.dumps({"conformsTo": "https://project-open-data.cio.gov/v1.1/schema", "dataset": datasets}).encode()
        self.files.answers["/data.json"] = lambda _: Reply(body, headers=[("Content-Type", "application/json")])
        words = options(self.output, self.settings, url=self.files.url("/data.json"), source=SOURCE)
        ran = scrapy("crawl", "dcat", *words, "-s", "SHRINK_LIMIT=1")
        assert ran.returncode == 0, ran.stderr
        self.files.reset()

    def _link(self, url: str, text: str) -> dict[str, str]:
        return {"title": url, "downloadURL": self.files.url(url) if url.startswith("/") else url, "format": text}

    def words(self, settings: Mapping[str, str], **arguments: str) -> list[str]:
        """Return the options of a crawl of the archive."""
        return options(self.output, self.settings | dict(settings), of=SOURCE, **arguments)

    def crawl(self, settings: Mapping[str, str] | None = None, **arguments: str) -> Crawl:
        """Archive the files."""
        ran = scrapy("crawl", "archive", *self.words(settings or {}, **arguments))
        return Crawl(ran.returncode, ran.stderr, self.folder)

    def start(self, settings: Mapping[str, str]) -> subprocess.Popen[str]:
        """Start a crawl of the archive, to be killed."""
        command = [sys.executable, "-W", "error", "-m", "scrapy", "crawl", "archive", *self.words(settings)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return forked.Popen(command, cwd=ROOT, env=environment, stdout=PIPE, stderr=PIPE, text=True)

    @property
    def captures(self) -> list[dict[str, Any]]:
        """All lines of captures.jsonl."""
        return json_lines(self.folder / "captures.jsonl")

    def last(self) -> dict[str, dict[str, Any]]:
        """Return the last capture of each file, by its address without the first host."""
        return {line["url"].removeprefix(self.files.sites[0]): line for line in self.captures}

    def blobs(self) -> dict[str, bytes]:
        """Return what is stored, by SHA-256."""
        return {path.name: path.read_bytes() for path in self.store.glob("sha256/*/*")}

    def asked(self, path: str = "") -> list[Asked]:
        """Return the requests for files, without those for robots.txt."""
        return [asked for asked in self.files.requests(path) if asked.path != "/robots.txt"]
