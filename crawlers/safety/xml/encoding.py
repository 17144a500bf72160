"""Which encoding an XML document is in, and its text as UTF-8.

A byte order mark decides; then what the bytes show: whatever the labels say, text that is valid UTF-8 all through is
UTF-8. Then the document's own declaration, and at last the charset of the Content-Type. RFC 7303 ranks the last two
the other way round, but servers add a default charset to files they have not looked into more often than they know.
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

UTF8 = "utf-8"
CHUNK = 1 << 18

_BOMS = (  # UTF-32's begins with UTF-16's
    (codecs.BOM_UTF8, UTF8),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_UTF16 = ((re.compile(rb"[<\s]\0[^\0]\0"), "utf-16-le"), (re.compile(rb"\0[<\s]\0[^\0]"), "utf-16-be"))
_DECLARED = re.compile(rb"\s*<\?xml\s[^>]*?\sencoding\s*=\s*[\"']([A-Za-z][A-Za-z0-9._-]{,40})[\"']")
_ONE_BYTE = re.compile(r"ascii|iso8859-[0-9]{1,2}|cp125[0-8]|koi8-[ru]|mac-roman|cp(437|850|852|866)")
_MANY_BYTES = re.compile(r"gb2312|gbk|gb18030|big5|shift_jis|cp93[26]|cp949|cp950|euc_jp|euc_kr|iso2022_jp")
_LATIN1 = ("ascii", "iso8859-1")  # what is labelled so is Windows' superset of it when it is not UTF-8


class Encoding(NamedTuple):
    name: str
    bom: int = 0
    """The length of the byte order mark."""


def encoding_of(file: BinaryIO, charset: str | None, flaws: list[str]) -> Encoding:
    """The file's encoding; an unknown one is taken for UTF-8, and UTF-7, which hides what it says, is unknown."""
    file.seek(0)
    head = file.read(1024)
    if marked := _marked(head):
        return marked
    declared = _DECLARED.match(head)
    label = declared[1].decode("ascii") if declared else (charset or "").strip("\"' ")
    name = _known(label)
    if name is None and label:
        flaws.append(f"The encoding {label} is not known: the document was read as UTF-8.")
    if name is None or not _ONE_BYTE.fullmatch(name):
        return Encoding(name or UTF8)
    if _is_utf8(file):
        return Encoding(UTF8)
    return Encoding("cp1252" if name in _LATIN1 else name)


def _marked(head: bytes) -> Encoding | None:
    for bom, name in _BOMS:
        if head.startswith(bom):
            return Encoding(name, len(bom))
    return next((Encoding(name) for pattern, name in _UTF16 if pattern.match(head)), None)


def _known(label: str | None) -> str | None:
    """
    >>> _known("Latin1"), _known("Windows-1252"), _known("UTF-16"), _known("utf-7"), _known("x-none")
    ('iso8859-1', 'cp1252', 'utf-8', None, None)
    """
    try:
        name = codecs.lookup(label or UTF8).name
    except (LookupError, ValueError):
        return None
    if name.startswith(("utf-16", "utf-32")):  # a label that could be read byte by byte is wrong
        return UTF8
    return name if name == UTF8 or _ONE_BYTE.fullmatch(name) or _MANY_BYTES.fullmatch(name) else None


def _is_utf8(file: BinaryIO) -> bool:
    decoder = codecs.getincrementaldecoder(UTF8)()
    file.seek(0)
    try:
        while chunk := file.read(CHUNK):
            decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def chunks(file: BinaryIO, found: Encoding, flaws: list[str]) -> Iterator[bytes]:
    """The text behind the byte order mark, as UTF-8; what is no character becomes U+FFFD."""
    decoder = codecs.getincrementaldecoder(found.name)("replace")
    file.seek(found.bom)
    flawed = False
    while chunk := file.read(CHUNK):
        text = decoder.decode(chunk)
        if "\ufffd" in text and not flawed:
            flawed = True
            flaws.append(f"Some of it is not in its encoding ({found.name}): U+FFFD stands for what can't be read.")
        if text:  # none came of less than one character
            yield text.encode(UTF8)
    yield decoder.decode(b"", final=True).encode(UTF8)
