"""The log of a source: a commit for each change of what is stored, each put only where there is none yet.

Commit n + 1 can be put by one writer. Who takes a source puts a commit with a higher fence first, so that a late
writer finds its number taken: what it has uploaded for it is never read.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import msgspec

from crawlers.exceptions import StoreError
from crawlers.safety.inside import is_inside
from crawlers.store.bucket.contract import LINES, is_file, is_other

if TYPE_CHECKING:
    from crawlers.store.bucket.objects import Objects

_LARGEST = 64 * 1024 * 1024  # bytes of a commit
_NUMBER = re.compile(r".*/([0-9]{10})(\.json|\.whole)")
_MOST = 10_000_000_000

Number = Annotated[int, msgspec.Meta(ge=0, lt=_MOST)]
Length = Annotated[int, msgspec.Meta(ge=0, lt=1 << 50)]
Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
Name = Annotated[str, msgspec.Meta(pattern="^(packs|segments|files)/[A-Za-z0-9._/-]{1,400}$")]
Text = Annotated[str, msgspec.Meta(max_length=300)]


class MissingError(StoreError):
    """An object is not there: its source was cleaned meanwhile, or it is lost."""


class Part(msgspec.Struct, frozen=True):
    """An object that a commit names; it is never changed.

    Args:
        name: below the source's.
        bytes: its size.
        files: how many files are in it, if it is a pack.
    """

    name: Name
    bytes: Length
    sha256: Sha256
    files: Length = 0


class Segment(Part, frozen=True):
    """Lines of a file that grows, compressed.

    Args:
        offset: where they begin in the file.
        length: how long they are.
    """

    offset: Length = 0
    length: Length = 0


class Growth(msgspec.Struct, frozen=True):
    """A file that grows.

    Args:
        bytes: its size after the commit.
        generation: a number that is another one when the file was rewritten: its segments then begin at 0.
        segments: those that the commit adds; of a whole commit, all.
    """

    bytes: Length
    generation: Number
    segments: list[Segment] = []


class Commit(msgspec.Struct, frozen=True, omit_defaults=True):
    """What changed in a source's folder.

    Args:
        previous: the SHA-256 of the commit before; empty for the first.
        fence: a number that is higher for each new owner of the source.
        writer: the mirror that it is from.
        node: the machine's name.
        run: the run that wrote it.
        kind: taken, by a new owner, before it changes anything; stored; or whole: it names all objects there are, so
            that nobody needs the commits before it.
        packs: those that are added; of a whole commit, all, in the order in which they are unpacked.
        lines: the files that grow, by name.
        files: the files with an object of their own that are new, by name; of a whole commit, all.
        removed: files that are gone; of a whole commit, those that its packs have and the folder has not.
    """

    source: Text
    number: Annotated[int, msgspec.Meta(gt=0, lt=_MOST)]
    previous: Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{64})?$")]
    fence: Annotated[int, msgspec.Meta(gt=0, lt=_MOST)]
    writer: Text
    node: Text
    time: Text
    kind: Literal["taken", "stored", "whole"]
    run: Text | None = None
    packs: list[Part] = []
    lines: dict[str, Growth] = {}
    files: dict[str, Part] = {}
    removed: list[str] = []

    @property
    def body(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=1)

    @property
    def is_empty(self) -> bool:
        """Whether the source was removed."""
        return self.kind == "whole" and not (self.packs or self.lines or self.files)


class Logged(NamedTuple):
    """A commit as it is in the log, and the hash of its object."""

    commit: Commit
    sha256: str


class Numbers(NamedTuple):
    """The commits of a log.

    Args:
        there: their numbers, in order.
        whole: the number of the last whole one; 0 if there is none.
    """

    there: list[int]
    whole: int


class Log:
    """The log of a source.

    Args:
        source: its name.
    """

    def __init__(self, objects: Objects, source: str) -> None:
        self.objects = objects
        self.source = source
        self.below = f"sources/{source}/log"

    def numbers(self, after: int = 0) -> Numbers:
        """Return the commits after a number, by one request for a thousand.

        Raises:
            StoreError: the store can't be read; so for the methods below.
        """
        there, whole = [], 0
        for entry in self.objects.entries(self.below, self._name(after, ".z")):
            found = _NUMBER.fullmatch(entry.name)
            if found and found[2] == ".json":
                there.append(int(found[1]))
            elif found:
                whole = max(whole, int(found[1]))
        return Numbers(there, whole if whole in there else 0)

    def read(self, number: int) -> Logged:
        """Return a commit.

        Raises:
            MissingError: it is not there.
            StoreError: it is damaged.
        """
        body = self.objects.get(self._name(number), _LARGEST)
        if body is None:
            raise MissingError(f"{self.objects.address}: commit {number} of [{self.source}] is missing.")
        try:
            commit = msgspec.json.decode(body, type=Commit)
            _check(commit, self.source, number)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            why = str(error)[:300]
            raise StoreError(
                f"{self.objects.address}: commit {number} of [{self.source}] is damaged ({why})."
            ) from None
        return Logged(commit, hashlib.sha256(body).hexdigest())

    def append(self, commit: Commit) -> Logged | None:
        """Put a commit; return ``None`` if its number is taken."""
        body = commit.body
        if self.objects.create(self._name(commit.number), body) is None:
            return None
        if commit.kind == "whole":
            self.objects.put(self._name(commit.number, ".whole"), b"")
        return Logged(commit, hashlib.sha256(body).hexdigest())

    def clean(self, before: int, oldest: float) -> int:
        """Remove the commits before a whole one that were put before a moment; return how many."""
        found = [entry for entry in self.objects.entries(self.below) if entry.modified < oldest]
        names = [entry.name for entry in found if (n := _NUMBER.fullmatch(entry.name)) and int(n[1]) < before]
        self.objects.remove(names)
        return len(names)

    def _name(self, number: int, suffix: str = ".json") -> str:
        return f"{self.below}/{number:010d}{suffix}"


def _check(commit: Commit, source: str, number: int) -> None:
    """
    Raises:
        ValueError: the commit is another one's, or names what no crawl writes.
    """
    if (commit.source, commit.number) != (source, number):
        raise ValueError("it is of another place")
    wrong = [name for name in commit.lines if name not in LINES] + [name for name in commit.files if not is_other(name)]
    wrong += [name for name in commit.removed if not is_file(name)]
    parts = [*commit.packs, *commit.files.values(), *(one for lines in commit.lines.values() for one in lines.segments)]
    wrong += [part.name for part in parts if not is_inside(part.name)]
    if wrong:
        raise ValueError(f"it names {wrong[0][:200]!r}")
