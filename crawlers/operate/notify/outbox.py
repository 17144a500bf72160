"""What digests have told to whom, and the one that is being sent: JOBS_DIR/.digests/outbox.json.

A digest is noted before it is sent, whole, with what it covers, and again once it was delivered. So none is lost,
whenever the process is killed; one that was killed between delivery and the second note is sent again, the same, with
the same Message-ID: nobody but the mail server knows that it has it (RFC 5321, 6.1; RFC 1047).
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self
from zoneinfo import ZoneInfo

import msgspec

from crawlers.operate.notify.digest import Digest, Told
from crawlers.records import moment
from crawlers.safety import inside, locks, strict_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_FILE = "outbox.json"


@dataclass(frozen=True, slots=True)
class Begun:
    """A digest that is being sent; what is sent again is what stands here, whatever was changed meanwhile.

    Args:
        sources: up to where it tells of each.
        whom: those who get it, as their channel says it.
        doubts: how often it was sent without an answer, this time included.
        tried: when there was no answer last.
    """

    digest: Digest
    sources: dict[str, Told]
    whom: str
    doubts: int = 0
    tried: datetime | None = None

    @classmethod
    def parse(cls, given: Any) -> Self | None:
        """Return what a file says; ``None`` if it says nothing that can be read."""
        found = _table(given)
        ends = ((source, Told.parse(told)) for source, told in _table(found.get("sources")).items())
        doubts, tried = found.get("doubts"), moment.moment(found.get("tried"))
        try:
            digest = msgspec.convert(found.get("digest"), Digest, dec_hook=lambda _, name: ZoneInfo(name))
        except (msgspec.ValidationError, KeyError):  # the zone is not known
            return None
        sources = {source: told for source, told in ends if told}
        return cls(digest, sources, str(found.get("whom")), doubts if isinstance(doubts, int) else 0, tried)

    def fields(self) -> dict[str, Any]:
        return {
            "sources": {name: told.fields() for name, told in self.sources.items()},
            "whom": self.whom,
            "doubts": self.doubts,
            "tried": self.tried and moment.written(self.tried),
            "digest": msgspec.to_builtins(self.digest, enc_hook=str),
        }


@dataclass(slots=True)
class Outbox:
    """The state of all digests; whoever has it open is alone with it.

    Args:
        folder: where it is.
        told: by the kind of channel and the source, as in the file.
        begun: by the kind of channel, those that were being sent, as in the file.
    """

    folder: Path
    told: dict[str, dict[str, Any]] = field(default_factory=dict)
    begun: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def read(cls, jobs: Path) -> Self:
        """Read it, to print what would be sent.

        Raises:
            OSError: it is there and can't be read.
        """
        folder = jobs / ".digests"
        try:
            found = strict_json.loads(inside.read(folder, _FILE))
        except (FileNotFoundError, ValueError):  # nothing was sent yet; it is damaged
            found = None
        return cls(folder, *(_tables(_table(found).get(name)) for name in ("told", "begun")))

    @classmethod
    @contextmanager
    def opened(cls, jobs: Path) -> Iterator[Self | None]:
        """Open it; ``None`` if another process sends digests now.

        Raises:
            OSError: it can't be read or written there.
        """
        lock = locks.take(jobs / ".digests" / "lock")
        if lock is None:
            yield None
            return
        try:
            yield cls.read(jobs)
        finally:
            os.close(lock)

    def known(self, kind: str, source: str) -> Told | None:
        """Return what a channel was told of a source; ``None`` if it never was."""
        return Told.parse(self.told.get(kind, {}).get(source))

    def unfinished(self, kind: str) -> list[Begun]:
        """Return the digests that were being sent when a process was killed, or that were not delivered."""
        return [begun for given in self.begun.get(kind, {}).values() if (begun := Begun.parse(given))]

    def begin(self, kind: str, begun: Begun) -> None:
        """Note that a digest is being sent.

        Raises:
            OSError: it can't be written.
        """
        self.begun.setdefault(kind, {})[begun.digest.id] = begun.fields()
        self._write()

    def end(self, kind: str, name: str, told: Mapping[str, Told] | None = None) -> None:
        """Note that a digest is not being sent any more.

        Args:
            name: its id.
            told: what was told, if it was delivered.

        Raises:
            OSError: it can't be written.
        """
        self.begun.get(kind, {}).pop(name, None)
        self.note(kind, told or {})

    def note(self, kind: str, told: Mapping[str, Told]) -> None:
        """Note what a channel was told.

        Raises:
            OSError: it can't be written.
        """
        self.told.setdefault(kind, {}).update({source: one.fields() for source, one in told.items()})
        self._write()

    def rename(self, old: str, new: str) -> None:
        """Note that a source has another name.

        Raises:
            OSError: it can't be written.
        """
        digests = [_table(one) for digests in self.begun.values() for one in digests.values()]
        begun = [_table(one.get("sources")) for one in digests]
        for sources in (*self.told.values(), *begun):
            if old in sources:
                sources[new] = sources.pop(old)
        self._write()

    def _write(self) -> None:
        body = strict_json.dumps({"told": self.told, "begun": self.begun})
        with inside.replaced(self.folder, _FILE) as file:
            file.write(body)


def rename(jobs: Path, old: str, new: str) -> None:
    """Note that a source has another name; while digests are being sent, nothing is noted, and more is told than once.

    Raises:
        OSError: it can't be written.
    """
    if not (jobs / ".digests" / _FILE).exists():
        return
    with Outbox.opened(jobs) as outbox:
        if outbox:
            outbox.rename(old, new)


def _table(given: Any) -> dict[str, Any]:
    return given if isinstance(given, dict) else {}


def _tables(given: Any) -> dict[str, dict[str, Any]]:
    """Return the tables of a table; others may have written into the file."""
    return {name: one for name, one in _table(given).items() if isinstance(one, dict)}
