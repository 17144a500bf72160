"""A source's folder as crawls leave it, without crawls; and mirrors of a store in memory."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from obstore.store import MemoryStore, ObjectStore

from crawlers.store.bucket.mirror import Mirror
from crawlers.store.bucket.objects import Objects

ADDRESS = "s3://bucket/prefix"
IGNORED = (".lock", ".mirror")


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
        line = {"kind": "dataset", "dataset_id": identifier, "resource_id": None, "metadata_file": file}
        line |= {
            "sha256": hashlib.sha256(body).hexdigest(),
            "bytes": len(body),
            "run": run,
            "time": run,
            "status": "new",
        }
        line |= {"metadata_modified": None, "metadata_source": "package_search", "metadata_url": None}
        self.append("manifest.jsonl", line)

    def append(self, file: str, line: dict[str, Any]) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / file).open("ab") as lines:
            lines.write(json.dumps(line).encode() + b"\n")

    def report(self, run: str, **fields: Any) -> None:
        path = self.path / "runs" / f"{run}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"run": run, **fields}))


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder, without what mirrors and locks are."""
    paths = (path for path in folder.rglob("*") if path.is_file() and not set(path.parts) & set(IGNORED))
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths if "index.sqlite" not in path.name}


def mirror(folder: Path, store: ObjectStore | None = None, **options: Any) -> Mirror:
    """Return a mirror of a store."""
    made = Mirror(Objects(store or MemoryStore(), ADDRESS), folder, **options)
    made.check(creates=True)
    return made
