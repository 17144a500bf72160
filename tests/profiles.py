"""Profiles of portals and extensions on disk, as a crawl leaves them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from crawlers.safety import strict_json

if TYPE_CHECKING:
    from pathlib import Path

_FOLDERS = {"site": "sites", "extension": "extensions"}


def put_profile(output: Path, source: str, kind: str, document: dict[str, Any], run: str = "20261122T030000Z") -> Path:
    """Write a profile and its manifest line.

    Args:
        kind: site or extension.
    """
    body, file = strict_json.dumps(document), f"{_FOLDERS[kind]}/{document['id'].replace('/', '__')}.json"
    path = output / source / file
    path.parent.mkdir(parents=True, exist_ok=True)
    status = "updated" if path.exists() else "new"
    path.write_bytes(body)
    line = {
        "kind": kind,
        "dataset_id": document["id"],
        "resource_id": None,
        "metadata_source": f"ckan_{kind}s",
        "metadata_file": file,
        "metadata_url": document.get("url"),
        "time": f"{run[:4]}-{run[4:6]}-{run[6:8]}T{run[9:11]}:{run[11:13]}:{run[13:15]}.000Z",
        "run": run,
        "status": status,
        "sha256": hashlib.sha256(body).hexdigest(),
        "bytes": len(body),
        "metadata_modified": None,
    }
    with (output / source / "manifest.jsonl").open("ab") as lines:
        lines.write(strict_json.line(line))
    return path
