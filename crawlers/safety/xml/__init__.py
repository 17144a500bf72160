"""XML as a portal sends it, made harmless before a parser sees it: UTF-8, no DTD, no entities, whatever its size.

XML parsers expand what a DTD declares, wherever they find one, and some without a limit: 700 bytes become gigabytes.
Here the DTD is read first, by expat, which fetches nothing; what it declares stands in the text afterwards, within
limits; and what is handed on has no ``<!`` in it, so that there is no DTD for any parser to find.
"""

from __future__ import annotations

import io
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO

from crawlers.safety import bounds
from crawlers.safety.text import UTF8, Pieces
from crawlers.safety.xml.body import Body, is_plain
from crawlers.safety.xml.encoding import chunks, encoding_of
from crawlers.safety.xml.prolog import Prolog

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["plain"]


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
    prolog = Prolog(chunks(file, found, []))
    if found.name == UTF8 and is_plain(file, found.bom + prolog.length):
        file.seek(found.bom + prolog.length)
        return file
    bounds.check_sections(file, and_entities=is_bounded)
    text = _behind(chunks(file, found, flaws), prolog.length)
    return io.BufferedReader(Pieces(Body(prolog.entities, flaws).pieces(text)), buffer_size=1 << 17)


def _behind(pieces: Iterator[bytes], length: int) -> Iterator[bytes]:
    for piece in pieces:
        if length < len(piece):
            return chain((piece[length:],), pieces)
        length -= len(piece)
    return iter(())
