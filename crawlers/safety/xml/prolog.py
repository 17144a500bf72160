"""What stands before the root element: it is read for the entities that it declares, and then dropped."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.parsers import expat

from crawlers.exceptions import AnswerError
from crawlers.safety.xml.entities import Entities

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        """The first bytes that are not space."""
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
