"""XML as a portal sends it, made harmless before a parser sees it: UTF-8, no DTD, no entities, whatever its size.

XML parsers expand what a DTD declares, wherever they find one, and some without a limit: 700 bytes become gigabytes.
Here the DTD is read first, by expat, which fetches nothing; what it declares stands in the text afterwards, within
limits; and what is handed on has no ``<!`` in it, so that there is no DTD for any parser to find.
"""

from __future__ import annotations

import codecs
import io
import re
import sys
from enum import Enum
from html.entities import html5
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO, NamedTuple
from xml.parsers import expat

from crawlers.exceptions import AnswerError
from crawlers.safety import bounds
from crawlers.safety.text import (
    CHUNK,
    ONE_BYTE,
    UTF8,
    Pieces,
    chunks,
    codec,
    encoding_of_file,
    is_utf8,
    marked,
    widened,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


def plain(
    file: BinaryIO,
    charset: str | None = None,
    flaws: list[str] | None = None,
    encoding: str | None = None,
    *,
    is_bounded: bool = False,
) -> BinaryIO:
    r"""Return the same document from its root element on: UTF-8, without DTD, comments, CDATA sections and entities.

    A file that is so already is returned itself, at its root element. Else it is read while the result is: leave it
    open and alone until then. What does not fit is repaired where that is safe: invalid bytes, ``&``
    that begins no entity, HTML's entities, references to characters that do not exist.

    Args:
        file: a document of any size that can be read again from its beginning.
        charset: the one that the Content-Type names.
        flaws: takes a sentence about what can't be read, or is guessed, at once or while the result is read.
        encoding: the one that the user says it is in.
        is_bounded: whether it has few entities, which take their time: for an answer that is read at once.

    Raises:
        AnswerError: ``unsafe_xml``, at once or while the result is read; ``too_large``.

    >>> plain(io.BytesIO(b'<!DOCTYPE r [<!ENTITY a "http://a.org/">]><r about="&a;1">caf&eacute;</r>')).read().decode()
    '<r about="http://a.org/1">café</r>'
    """
    flaws = [] if flaws is None else flaws
    found = encoding_of(file, charset, flaws, encoding)
    prolog = Prolog(chunks(file, found.name, found.bom, []))
    if found.name == UTF8 and is_plain(file, found.bom + prolog.length):
        file.seek(found.bom + prolog.length)
        return file
    bounds.check_sections(file, and_entities=is_bounded)
    text = _behind(chunks(file, found.name, found.bom, flaws), prolog.length)
    return io.BufferedReader(Pieces(Body(prolog.entities, flaws).pieces(text)), buffer_size=1 << 17)


def _behind(pieces: Iterator[bytes], length: int) -> Iterator[bytes]:
    for piece in pieces:
        if length < len(piece):
            return chain((piece[length:],), pieces)
        length -= len(piece)
    return iter(())


# Which encoding a document is in
#
# A byte order mark decides, then what the bytes show: whatever the labels say, text that is valid UTF-8 all through is
# UTF-8, unless it has only a few characters, which may be Chinese, Japanese or Korean by their label. Then the user's
# word, the document's own declaration, and the charset of the Content-Type. RFC 7303 ranks the last two the other way
# round, but servers add a default charset to files they have not looked into more often than they know. What is
# declared as UTF-8 and is not, is read as its bytes suggest.

_UTF16 = ((re.compile(rb"[<\s]\0[^\0]\0"), "utf-16-le"), (re.compile(rb"\0[<\s]\0[^\0]"), "utf-16-be"))
_DECLARED = re.compile(rb"\s*<\?xml\s[^>]*?\sencoding\s*=\s*[\"']([A-Za-z][A-Za-z0-9._-]{,40})[\"']")


class Encoding(NamedTuple):
    name: str
    bom: int = 0
    """The length of the byte order mark."""


def encoding_of(file: BinaryIO, charset: str | None, flaws: list[str], given: str | None = None) -> Encoding:
    """Return the file's encoding; a guess is a flaw.

    Args:
        charset: the one that the Content-Type names.
        given: the one that the user says it is in.
    """
    file.seek(0)
    head = file.read(1024)
    if bom := marked(head):
        return Encoding(*bom)
    if utf16 := next((name for pattern, name in _UTF16 if pattern.match(head)), None):
        return Encoding(utf16)
    declared = _DECLARED.match(head)
    label = given or (declared[1].decode("ascii") if declared else (charset or "").strip("\"' "))
    name = codec(label) or UTF8
    if is_utf8(file, name):
        return Encoding(UTF8)
    if name != UTF8 and not ONE_BYTE.fullmatch(name):
        return Encoding(name)
    return Encoding(encoding_of_file(file, flaws, charset, label) if name == UTF8 else widened(name))


# The entities that a DTD declares, expanded within limits: no bomb goes off here

_MOST_ENTITIES = 1000  # HTML's own are 253
_LONGEST_ENTITY = 4096  # namespaces, names, a licence's sentence
_DEEPEST_ENTITY = 16

_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);|#)([^&;\s]+);")
_QUOTES = str.maketrans({'"': "&quot;", "'": "&apos;"})
_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"})


