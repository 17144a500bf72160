"""Files that a parser reads through: bytes that would crash it or keep it busy for days never reach it."""

from __future__ import annotations

import io
import re
import time
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, BinaryIO

from crawlers.exceptions import AnswerError
from crawlers.records.rdf.terms import RDF

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
_STEPS = re.compile(rb"(?s:.{1,16384})[^<]*+")
_EMPTY = re.compile(rb"""<[^<>"']*+(?:"[^"<]*+"[^<>"']*+|'[^'<]*+'[^<>"']*+)*+>(?<=/>)""")
_TAIL = 1 << 16  # bytes: comments behind the root's end
_BESIDE = rb"(?:\s|<\?.*?\?>|<!--.*?-->)*+"
_ROOT = re.compile(rb"(?:\xef\xbb\xbf)?" + _BESIDE + rb"<([^\s<>/!?]+)", re.DOTALL)
_CROWDED = re.compile(rb"""<(?:[^<>"']*+(?:"[^"<]*+"|'[^'<]*+')){%d}""" % MAX_ATTRIBUTES)
_USUAL = (
    *(b':about="', b':resource="', b':datatype="', b'xml:lang="', b':nodeID="', b" xmlns"),
    *(b':parseType="Resource"', b':parseType="Collection"'),
)
"""What the attributes of nearly all RDF/XML are: a block that has no others is not looked through."""
_ODD = re.compile(rb"""=(?:[\s']|(?<=\s=))""")  # other ways to write ``="``, in attributes and in texts
_UNKNOWN = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos);|#)")  # entities
_REST = rb"""(?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+>"""
_TAG = re.compile(rb"</?[^<>!?/]" + _REST)
_WITH_ATTRIBUTES = re.compile(rb"""<[^<>!?/\s"']++\s""" + _REST)
_ATTRIBUTE = re.compile(
    rb"""(\s)(?:([^\s=<>"'/:]++):)?+([^\s=<>"'/:]++)(\s*+=\s*+)("[^"]*+"|'[^']*+')|"[^"]*+"|'[^']*+'"""
)
_OF_RDF = (b"about", b"resource", b"ID", b"nodeID", b"datatype", b"parseType")
_OWN = b"_rdf"  # a prefix: which one the file has for RDF's namespace, or whether any, need not be known
_DECLARED = b' xmlns:%b="%b"' % (_OWN, RDF.encode())
_NAMED = re.compile(rb"""(["'])[A-Za-z_][\w.-]*+\1""")
_MISNAMED = re.compile(rb""":nodeID\s*=\s*(?!%b)""" % _NAMED.pattern)
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

    A start tag that the parser refuses would take its element's neighbours along: its attributes are repaired. What is
    in their values, or in a literal of XML, stays.

    Attributes:
        literal: how many elements are open in a literal of XML, its property's among them.
        seen: the names without a prefix that the tag has so far.
        left_out: the names of attributes that mean nothing in RDF, because they have no namespace.
    """

    depth = literal = 0
    root = tail = b""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.seen: set[bytes] = set()
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
        before, mark, last = text.rpartition(b"<")
        self._check_depth(before)
        is_held = block and mark and len(last) < _BLOCK
        text, self.rest = (before, mark + last) if is_held else (text, b"")
        if self._is_usual(text):
            return text
        tags = _TAG if self.literal or b"parseType" in text else _WITH_ATTRIBUTES
        return tags.sub(self._repaired, text)

    def _is_usual(self, text: bytes) -> bool:
        """Return whether no tag needs to be repaired, and no literal of XML begins or ends: the fast answer."""
        return (
            not self.literal
            and text.count(b'="') == sum(map(text.count, _USUAL))
            and not _ODD.search(text)
            and not _UNKNOWN.search(text)
            and not _MISNAMED.search(text)
        )

    def _repaired(self, found: re.Match[bytes]) -> bytes:
        tag, is_end, is_empty = found[0], found[0].startswith(b"</"), found[0].endswith(b"/>")
        if self.literal:
            self.literal += -1 if is_end else not is_empty
        if self.literal or is_end:
            return tag
        self.seen.clear()
        tag = _ATTRIBUTE.sub(self._attribute, tag)
        if is_empty:
            self.literal = 0
        end = -2 if is_empty else -1
        return b"%b%b%b" % (tag[:end], _DECLARED, tag[end:]) if _OWN + b":" in tag else tag

    def _attribute(self, found: re.Match[bytes]) -> bytes:
        """Give an attribute of RDF its prefix; leave out others without one, and those of XML Schema."""
        blank, prefix, name, sign, value = found.groups()
        if blank is None or (prefix or name) == b"xmlns":
            return found[0]
        if prefix == b"xsi":
            return b""
        if prefix is None:
            is_left_out = name not in _OF_RDF or name in self.seen or b":%b=" % name in found.string
            self.seen.add(name)
            if is_left_out:
                if len(self.left_out) < _SHOWN:
                    self.left_out[name.decode("utf-8", "replace")] = None
                return b""
            prefix = _OWN
        if name == b"nodeID":
            value = _named(value)
        self.literal |= name == b"parseType" and value[1:-1] not in (b"Resource", b"Collection")
        return b"%b%b:%b%b%b" % (blank, prefix, name, sign, _UNKNOWN.sub(b"&amp;", value))

    def _check_depth(self, text: bytes) -> None:
        """Count levels, in steps too short to exceed the limit by much; a raw ``<`` in a value counts as one."""
        for part in _STEPS.findall(text):
            begun = part.count(b"<")
            self.depth += begun - 2 * part.count(b"</") - _empty(part, begun)
            if self.depth > MAX_DEPTH:
                raise AnswerError(
                    "invalid_rdf", f"elements are nested more than {MAX_DEPTH} deep: the rest is not read"
                )


def _named(value: bytes) -> bytes:
    """Give a blank node a name that XML allows: many have a number, or a UUID."""
    if _NAMED.fullmatch(value):
        return value
    return b"%b_%b%b" % (value[:1], _NO_NAME.sub(lambda one: b"_%02x" % ord(one[0]), value[1:-1]), value[:1])


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
        at = len(text) if end == -1 else end
        if _CROWDED.match(text, begin, at):
            return True
    return False
