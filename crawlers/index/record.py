"""Whether a record is the one on disk: its bytes say so, whatever its stamp says."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlers.safety import inside, strict_json

if TYPE_CHECKING:
    from crawlers.index.index import Index
    from crawlers.index.known import Known
    from crawlers.items import Document


class Record(NamedTuple):
    """A document as the portal gives it now."""

    file: str
    """What it would be called on disk, relative to the source's folder."""
    sha256: str
    document: Document | None
    stamp: str | None
    """The source's own."""


def is_on_disk(index: Index, known: Known, record: Record) -> bool:
    """Return whether the document on disk is this record; a new stamp alone is no change.

    Args:
        known: the document on disk.
    """
    if known.file != record.file or known.status == "withdrawn" or not index.whole(known):
        return False
    return known.sha256 == record.sha256 or _differs_by_stamp(index, known, record)


def _differs_by_stamp(index: Index, known: Known, record: Record) -> bool:
    if not known.metadata_modified or not record.stamp or record.document is None:
        return False
    body = inside.read(index.folder, known.file)
    if hashlib.sha256(body).hexdigest() != known.sha256:  # a run was killed before it wrote the manifest's line
        return False
    return _is_same_but_for(record.stamp, strict_json.loads(body), record.document)


def _is_same_but_for(stamp: str, before: Any, now: Any) -> bool:
    """The stamp on disk may be older than the last that was seen: what was unchanged was not written."""
    stamps = {name for name, value in now.items() if value == stamp}
    if len({repr(before.get(name)) for name in stamps}) > 1:
        return False  # one of them was no stamp before
    old, new = ({name: value for name, value in one.items() if name not in stamps} for one in (before, now))
    return bool(old == new)
