"""Which encoding an XML document is in, and its text as UTF-8.

A byte order mark decides, then what the bytes show: whatever the labels say, text that is valid UTF-8 all through is
UTF-8, unless it has only a few characters, which may be Chinese, Japanese or Korean by their label. Then the user's
word, the document's own declaration, and the charset of the Content-Type. RFC 7303 ranks the last two the other way
round, but servers add a default charset to files they have not looked into more often than they know. What is declared
as UTF-8 and is not, is read as its bytes suggest.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from crawlers.safety import text
from crawlers.safety.text import ONE_BYTE, UTF8

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    if marked := _marked(head):
        return marked
    declared = _DECLARED.match(head)
    label = given or (declared[1].decode("ascii") if declared else (charset or "").strip("\"' "))
    name = text.codec(label) or UTF8
    if text.is_utf8(file, name):
        return Encoding(UTF8)
    if name != UTF8 and not ONE_BYTE.fullmatch(name):
        return Encoding(name)
    return Encoding(text.encoding_of_file(file, flaws, charset, label) if name == UTF8 else text.widened(name))


def _marked(head: bytes) -> Encoding | None:
    if found := text.marked(head):
        return Encoding(*found)
    return next((Encoding(name) for pattern, name in _UTF16 if pattern.match(head)), None)


def chunks(file: BinaryIO, found: Encoding, flaws: list[str]) -> Iterator[bytes]:
    """Yield the text behind the byte order mark, as UTF-8; what is no character becomes U+FFFD, and a flaw."""
    return text.chunks(file, found.name, found.bom, flaws)
