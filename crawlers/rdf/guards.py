"""Files that a parser reads through: bytes that would crash it or keep it busy for days never reach it."""

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
MAX_TERMS = 1000  # triple terms, which may contain each other; of RDF 1.2, and no catalogue has them
MAX_DEPTH = 1000  # elements in elements, which cost their depth squared
MAX_ATTRIBUTES = 1000  # of an element

_MAX_TAG = 64
_SHOWN = 10
_UNDERSCORED = re.compile(rb"""@(?<=["']@)[a-zA-Z]{1,8}(?:_[a-zA-Z0-9]{1,8}){1,5}""")
_TRIPLE_TERM = re.compile(
    rb"""<<\((?:\s|\#[^\n]*+)*+(?:[<_\["'(]|[^\s()<>"']*:)"""
)  # with a subject, which `cout <<(a)` lacks
_SOME_OF_A_CROWD = 2 * MAX_ATTRIBUTES  # bytes: half of what the shortest attributes take
_STEP = 1 << 14
_EMPTY = re.compile(rb"""<[^<>"']*+(?:"[^"<]*+"[^<>"']*+|'[^'<]*+'[^<>"']*+)*+>(?<=/>)""")
_TAIL = 1 << 16  # bytes: comments behind the root's end
_BESIDE = rb"(?:\s|<\?.*?\?>|<!--.*?-->)*+"
_ROOT = re.compile(rb"(?:\xef\xbb\xbf)?" + _BESIDE + rb"<([^\s<>/!?]+)", re.DOTALL)
_CROWDED = re.compile(rb"""<(?:[^<>"']*+(?:"[^"<]*+"|'[^'<]*+')){%d}""" % MAX_ATTRIBUTES)
_USUAL = (b':about="', b':resource="', b':datatype="', b'lang="', b':nodeID="', b':parseType="', b" xmlns")
"""What the attributes of nearly all RDF/XML are: a block that has no others is not looked through."""
_TAG = re.compile(rb"""<[^<>!?/](?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+>""")
_ATTRIBUTE = re.compile(rb"""(\s)(?!xmlns\b)(xsi:)?([A-Za-z_][\w.-]*+)(?!:)(\s*=\s*(?:"[^"]*"|'[^']*'))""")
_OF_RDF = (b"about", b"resource", b"ID", b"nodeID", b"datatype", b"parseType")
_NODE_ID = re.compile(rb"""(:nodeID\s*=\s*)(["'])(?![A-Za-z_][\w.-]*+\2)([^"'<]*)""")
_NO_NAME = re.compile(rb"[^\w.-]")


