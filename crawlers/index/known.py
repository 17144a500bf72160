"""A document, as crawls know it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

from crawlers.items import Status

Key = tuple[str, str, str]
"""Kind, dataset id, resource id or ""."""


@dataclass(frozen=True, slots=True)
class Known:
    """A document on disk, as the manifest's last line about it says."""

    file: str
    """Relative to the source's folder."""
    sha256: str
    bytes: int
    metadata_modified: str | None
    status: Status
    run: str
    """The run that wrote it, or marked it."""
    seen: str
    """When the portal last had it."""
    metadata_source: str | None = None
    metadata_url: str | None = None


class Held(NamedTuple):
    """A dataset that is not withdrawn, and where its record came from."""

    dataset_id: str
    file: str
    """Relative to the source's folder."""
    seen: str
    metadata_source: str | None
    metadata_url: str | None
    metadata_modified: str | None

    @classmethod
    def of(cls, dataset_id: str, known: Known) -> Self:
        origin = (known.metadata_source, known.metadata_url)
        return cls(dataset_id, known.file, known.seen, *origin, known.metadata_modified)
