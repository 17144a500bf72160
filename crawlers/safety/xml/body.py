"""The root element and what follows, as plain as a parser can get it: tags and text, no ``<!`` and no ``<?``.

Text that comments or CDATA sections divide becomes whole, which pyoxigraph needs: it reads no divided text.
"""

from __future__ import annotations

import codecs
import re
import sys
from enum import Enum
from typing import TYPE_CHECKING, BinaryIO

from crawlers.exceptions import AnswerError
from crawlers.safety import bounds
from crawlers.safety.text import CHUNK, UTF8

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.safety.xml.entities import Entities

_GROWTH = 4
_FREE = 1 << 20
_LONGEST_NAME = 256

_DIGITS = rb"(?:x[0-9A-Fa-f]{1,%d}|[0-9]{1,%d});" % (_LONGEST_NAME - 1, _LONGEST_NAME)
_NUMBER = re.compile(rb"&#" + _DIGITS)
_REFERENCE = re.compile(
    rb"&(?!%b)(?:([A-Za-z_:\x80-\xff][A-Za-z0-9_:.\x80-\xff-]{0,%d});|(#%b(?:%b)*+))?"
    % (bounds.USUAL, _LONGEST_NAME, _DIGITS, _NUMBER.pattern)
)
_MARKUP = re.compile(rb"<[!?]")
_HIGH = rb"&#(?:x[Dd][89ABab][0-9A-Fa-f]{2}|55(?:29[6-9]|[3-9]\d\d)|56(?:[0-2]\d\d|3[01]\d));"
"""The first of two surrogates: the next one may be what follows."""
_HELD = re.compile(rb"(?:<|(?:%b)?&[^&<;\s]{0,%d}|%b)\Z" % (_HIGH, _LONGEST_NAME + 1, _HIGH))
_LONGEST_HELD = _LONGEST_NAME + 16
_NO_CHARACTER = (
    "Some of its references (&#0;) name no character: two surrogates are read as one, U+FFFD stands for others."
)


class _In(Enum):
    """Where in the document: how that begins, and how it ends."""

    COMMENT = b"<!--", b"-->"
    CDATA = b"<![CDATA[", b"]]>"
    INSTRUCTION = b"<?", b"?>"


def is_plain(file: BinaryIO, start: int) -> bool:
    """Is there nothing from here on that `Body` would change? The fast answer for most files."""
    decoder = codecs.getincrementaldecoder(UTF8)()
    file.seek(start)
    held = b""
    while chunk := file.read(CHUNK):
        try:
            decoder.decode(chunk)
        except UnicodeDecodeError:
            return False
        data = held + chunk
        at = _held(data)
        if not _has_no_more_than_tags(data[:at]):
            return False
        held = data[at:]
    return _has_no_more_than_tags(held) and not decoder.getstate()[0]


def _has_no_more_than_tags(data: bytes) -> bool:
    if b"\r" in data or any(data[at - 1 : at] == b"<" for mark in (b"!", b"?") for at in _places(data, mark)):
        return False
    return all(found[2] and all(map(_is_character, _numbers(found[0]))) for found in _REFERENCE.finditer(data))


def _numbers(references: bytes) -> list[int]:
    return list(map(_number, _NUMBER.findall(references)))


def _number(reference: bytes) -> int:
    digits = reference[len("&#") : -1]
    return int(digits[1:], 16) if digits.startswith(b"x") else int(digits)


def _is_character(number: int) -> bool:
    return 0 < number <= sys.maxunicode and not _is_surrogate(number)


def _is_surrogate(number: int) -> bool:
    return 0xD800 <= number <= 0xDFFF


def _places(data: bytes, byte: bytes) -> Iterator[int]:
    """Yield where a rare byte is: a byte is found many times as fast as two."""
    at = data.find(byte)
    while at >= 0:
        yield at
        at = data.find(byte, at + 1)


def _held(data: bytes) -> int:
    """Where that begins which only the next bytes tell what it is."""
    found = _HELD.search(data, max(len(data) - _LONGEST_HELD, 0))
    return found.start() if found else len(data)


