"""What a parser reads through: bytes that would crash it, or keep it busy for days, never reach it."""

from __future__ import annotations

import io
import re
import time
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, BinaryIO

from crawlers.exceptions import AnswerError

if TYPE_CHECKING:
    from collections.abc import Callable

_BLOCK = 1 << 20
GRACE = 30.0  # seconds of processor time
SLOWEST = 200_000  # bytes a second; a catalogue is read at a hundred times that
MOST_TERMS = 1000  # triple terms, which may stand in one another; RDF 1.2's, which no catalogue has
DEEPEST = 1000  # elements in elements, which cost their depth squared
MOST_ATTRIBUTES = 1000  # of an element

_LONGEST_TAG = 64
_UNDERSCORED = re.compile(rb"""@(?<=["']@)[a-zA-Z]{1,8}(?:_[a-zA-Z0-9]{1,8}){1,5}""")
_TRIPLE_TERM = re.compile(
    rb"""<<\((?:\s|\#[^\n]*+)*+(?:[<_\["'(]|[^\s()<>"']*:)"""
)  # with a subject, which `cout <<(a)` lacks
_STEP = 1 << 14
_EMPTY = re.compile(rb"""<[^<>"']*+(?:"[^"<]*+"[^<>"']*+|'[^'<]*+'[^<>"']*+)*+>(?<=/>)""")
_CROWDED = re.compile(rb"""<(?:[^<>"']*+(?:"[^"<]*+"|'[^'<]*+')){%d}""" % MOST_ATTRIBUTES)


class Guard(io.RawIOBase):
    """A file, a block at a time; stops a parser that has become slow, as some do with depth.

    Args:
        clock: seconds of processor time.

    Raises:
        AnswerError: ``invalid_rdf``, while it is read.
    """

    def __init__(self, file: BinaryIO, clock: Callable[[], float] = time.thread_time) -> None:
        self.file = file
        self.ready = memoryview(b"")
        self.rest = b""
        self.given = 0
        self.clock = clock
        self.begun = clock()

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        while not self.ready and self._more():
            pass
        count = min(len(target), len(self.ready))
        target[:count], self.ready = self.ready[:count], self.ready[count:]
        return count

    def _more(self) -> bool:
        if self.clock() - self.begun > GRACE + self.given / SLOWEST:
            raise AnswerError(
                "invalid_rdf", "it takes so long to read that it is not read on: it may be nested too deep"
            )
        block = self.file.read(_BLOCK)
        self.given += len(block)
        self.ready = memoryview(self.checked(block))
        return bool(block)

    @abstractmethod
    def checked(self, block: bytes) -> bytes:
        """What of the text so far may be read; ``block`` is empty at the end."""


class TextGuard(Guard):
    """For Turtle and its kin; mends language tags with an underscore (``"x"@en_GB``), which none of them takes."""

    terms = 0

    def checked(self, block: bytes) -> bytes:
        text = _UNDERSCORED.sub(lambda tag: tag[0].replace(b"_", b"-"), self.rest + block)
        end = max(0, len(text) - _LONGEST_TAG) if block else len(text)
        text, self.rest = text[:end], text[end:]  # what may be the head of a tag waits
        if b"<<(" in text:  # where they end can't be told from a comment that looks so: they are counted only
            self.terms += len(_TRIPLE_TERM.findall(text))
            if self.terms > MOST_TERMS:
                raise AnswerError("invalid_rdf", f"there are more than {MOST_TERMS} triple terms: it is not read on")
        return text


class XMLGuard(Guard):
    """For RDF/XML, behind the DTD gate; an element's attributes and its depth cost their number squared."""

    depth = 0

    def checked(self, block: bytes) -> bytes:
        text = self.rest + block
        if _CROWDED.search(text):
            raise AnswerError(
                "invalid_rdf", f"an element has more than {MOST_ATTRIBUTES} attributes: it is not read on"
            )
        begun = text.rfind(b"<")
        self._check_depth(text[:begun] if begun >= 0 else b"")
        self.rest = text[begun:] if begun >= 0 and len(text) - begun <= _BLOCK else b""
        return block

    def _check_depth(self, text: bytes) -> None:
        """In steps, between which so many levels can't be added; a raw ``<`` in a value counts as one, as it should."""
        at = 0
        while at < len(text):
            end = text.find(b"<", at + _STEP)
            part = text[at : end if end >= 0 else len(text)]
            self.depth += part.count(b"<") - 2 * part.count(b"</") - len(_EMPTY.findall(part))
            if self.depth > DEEPEST:
                raise AnswerError("invalid_rdf", f"elements are nested more than {DEEPEST} deep: it is not read on")
            at += len(part)
