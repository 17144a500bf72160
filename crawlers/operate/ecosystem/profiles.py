"""The profiles of a source on disk, one after the other."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlers.operate.console import print_error
from crawlers.safety import inside, strict_json
from crawlers.store.index import catch_up
from crawlers.store.index.database import connect, readable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from crawlers.items import Kind

_PROFILES = """
SELECT file, last_seen FROM documents WHERE source = ? AND kind = ? AND status != 'withdrawn' ORDER BY dataset_id
"""


class Stored(NamedTuple):
    """A profile on disk.

    Args:
        file: relative to the source's folder.
        seen: when it was last looked at, as ISO 8601.
    """

    file: str
    seen: str
    document: dict[str, Any]


def profiles(output: Path, source: str, kind: Kind) -> Iterator[Stored]:
    """Yield the profiles of a source, without withdrawn ones; one that can't be read is reported and left out."""
    catch_up(output, print_error, [source])
    if not (output / "index.sqlite").exists():
        return
    with readable(output), closing(connect(output)) as db:
        for file, seen in db.execute(_PROFILES, (source, kind)):
            if document := read(output / source, file):
                yield Stored(file, seen, document)


def read(folder: Path, file: str) -> dict[str, Any]:
    """Return a profile's document; an empty one, and a sentence on standard error, if it can't be read."""
    try:
        found = strict_json.loads(inside.read(folder, file))
    except (OSError, ValueError) as error:
        print_error(f"{folder / file} is left out: {error}")
        return {}
    return found if isinstance(found, dict) else {}