class Body:
    """
    Args:
        entities: what the DTD declared.
        flaws: takes a sentence if references to characters name none.
    """

    def __init__(self, entities: Entities, flaws: list[str]) -> None:
        self.entities = entities
        self.flaws = flaws
        self._read = self._grown = 0

    def pieces(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """
        Raises:
            AnswerError: ``unsafe_xml``.
        """
        before = b""
        for piece in self._rewritten(_with_line_feeds(chunks)):
            if b"<!" in before + piece:  # the promise, whatever the code above did
                raise AnswerError("unsafe_xml", "the XML has a declaration in the middle, where none may be")
            before = piece[-1:] or before
            yield piece

    def _rewritten(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        within: _In | None = None
        data = b""
        for chunk in chunks:
            self._read += len(chunk)
            data += chunk
            parts, at, within = self._parts(data, within)
            data = data[at:]
            yield b"".join(parts)
        if within:
            raise AnswerError("unsafe_xml", f"the XML's last {within.name.lower()} has no end")
        yield self._text(data)

    def _parts(self, data: bytes, within: _In | None) -> tuple[list[bytes], int, _In | None]:
        """What the data becomes, how much of it is done, and where in the document that ends."""
        parts: list[bytes] = []
        at = 0
        while True:
            end, after = _end(data, at, within)
            if within is None:
                parts.append(self._text(data[at:end]))
            elif within is _In.CDATA:
                parts.append(_escaped(data[at:end]))
            at = after or end
            if after is None:
                return parts, at, within
            within = None if within else _opened(data, end)

    def _text(self, data: bytes) -> bytes:
        return _REFERENCE.sub(self._replaced, data)

    def _replaced(self, reference: re.Match[bytes]) -> bytes:
        if reference[2]:
            return self._characters(reference[0])
        if reference[1] is None:
            return b"&amp;"
        text = self.entities.text(reference[1].decode(UTF8, "replace"))
        if text is None:
            return reference[0]
        self._grown += len(text)
        if self._grown > _GROWTH * self._read + _FREE:
            raise AnswerError("unsafe_xml", f"the XML's entities make it more than {_GROWTH} times as long")
        return text.encode(UTF8)

    def _characters(self, references: bytes) -> bytes:
        """Return references to characters, one behind the other, as such that name some."""
        numbers = _numbers(references)
        if all(map(_is_character, numbers)):
            return references
        if _NO_CHARACTER not in self.flaws:
            self.flaws.append(_NO_CHARACTER)
        text = "".join(chr(one) if _is_character(one) or _is_surrogate(one) else "\ufffd" for one in numbers)
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return b"".join(b"&#%d;" % ord(character) for character in text)


def _end(data: bytes, at: int, within: _In | None) -> tuple[int, int | None]:
    """Where this part ends, and where what follows begins; ``None`` when the data does not tell."""
    if within:
        end = within.value[1]
        found = data.find(end, at)
        return (found, found + len(end)) if found >= 0 else (max(len(data) - len(end) + 1, at), None)
    opening = _MARKUP.search(data, at)
    if not opening:
        return max(_held(data), at), None
    kind = _opened(data, opening.start())
    return opening.start(), opening.start() + len(kind.value[0]) if kind else None


def _opened(data: bytes, at: int) -> _In | None:
    """What begins here; ``None`` when the data is too short to tell."""
    start = data[at : at + len("<![CDATA[")]
    for kind in _In:
        if start.startswith(kind.value[0]):
            return kind
        if kind.value[0].startswith(start):
            return None
    raise AnswerError("unsafe_xml", "the XML has a DTD or a declaration in the middle, where none may be")


def _escaped(data: bytes) -> bytes:
    return data.replace(b"&", b"&amp;").replace(b"<", b"&lt;").replace(b">", b"&gt;")


def _with_line_feeds(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Line ends as XML has them: pyoxigraph leaves that to others."""
    held = b""
    for chunk in chunks:
        data = held + chunk
        held = b"\r" if data.endswith(b"\r") else b""
        if b"\r" in data:
            data = data[: len(data) - len(held)].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        yield data
    yield held.replace(b"\r", b"\n")
