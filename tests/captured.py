"""Archives of made-up looks at files: captures.jsonl in a source's folder, and its rows in the index."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from crawlers.items import Capture
from crawlers.store.index import captures

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

RUN, TIME = "20261120T030000Z", "2026-11-20T03:00:05.250Z"


def look(of: str, dataset_id: str, resource_id: str, url: str, **more: Any) -> Capture:
    """Return a look at a file, which is held unless more is said; of another run by `run` and `time`."""
    kept = {"state": "kept", "status": 0, "http_status": 200, "size": 4, "sha256": sha256(url), "kept_at": TIME}
    kept |= {"name": "file", "extension": "csv", "last_success": TIME, "run": RUN, "time": TIME}
    return Capture(source=f"archive-of-{of}", dataset_id=dataset_id, resource_id=resource_id, url=url, **(kept | more))


def broken(of: str, dataset_id: str, resource_id: str, url: str, **more: Any) -> Capture:
    """Return a look at a file that is not there and never was."""
    gone = {"state": "broken", "status": 11, "error": "broken_link", "reason": "The server answered 404 Not Found."}
    gone |= {"is_broken": True, "http_status": 404, "size": None, "sha256": None, "kept_at": None}
    gone |= {"last_success": None, "first_failure": TIME, "failure_count": 1}
    return look(of, dataset_id, resource_id, url, **(gone | more))


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def written(output: Path, of: str, looks: Iterable[Capture]) -> Path:
    """Append the lines of captures to the archive of a source, as a crawl does; return its folder."""
    folder = output / f"archive-of-{of}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.jsonl").touch()
    with (folder / captures.FILE).open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(captures.line(one)) + "\n" for one in looks)
    return folder


def archived(output: Path, of: str, looks: Iterable[Capture]) -> Path:
    """Do the same, and read it into an index that has no folders: `tests.indexed`."""
    folder = written(output, of, looks)
    with closing(sqlite3.connect(output / "index.sqlite", isolation_level=None)) as db:
        columns = "source, manifest_bytes, manifest_tail, described"
        db.execute(f"INSERT OR REPLACE INTO sources ({columns}) VALUES (?, 0, x'', 1)", (folder.name,))
        captures.catch_up(db, folder)
    return folder
