"""A part of the ecosystem, portals or extensions, and what is known of its run while it is under way."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

from crawlers.exceptions import HarvestError
from crawlers.operate.sources import Source
from crawlers.records.moment import moment, now
from crawlers.safety.locks import take
from crawlers.store.runs import content

if TYPE_CHECKING:
    from pathlib import Path

    from crawlers.items import Kind

_LONGEST = timedelta(days=1)  # after which an interrupted run begins again: what it has found out is old


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the ecosystem.

    Args:
        name: what is published.
        spider: crawls it; its source has the same name.
        kind: of its profiles.
    """

    name: str
    spider: str
    kind: Kind

    def source(self, catalogue: str) -> Source:
        """Return the source, as a harvest crawls it."""
        return Source(name=self.spider, spider=self.spider, arguments={"catalogue": catalogue})


PARTS = (Part("sites", "ckan_sites", "site"), Part("extensions", "ckan_extensions", "extension"))


class Progress:
    """How far the run of a part is: a file in JOBS_DIR, which is locked by the run and outlives a kill.

    Attributes:
        begun: when the run began, as ISO 8601.
        known_up: the file with what was up before; it stays until a crawl is published, or could be.
    """

    def __init__(self, path: Path, descriptor: int, catalogue: str) -> None:
        self.descriptor = descriptor
        self.known_up = path.with_suffix(".up")
        known = content(path)
        begun = moment(known.get("begun"))
        is_recent = begun and datetime.now(UTC) - begun < _LONGEST
        self.begun = str(known["begun"]) if is_recent and known.get("catalogue") == catalogue else now("milliseconds")
        self._write({"begun": self.begun, "catalogue": catalogue})

    @classmethod
    def take(cls, jobs: Path, part: Part, catalogue: str) -> Self | None:
        """Return the progress of a part's run, from now on this process's; ``None`` if another one is at it.

        Raises:
            HarvestError: JOBS_DIR is not writable.
        """
        path = jobs / f"ecosystem-{part.name}.json"
        try:
            descriptor = take(path)
            return None if descriptor is None else cls(path, descriptor, catalogue)
        except OSError as error:
            raise HarvestError(f"{path} can't be written ({error.strerror}): set another -s JOBS_DIR=.") from None

    def end(self) -> None:
        """Record that the run is over: the next one begins again."""
        self._write({})

    def release(self) -> None:
        os.close(self.descriptor)

    def _write(self, known: dict[str, Any]) -> None:
        body = json.dumps(known).encode()
        os.ftruncate(self.descriptor, 0)
        os.pwrite(self.descriptor, body, 0)