class Entities:
    """What entities stand for, as it may stand in text and in attributes; XML's own five never change."""

    def __init__(self) -> None:
        self._declared: dict[str, str] = {}
        self._expanded: dict[str, str] = {}

    def declare(self, name: str, value: str | None) -> None:
        """Expat tells the first declaration. What points elsewhere (``None``) is never read, and stands for nothing."""
        self._declared[name] = value or ""
        if len(self._declared) > _MOST_ENTITIES:
            raise AnswerError("unsafe_xml", f"the XML's DTD declares more than {_MOST_ENTITIES} entities")

    def check(self) -> None:
        """Expands all that is declared: a bomb is refused even when nothing sets it off."""
        for name in self._declared:
            self._expand(name, ())

    def text(self, name: str) -> str | None:
        """Return what an entity stands for: its declaration, else HTML's meaning; ``None`` when it is unknown.

        >>> Entities().text("eacute"), Entities().text("LT"), Entities().text("nobody")
        ('é', '&lt;', None)
        """
        if name not in self._declared:
            character = html5.get(f"{name};")
            return character.translate(_ESCAPED) if character else None
        text = self._expand(name, ())
        if "<" in text:
            raise AnswerError("unsafe_xml", f"the XML's entity {name} stands for markup, not for text")
        return text.translate(_QUOTES)

    def _expand(self, name: str, path: tuple[str, ...]) -> str:
        if name in path or len(path) > _DEEPEST_ENTITY:
            raise AnswerError("unsafe_xml", f"the XML's entity {name} is nested in itself, or too deep")
        if name not in self._expanded:
            length, parts = 0, []
            for part in self._parts(self._declared[name], (*path, name)):
                length += len(part)
                if length > _LONGEST_ENTITY:
                    raise AnswerError(
                        "unsafe_xml", f"the XML's entity {name} is longer than {_LONGEST_ENTITY} characters"
                    )
                parts.append(part)
            self._expanded[name] = "".join(parts)
        return self._expanded[name]

    def _parts(self, value: str, path: tuple[str, ...]) -> Iterator[str]:
        at = 0
        for reference in _ENTITY.finditer(value):
            yield value[at : reference.start()]
            name = reference[1]
            yield self._expand(name, path) if name in self._declared else self.text(name) or reference[0]
            at = reference.end()
        yield value[at:]


# What stands before the root element: it is read for the entities that it declares, and then dropped

_LONGEST_DTD = 1 << 18
_SPACE = b" \t\r\n"
_DOCTYPE = re.compile(rb"<!doctype(?=[\s\[>])", re.IGNORECASE)
_LONGEST_OPENING = len("<!DOCTYPE ")
_ENDS = ((b"<!--", b"-->"), (b"<?", b"?>"))


class Prolog:
    """
    Args:
        chunks: the document, in UTF-8 and without a byte order mark.

    Attributes:
        length: of everything before the root element, in bytes.
        entities: those that its DTD declares.

    Raises:
        AnswerError: ``unsafe_xml``.
    """

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self.length = 0
        self.entities = Entities()
        self._chunks = chunks
        self._data = b""
        self._read()

    def _read(self) -> None:
        seen = False
        while opening := self._opening():
            ends = dict(_ENDS).get(opening[:4]) or dict(_ENDS).get(opening[:2])
            if ends:
                self._skip_past(ends)
            elif _DOCTYPE.match(opening) and not seen:
                seen = True
                self._doctype()
            else:
                break

    def _opening(self) -> bytes:
        while True:
            data = self._data.lstrip(_SPACE)
            self._drop(len(self._data) - len(data))
            if len(data) >= _LONGEST_OPENING or not self._more():
                return self._data[:_LONGEST_OPENING]

    def _skip_past(self, end: bytes) -> None:
        self._drop(4 if end == b"-->" else 2)
        while (at := self._data.find(end)) < 0:
            self._drop(max(len(self._data) - len(end), 0))
            if not self._more():
                raise AnswerError("unsafe_xml", f"a comment or an instruction before the XML's root has no {end!r}")
        self._drop(at + len(end))

    def _doctype(self) -> None:
        dtd = _DTD(self.entities)
        self._data = b"<!DOCTYPE" + self._data[len("<!DOCTYPE") :]  # in whatever case it was
        read = 0
        while dtd.end is None:
            at = self._data.find(b">", read) + 1
            if not at and len(self._data) <= _LONGEST_DTD and self._more():
                continue
            if not at or at > _LONGEST_DTD:
                raise AnswerError("unsafe_xml", f"the XML's DTD does not end within {_LONGEST_DTD >> 10} KiB")
            dtd.feed(self._data[read:at])
            read = at
        self._drop(dtd.end)
        self.entities.check()

    def _drop(self, length: int) -> None:
        self._data = self._data[length:]
        self.length += length

    def _more(self) -> bool:
        chunk = next(self._chunks, b"")
        self._data += chunk
        return bool(chunk)


class _DTD:
    """Expat on a DTD. It reads nothing that the DTD points to, and expands no parameter entities.

    Attributes:
        end: the DTD's length, once its end was seen.
    """

    def __init__(self, entities: Entities) -> None:
        self.end: int | None = None
        self.entities = entities
        self.parser = expat.ParserCreate("utf-8")
        self.parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        self.parser.EntityDeclHandler = self._entity
        self.parser.EndDoctypeDeclHandler = self._end

    def feed(self, data: bytes) -> None:
        try:
            self.parser.Parse(data)
        except expat.ExpatError as error:
            if self.end is None:
                raise AnswerError("unsafe_xml", f"the XML's DTD can't be read ({error})") from error

    def _entity(self, name: str, is_parameter: bool, value: str | None, *_: object) -> None:
        if not is_parameter:
            self.entities.declare(name, value)

    def _end(self) -> None:
        self.end = self.parser.CurrentByteIndex + 1


# The root element and what follows, as plain as a parser can get it: tags and text, no ``<!`` and no ``<?``
#
# Text that comments or CDATA sections divide becomes whole, which pyoxigraph needs: it reads no divided text.

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
