"""A source's folder as crawls leave it, without crawls; and mirrors of a store in memory."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from crawlers.fleet.store import Mirror, Store
from crawlers.store.contract import FOLDERS

URL = "https://demo.ckan.org/api/3/action/package_search"
IGNORED = (".lock", ".mirror", ".writing", ".heartbeat", "running.json")


class Folder:
    """A source's folder.

    Args:
        path: the folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, identifier: str, text: str = "", *, slug: str = "", run: str = "20261120T030000Z") -> str:
        """Write a document, and its line."""
        file = f"datasets/{identifier}{f'__{slug}' if slug else ''}.json"
        body = json.dumps({"id": identifier, "text": text or identifier}).encode()
        path = self.path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
        self.line(identifier, file, body, run)
        return file

    def line(self, identifier: str, file: str, body: bytes, run: str) -> None:
        line: dict[str, Any] = {"kind": "dataset", "dataset_id": identifier, "resource_id": None, "metadata_file": file}
        line |= {
            "sha256": hashlib.sha256(body).hexdigest(),
            "bytes": len(body),
            "run": run,
            "time": run,
            "status": "new",
        }
        line |= {"metadata_modified": None, "metadata_source": "package_search", "metadata_url": URL}
        self.append("manifest.jsonl", line)

    def append(self, file: str, line: dict[str, Any]) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / file).open("ab") as lines:
            lines.write(json.dumps(line).encode() + b"\n")

    def report(self, run: str, **fields: Any) -> None:
        path = self.path / "runs" / f"{run}.json"
        path.parent.mkdir(exist_ok=True)
        time = f"{run[:4]}-{run[4:6]}-{run[6:8]}T{run[9:11]}:{run[11:13]}:{run[13:15]}.000Z"
        known: dict[str, Any] = {
            "source": self.path.name,
            "spider": "hdx",
            "run": run,
            "arguments": {},
            "started": time,
        }
        known |= {"finished": time, "finish_reason": "finished", "verdict": "complete", "expected": 0, "listed": 0}
        known |= {"counts": {}, "errors": {}, "requests": 0, "retries": 0, "bytes": 0, "resumed": False}
        path.write_text(json.dumps(known | fields))


OWN = ("index.sqlite", "versions.sqlite")
"""Databases that stay on their machine."""


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder that machines share, without what mirrors and locks are."""
    paths = (path for path in folder.rglob("*") if path.is_file() and not set(path.parts) & set(IGNORED))
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths if path.name.split("-")[0] not in OWN}


def mirror(folder: Path, store: Path, **options: Any) -> Mirror:
    """Return a mirror of a store in a folder."""
    made = Mirror(Store.local(store, store.as_uri()), folder, **options)
    made.check(creates=True)
    return made


def documents(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the documents among files."""
    return {name: body for name, body in files.items() if name.split("/")[1] in FOLDERS}


def told(files: dict[str, bytes], file: str = "hdx/manifest.jsonl") -> list[str]:
    """Return the lines of a manifest, without what tells one run from another, in an order."""
    lines = map(json.loads, files[file].splitlines())
    return sorted(json.dumps({**line, "time": "", "run": ""}) for line in lines)
