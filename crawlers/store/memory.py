"""memory.json in a source's folder: what a run must know of earlier ones. Without it a run only knows less."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from crawlers.safety import inside, strict_json

if TYPE_CHECKING:
    from pathlib import Path

FILE = "memory.json"
_LARGEST = 64 * 1024 * 1024  # bytes
_SCRATCH = ".remembering"


def recall(folder: Path, name: str) -> Any:
    """Return what a source's runs have remembered under a name; ``None`` if that is nothing, or can't be read.

    Args:
        folder: the source's.
    """
    return _all(folder).get(name)


def remember(folder: Path, name: str, value: Any) -> None:
    """Remember a JSON value under a name, instead of what was there; ``None`` forgets it. The folder is locked.

    Raises:
        OSError: the file can't be written.
    """
    known = _all(folder)
    before = known.pop(name, None)
    if value != before:
        new = known | ({} if value is None else {name: value})
        inside.write(folder, FILE, strict_json.dumps(dict(sorted(new.items()))), _SCRATCH)


def _all(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads(inside.read(folder, FILE, _LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
