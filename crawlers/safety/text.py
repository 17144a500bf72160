"""Bytes as the text that their publisher wrote, whatever the labels on them say.

Text that is UTF-8 nearly all through is UTF-8: text of another encoding is that only by chance. Labels come next, the
first that fits; the bytes decide between those that contradict each other. Then comes detection. A text that fits no
encoding is decoded with replacements, and reported as a flaw.
"""

from __future__ import annotations

import codecs
import io
import json
import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from charset_normalizer import from_bytes
from w3lib.encoding import html_body_declared_encoding, http_content_type_encoding

if TYPE_CHECKING:
    from collections.abc import Iterator

UTF8 = "utf-8"
CHUNK = 1 << 18  # bytes

BOMS = (  # UTF-32's begins with UTF-16's
    (codecs.BOM_UTF8, UTF8),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
ONE_BYTE = re.compile(
    r"ascii|iso8859-[0-9]{1,2}|cp125[0-8]|cp874|tis-620|koi8-[rtu]|mac-(roman|cyrillic)|cp(437|850|852|855|866)"
)
_MANY_BYTES = re.compile(
    r"gb2312|gbk|gb18030|big5|big5hkscs|shift_jis|shift_jis_2004|cp93[26]|cp949|cp950|johab|euc_jp|euc_jis_2004|euc_kr"
    r"|iso2022_jp"
)
_LATIN1 = ("ascii", "iso8859-1")  # what is labelled so is Windows' superset of it when it is not UTF-8

_SAMPLE = 1 << 16  # bytes to detect an encoding from
_BETWEEN = re.compile(rb"[^<>]++")  # tags
_ASCII = bytes(range(128))
_SEVERAL, _PLENTY = 4, 12  # characters
_NOT_ASCII = re.compile(r"[^\0-\x7f]")
_ENOUGH = 48  # bytes that are not ASCII, to be sure of an encoding that nobody declares
_LATIN = 0x24F  # the last of the Latin letters
_LATIN_ALPHABETS = ("cp1252", "cp1250", "cp1254", "cp1257")
"""The code pages of the Latin alphabets. What few bytes suggest is one of these, and the first one if nothing does."""


class Text(NamedTuple):
    """
    Args:
        encoding: the name of the codec it was read by.
        flaw: what could not be read, or only guessed, in a sentence.
    """

    text: str
    encoding: str
    flaw: str | None = None


@lru_cache(maxsize=256)
def codec(label: str | None) -> str | None:
    """Return the codec that a label means; ``None`` for one that is unknown, or not for texts, or hides what it says.

    UTF-16 and UTF-32 count as UTF-8: they are known by their byte order mark, and a label that could be read byte by
    byte is wrong.

    >>> codec("Latin1"), codec("Windows-1252"), codec("UTF-16"), codec("utf-7"), codec("zlib_codec"), codec("idna")
    ('iso8859-1', 'cp1252', 'utf-8', None, None, None)
    """
    try:
        name = codecs.lookup((label or "").strip("\"' ")).name
    except (LookupError, ValueError):
        return None
    if name.startswith(("utf-16", "utf-32", "utf-8")):
        return UTF8
    return name if ONE_BYTE.fullmatch(name) or _MANY_BYTES.fullmatch(name) else None


def widened(name: str) -> str:
    """Return the codec that reads what is labelled as this one and is not UTF-8."""
    return "cp1252" if name in _LATIN1 else name


def marked(head: bytes) -> tuple[str, int] | None:
    """Return the encoding that a byte order mark says, and the mark's length."""
    return next(((name, len(bom)) for bom, name in BOMS if head.startswith(bom)), None)


def decoded(body: bytes, *labels: str | None, given: str | None = None, is_utf8: bool = False) -> Text:
    r"""Return the text of an answer, or of a page.

    Args:
        labels: the encodings that its header and it itself declare, the first to be believed first.
        given: the encoding that the user says it is in.
        is_utf8: whether its format is always UTF-8, so that labels count only when it is not.

    >>> decoded("Списък".encode("cp1251"), "utf-8", "windows-1251")
    Text(text='Списък', encoding='cp1251', flaw=None)
    >>> decoded("Bäume".encode(), "iso-8859-1"), decoded(b"B\xe4ume", "zlib_codec", "iso-8859-1")
    (Text(text='Bäume', encoding='utf-8', flaw=None), Text(text='Bäume', encoding='cp1252', flaw=None))
    """
    if found := _marked(body) or (_strictly(body, UTF8) if is_utf8 else None):
        return found
    if given and (read := _strictly(body, codec(given))):
        return read
    known = [name for name in map(codec, labels) if name]
    for name in [UTF8, *known] if is_utf8 else known:
        if read := _surely_utf8(body) if _MANY_BYTES.fullmatch(name) else _as_utf8(body):
            return read
        if read := _strictly(body, widened(name)):
            return _agreed(body, read, known)
    found = _as_utf8(body) or _detected(body, "the declared one" if known else "declared")
    return found or _damaged(body, codec(given) or next(iter(known), UTF8))


def of_page(body: bytes, content_type: str, given: str | None = None) -> Text:
    """Return the text of an HTML page: in the encoding that the user says, else its header, else the page itself.

    Args:
        content_type: the header.
        given: the encoding that the user says it is in.
    """
    labels = http_content_type_encoding(content_type), html_body_declared_encoding(body)
    return decoded(body, *labels, given=given)


def _marked(body: bytes) -> Text | None:
    name, length = marked(body[:4]) or (json.detect_encoding(body[:4]), 0)
    if not length and name == UTF8:
        return None
    return _strictly(body[length:], name) or _damaged(body[length:], name)


def _strictly(body: bytes, name: str | None) -> Text | None:
    try:
        return Text(body.decode(name), name) if name else None
    except UnicodeDecodeError:
        return None


def _as_utf8(body: bytes) -> Text | None:
    """Return the text if it is UTF-8, or would be but for a few bytes."""
    if read := _strictly(body, UTF8):
        return read
    text = body.decode(UTF8, "replace")
    replaced = text.count("\ufffd")
    wrong = replaced - body.count("\ufffd".encode())
    right = len(text) - replaced - (len(body) - len(body.translate(None, _ASCII)))
    return _damaged(body, UTF8) if right > wrong else None


def _surely_utf8(body: bytes) -> Text | None:
    """Return the text if it is UTF-8 that no Chinese, Japanese or Korean encoding gives by chance."""
    read = _strictly(body, UTF8)
    return read if read and _is_no_chance(_NOT_ASCII.findall(read.text)) else None


def _is_no_chance(characters: list[str]) -> bool:
    """Return whether a text that has these is no Chinese, Japanese or Korean one that is valid UTF-8 by chance.

    A few of their characters can be: as two bytes each, of any alphabet. In 400,000 random texts of four characters of
    GBK, 380 were, 2 of them as Latin letters alone; of eight characters, none was.
    """
    is_alike = len(characters) >= _SEVERAL and (min(characters) >= "\u0800" or max(characters) <= chr(_LATIN))
    return is_alike or len(characters) >= _PLENTY


def _agreed(body: bytes, read: Text, names: list[str]) -> Text:
    r"""Return the text by the label that the bytes fit best, if another one reads another text: that is a flaw.

    Where the bytes don't tell, the last label counts: it is its author's; the first may be a server's for all it has.

    >>> greek = "Δημόσιες συμβάσεις του Δήμου".encode("iso8859-7")
    >>> decoded(greek, "iso-8859-1", "iso-8859-7").text, decoded(greek, "iso-8859-7", "iso-8859-1").text
    ('Δημόσιες συμβάσεις του Δήμου', 'Δημόσιες συμβάσεις του Δήμου')
    >>> decoded("Φόρος".encode("iso8859-7"), "iso-8859-1", "iso-8859-7")[:2]
    ('Φόρος', 'iso8859-7')
    """
    others = [other for name in names if widened(name) != read.encoding and (other := _strictly(body, widened(name)))]
    found = {each.encoding: each for each in (read, *others) if each is read or each.text != read.text}
    if len(found) == 1:
        return read
    likely = [name for name in _likeliest(_sample(body), *found) if name in found]
    best = found[likely[0]] if len(likely) == 1 else [*found.values()][-1]
    said = " and ".join(dict.fromkeys(names))
    return best._replace(flaw=f"Its labels contradict each other ({said}): it was read as {best.encoding}.")


def _damaged(body: bytes, name: str) -> Text:
    text = body.decode(widened(name), "replace")
    return Text(text, name, f"Some of it is not in its encoding ({name}): U+FFFD stands for what can't be read.")


def _detected(body: bytes, what: str) -> Text | None:
    """Return the text as its bytes suggest; where those are few, or of a Latin alphabet, it is reported as a guess.

    Args:
        what: what its encoding is not, for that sentence.
    """
    sample = _sample(body)
    is_enough = len(sample.translate(None, _ASCII)) >= _ENOUGH
    name = _likely(sample)
    if name is None or (not is_enough and _MANY_BYTES.fullmatch(name)):
        name = _likely(sample, *_LATIN_ALPHABETS) or _LATIN_ALPHABETS[0]
    read = _strictly(body, name)
    if read is None or (is_enough and not _is_latin(read.text) and not _is_narrow(read.text)):
        return read
    return read._replace(flaw=f"Its encoding is not {what}, and was guessed ({read.encoding}): set `encoding`.")


def _sample(body: bytes) -> bytes:
    """Return texts between tags that are not ASCII."""
    texts = (found[0] for found in _BETWEEN.finditer(body[: 16 * _SAMPLE]))
    sample = b" ".join(part for part in texts if not part.isascii())[:_SAMPLE]
    return sample[: sample.rfind(b" ") if len(sample) == _SAMPLE else None]


def _likely(sample: bytes, *among: str) -> str | None:
    """Return the encoding that bytes suggest, of these or of all; the first one if it is as likely as the best."""
    names = _likeliest(sample, *among)
    return _LATIN_ALPHABETS[0] if _LATIN_ALPHABETS[0] in names else next(iter(names), None)


def _likeliest(sample: bytes, *among: str) -> list[str | None]:
    """Return the encodings that are equally likely, of these or of all; ``None`` stands for one that is not known."""
    found = [*from_bytes(sample, cp_isolation=[*among])]
    equal = [one for one in found if (one.chaos, one.coherence) == (found[0].chaos, found[0].coherence)]
    return [codec(name) for one in equal for name in one.could_be_from_charset]


def _is_latin(text: str) -> bool:
    letters = [ord(one) for one in text if one > "\x7f" and unicodedata.category(one)[0] == "L"]
    return 2 * sum(one <= _LATIN for one in letters) >= len(letters)


def _is_narrow(text: str) -> bool:
    """Whether it is mostly half-width katakana, which is what Cyrillic looks like as Japanese."""
    letters = [one for one in text if one > "\x7f" and unicodedata.category(one)[0] == "L"]
    return 4 * sum("\uff61" <= one <= "\uff9f" for one in letters) >= len(letters)


# Files


def is_utf8(file: BinaryIO, label: str = UTF8) -> bool:
    """Return whether a file is UTF-8 all through; it is read from its beginning.

    Args:
        label: the codec that it is said to be in: what has several bytes for a character may be UTF-8 by chance.
    """
    decoder = codecs.getincrementaldecoder(UTF8)()
    may_be_chance = _MANY_BYTES.fullmatch(label) is not None
    characters: list[str] = []
    file.seek(0)
    try:
        while chunk := file.read(CHUNK):
            read = decoder.decode(chunk)
            if may_be_chance and len(characters) < _PLENTY:
                characters += _NOT_ASCII.findall(read)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return not may_be_chance or _is_no_chance(characters)


def chunks(file: BinaryIO, name: str, start: int, flaws: list[str]) -> Iterator[bytes]:
    """Yield a file's text as UTF-8; what is no character becomes U+FFFD, and a flaw.

    Args:
        name: the codec's.
        start: where the text begins, behind a byte order mark.
    """
    decoder = codecs.getincrementaldecoder(name)()
    file.seek(start)
    while chunk := file.read(CHUNK):
        if text := _leniently(decoder, chunk, name, flaws):  # none came of less than one character
            yield text.encode(UTF8)
    yield _leniently(decoder, b"", name, flaws).encode(UTF8)


def _leniently(decoder: codecs.IncrementalDecoder, chunk: bytes, name: str, flaws: list[str]) -> str:
    before = decoder.getstate()
    try:
        return decoder.decode(chunk, final=not chunk)
    except UnicodeDecodeError:
        flaws.append(f"Some of it is not in its encoding ({name}): U+FFFD stands for what can't be read.")
    decoder.setstate(before)
    decoder.errors = "replace"  # from now on
    return decoder.decode(chunk, final=not chunk)


def in_utf8(file: BinaryIO, label: str | None, given: str | None, flaws: list[str]) -> BinaryIO:
    """Return a file whose format is UTF-8 (Turtle, N-Triples) as UTF-8: itself, if that is what it is.

    Args:
        file: one that can be read again; it stays open while the result is read.
        label: the encoding that its header declares.
        given: the encoding that the user says it is in.
        flaws: takes a sentence about what can't be read, while the result is read.
    """
    file.seek(0)
    head = file.read(_SAMPLE)
    name, start = marked(head) or ("", 0)
    if name in ("", UTF8) and is_utf8(file):
        file.seek(start)
        return file
    name = name or codec(given) or encoding_of_file(file, flaws, label)
    return io.BufferedReader(Pieces(chunks(file, name, start, flaws)), buffer_size=1 << 17)


def encoding_of_file(file: BinaryIO, flaws: list[str], *labels: str | None) -> str:
    """Return the encoding of the first piece that is not ASCII, which stands for all of it; a guess is a flaw.

    Args:
        labels: the encodings that its header and it itself declare, the first to be believed first.
    """
    file.seek(0)
    while chunk := file.read(CHUNK):
        if not chunk.isascii():
            whole = chunk[: chunk.rfind(b"\n") + 1]  # the last line of a piece may end within a character
            found = decoded(chunk if whole.isascii() else whole, *labels, is_utf8=True)
            flaws += [found.flaw] if found.flaw and found.encoding != UTF8 else []  # else `chunks` has it
            return widened(found.encoding)
    return UTF8


class Pieces(io.RawIOBase):
    """A file of bytes that are made while they are read."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.pieces = pieces
        self.piece = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # what BufferedReader gives
        while not self.piece:
            piece = next(self.pieces, None)
            if piece is None:
                return 0
            self.piece = memoryview(piece)
        length = min(len(buffer), len(self.piece))
        buffer[:length] = self.piece[:length]
        self.piece = self.piece[length:]
        return length