class Guard(io.RawIOBase):
    """Gives a file to a parser a block at a time, and stops a parser that has become slow, as some do with depth.

    Args:
        file: the file.
        clock: returns seconds of processor time.

    Raises:
        AnswerError: ``invalid_rdf``, while the file is read.
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
                "invalid_rdf", "reading takes too long, so the rest is not read: it may be nested too deep"
            )
        block = self.file.read(_BLOCK)
        self.given += len(block)
        self.ready = memoryview(self.checked(block))
        return bool(block)

    @abstractmethod
    def checked(self, block: bytes) -> bytes:
        """Return what of the text so far may be read; ``block`` is empty at the end."""


class TextGuard(Guard):
    """For Turtle and similar formats; repairs language tags with an underscore (``"x"@en_GB``), which they refuse."""

    terms = 0

    def checked(self, block: bytes) -> bytes:
        text = _UNDERSCORED.sub(lambda tag: tag[0].replace(b"_", b"-"), self.rest + block)
        end = max(0, len(text) - _MAX_TAG) if block else len(text)
        text, self.rest = text[:end], text[end:]  # the end may be the beginning of a tag
        if b"<<(" in text:  # where they end is ambiguous (comments look alike), so they are only counted
            self.terms += len(_TRIPLE_TERM.findall(text))
            if self.terms > MAX_TERMS:
                raise AnswerError("invalid_rdf", f"there are more than {MAX_TERMS} triple terms: the rest is not read")
        return text


class XMLGuard(Guard):
    """For RDF/XML without a DTD; an element's attributes and its depth cost their number squared.

    A start tag that the parser refuses would take its element's neighbours along: it is repaired.

    Attributes:
        left_out: the names of attributes that mean nothing in RDF, because they have no namespace.
    """

    depth = 0
    root = tail = b""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.left_out: dict[str, None] = {}

    @property
    def breaks_off(self) -> bool:
        """Whether the file has ended before its root element has: the parser does not tell that."""
        root = re.escape(self.root)
        ended = re.compile(rb"(?:</%b\s*|<%b(?=[\s/])[^<]*/)>%b\Z" % (root, root, _BESIDE), re.DOTALL)
        return bool(self.root) and ended.search(self.tail) is None

    def checked(self, block: bytes) -> bytes:
        if not self.given - len(block):
            self.root = root[1] if (root := _ROOT.match(block)) else b""
        self.tail = (self.tail + block[-_TAIL:])[-_TAIL:]
        text = self.rest + block
        if _is_crowded(text):
            raise AnswerError(
                "invalid_rdf", f"an element has more than {MAX_ATTRIBUTES} attributes: the rest is not read"
            )
        begun = text.rfind(b"<")
        self._check_depth(text[:begun] if begun >= 0 else b"")
        is_held = bool(block) and begun >= 0 and len(text) - begun <= _BLOCK
        text, self.rest = (text[:begun], text[begun:]) if is_held else (text, b"")
        is_usual = text.count(b'="') == sum(map(text.count, _USUAL)) and b"='" not in text
        return text if is_usual and not _NODE_ID.search(text) else _TAG.sub(self._repaired, text)

    def _repaired(self, tag: re.Match[bytes]) -> bytes:
        return _NODE_ID.sub(_named, _ATTRIBUTE.sub(self._attribute, tag[0]))

    def _attribute(self, found: re.Match[bytes]) -> bytes:
        """Give an attribute of RDF its prefix; leave out others without one, and those of XML Schema."""
        blank, of_schema, name, value = found.groups()
        if not of_schema and name in _OF_RDF:
            return b"%brdf:%b%b" % (blank, name, value)
        if not of_schema and len(self.left_out) < _SHOWN:
            self.left_out[name.decode()] = None
        return b""

    def _check_depth(self, text: bytes) -> None:
        """Count levels, in steps too short to exceed the limit by much; a raw ``<`` in a value counts as one."""
        at = 0
        while at < len(text):
            end = text.find(b"<", at + _STEP)
            part = text[at : end if end >= 0 else len(text)]
            begun = part.count(b"<")
            self.depth += begun - 2 * part.count(b"</") - _empty(part, begun)
            if self.depth > MAX_DEPTH:
                raise AnswerError(
                    "invalid_rdf", f"elements are nested more than {MAX_DEPTH} deep: the rest is not read"
                )
            at += len(part)


def _named(node: re.Match[bytes]) -> bytes:
    """Give a blank node a name that XML allows: many have a number, or a UUID."""
    return b"%b%b_%b" % (node[1], node[2], _NO_NAME.sub(lambda found: b"_%02x" % ord(found[0]), node[3]))


def _empty(part: bytes, begun: int) -> int:
    """Return how many elements end where they begin; where each ``>`` ends a tag, that needs no regular expression."""
    is_plain = part.count(b">") == begun
    return part.count(b"/>") if is_plain else len(_EMPTY.findall(part))


def _is_crowded(text: bytes) -> bool:
    """Return whether an element has too many attributes, which take some length without a ``<``: that is rare."""
    at = 0
    while at < len(text):
        if text.find(b"<", at, at + _SOME_OF_A_CROWD) >= 0:
            at += _SOME_OF_A_CROWD
            continue
        begin, end = max(text.rfind(b"<", 0, at), 0), text.find(b"<", at)
        at = end if end >= 0 else len(text)
        if _CROWDED.match(text, begin, at):
            return True
    return False
