"""The datasets of all sources in the index: each document on disk is mapped again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.exceptions import DamagedSourceError, ExportError, hint
from crawlers.store.index import Index
from crawlers.store.index.documents import UNREADABLE, item, left_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from crawlers.items import Dataset


def sources(output: Path, named: Sequence[str] = ()) -> list[str]:
    """Return the sources in OUTPUT_DIR, or only those that are named.

    Raises:
        ExportError: OUTPUT_DIR has no source, or none of that name.
    """
    found = sorted(path.parent.name for path in output.glob("[!.]*/manifest.jsonl"))
    if not found:
        raise ExportError(f"{output} holds no source: crawl one first, or name another folder with -s OUTPUT_DIR=.")
    unknown = next((name for name in named if name not in found), None)
    if unknown is not None:
        meant = hint(unknown, found)
        raise ExportError(f"{output} holds no source {unknown!r}.{meant} There are: {', '.join(found)}.")
    return list(dict.fromkeys(named)) or found


def items(output: Path, sources: Sequence[str], lost: Callable[[str], None]) -> Iterator[Dataset]:
    """Yield the datasets that are not withdrawn, by source and id.

    Args:
        lost: called with a sentence for each document, and each source, that cannot be read; the others follow.
    """
    for source in sources:
        try:
            index = Index(output, source)
        except DamagedSourceError as error:
            lost(str(error))
            continue
        try:
            for held in index.documents.held():
                try:
                    yield item(index.folder, held.dataset_id, held)
                except UNREADABLE as error:
                    lost(left_out(index.folder, held, error))
        finally:
            index.close()
