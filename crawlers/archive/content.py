"""What a downloaded file is, by its first bytes and by its labels: data, a page, an exception, or nothing."""

from __future__ import annotations

import codecs
import csv
import re
import zlib
from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

import puremagic

from crawlers.archive.services import exception, root_of
from crawlers.records.formats import best_format, eu_file_type
from crawlers.records.tables import csv_rows
from crawlers.safety.text import marked

if TYPE_CHECKING:
    from collections.abc import Iterator

Verdict = Literal["file", "page", "exception", "empty"]

HEAD = 64 * 1024
"""Bytes of a file that are looked at."""

_HTML = "text/html"
_TEXT = "text/plain"
_LOOSE = frozenset((_TEXT, "text/csv", "text/tab-separated-values"))
_ZIP = "application/zip"
_EXCEL = ("application/vnd.ms-excel", "application/x-excel", "application/excel")
_VAGUE = {
    *(_TEXT, "application/octet-stream", "binary/octet-stream", "application/binary", "application/unknown"),
    *("application/x-download", "application/force-download", "application/download", "application/x-unknown"),
    *("application/x-octet-stream", "multipart/form-data", "unknown/unknown", "*/*"),
}
"""Media types that servers declare for files that they know nothing of."""
_MEDIA_TYPE = re.compile(r"\s*([A-Za-z0-9][\w!#$&^.+-]{0,100}/[\w!#$&^.+-]{1,100})\s*(?:[;,]|$)")
_SUFFIX = re.compile(r"[a-z0-9]{1,8}")
_PROGRAMS = {"php", "asp", "aspx", "jsp", "do", "cgi", "action", "ashx", "exe", "dll", "html", "htm"}
_CONTROL = bytes(set(range(32)) - set(b"\t\n\r\f\x1a\x1b"))
_MARKUP = re.compile(r"<[A-Za-z/!][^<>]{0,1000}>")
_OPEN_JSON = re.compile(r'\{\s*(?:["}]|$)|\[\s*(?:[\[{"\]\d-]|true|false|null|$)')
_OFFICE = re.compile(r"\[Content_Types\]\.xml|mimetype|(?:_rels|docProps|customXml|xl|word|ppt)/")
_MEMBER = b"PK\x03\x04"
_MOST_MEMBERS = 200
_ROWS = 20  # lines that show whether a text is a table
_SAMPLE = 8 * 1024  # characters in which they stand, mostly
_LONGEST = 200  # characters of a format
_MOST_NAME = 40  # characters of a catalogue's own words in a finding


@dataclass(frozen=True, slots=True)
class Content:
    """What came.

    Args:
        media_type: as the server declares it, without parameters.
        found_type: as the first bytes show it; ``None`` if they show nothing.
        extension: for a readable name, without the dot.
        finding: where catalogue, header and bytes disagree: "says CSV, is HTML".
        verdict: a file to keep, an HTML page where a file was promised, a service's exception document, or no byte.
        detail: what the exception says.
    """

    media_type: str | None
    found_type: str | None
    extension: str | None
    finding: str | None
    verdict: Verdict
    detail: str | None = None


class _Type(NamedTuple):
    """A row of types.csv."""

    media_type: str
    extension: str
    kind_of: frozenset[str]
    is_shown: bool
    names: frozenset[str]
    served_as: frozenset[str]


def look(head: bytes, size: int, media_type: str | None, name_hint: str | None, claimed_format: str | None) -> Content:
    """Return what a downloaded file is.

    Args:
        head: its first bytes; 64 KiB of them are read.
        size: of the whole file, in bytes.
        media_type: the header Content-Type.
        name_hint: a file name or an address, whose suffix counts for what the bytes leave open.
        claimed_format: what the catalogue says that it is: "CSV", "text/csv" ...

    >>> look(b"<!doctype html><title>Sign in", 29, "text/html; charset=utf-8", "wells.csv", "CSV").finding
    'says CSV, is HTML'
    """
    declared = _declared(media_type)
    hint = _suffix(name_hint)
    if not size or not head:
        return Content(declared, None, _extension(None, None, hint, declared, claimed_format), None, "empty")
    head = head[:HEAD]
    said = exception(head)
    found, known_extension = _found(head)
    extension = _extension(found, known_extension, hint, declared, claimed_format)
    if said is not None:
        return Content(declared, found, extension, None, "exception", said)
    claimed = claimed_format or hint
    finding = _finding(claimed, declared, found)
    is_page = _is_page(head, found, declared, claimed_format)
    return Content(declared, found, extension, finding, "page" if is_page else "file")


def is_page_promised(media_type: str | None, name_hint: str | None, claimed_format: str | None) -> bool:
    """Return whether the header Content-Type promises an HTML page in place of another file, or of any.

    >>> is_page_promised("text/html; charset=utf-8", "a.csv", None), is_page_promised("text/html", "a.csv", "HTML")
    (True, False)
    """
    is_page = _declared(media_type) in (_HTML, "application/xhtml+xml")
    return is_page and _HTML not in {one.media_type for one in _claimed(claimed_format or _suffix(name_hint))}


def _is_page(head: bytes, found: str | None, declared: str | None, claimed: str | None) -> bool:
    """Return whether an HTML page came where a file was promised.

    A page of Excel's own HTML is the file that its header calls Excel; a text without markup is not a page.
    """
    if _HTML in {one.media_type for one in _claimed(claimed)}:
        return False
    if found == _HTML:
        is_table = b"urn:schemas-microsoft-com:office" in head or root_of(_decoded(head)[:1000]) == "table"
        return not (is_table and declared in _EXCEL)
    is_declared = declared in (_HTML, "application/xhtml+xml")
    return found == _TEXT and is_declared and _MARKUP.search(_decoded(head)) is not None


# Its labels


def _declared(header: str | None) -> str | None:
    """
    >>> _declared("Text/CSV; charset=utf-8"), _declared("application/foo"), _declared("csv")
    ('text/csv', 'application/foo', None)
    """
    found = _MEDIA_TYPE.match(header or "")
    return found[1].lower() if found else None


def _suffix(hint: str | None) -> str | None:
    """
    >>> _suffix("https://a.org/wells.CSV?v=1"), _suffix("wells"), _suffix("a.php"), _suffix("v1.2")
    ('csv', None, None, None)
    """
    last = re.split(r"[?#]", hint or "")[0].rpartition("/")[2]
    name, dot, suffix = last.rpartition(".")
    suffix = suffix.lower()
    is_one = bool(name and dot and _SUFFIX.fullmatch(suffix)) and not suffix.isdigit() and suffix not in _PROGRAMS
    return suffix if is_one else None


@lru_cache(maxsize=1024)
def _claimed(text: str | None) -> list[_Type]:
    """Return the kinds of file that a catalogue's word, a suffix or a media type may mean; empty if unknown."""
    if not text or len(text) > _LONGEST:
        return []
    words = "".join(filter(str.isalnum, text.lower()))
    known = eu_file_type(text) or eu_file_type(best_format([text]))
    media_type = known.media_type if known else text.strip().lower()
    found = [one for one in _types().values() if words in one.names or one.media_type == media_type]
    return [*found, *([_unlisted(media_type)] if known and media_type not in _types() else [])]


def _unlisted(media_type: str) -> _Type:
    """Return an unlisted kind of file: its bytes may look like a text or a table."""
    return _Type(media_type, "", _LOOSE, False, frozenset(), frozenset())


def _finding(claimed: str | None, declared: str | None, found: str | None) -> str | None:
    """Return the disagreement in words; what is vague or unknown disagrees with nothing but a page."""
    if found is None:
        return None
    kinds = _claimed(claimed)
    if kinds and not any(_agrees(kind, found) for kind in kinds):
        return f"says {_claim(str(claimed))}, is {_name(found)}"
    if not kinds and claimed and found == _HTML:
        return f"says {_claim(claimed)}, is HTML"
    kind = _types().get(declared or "")
    if kind is None or declared in _VAGUE or _agrees(kind, found) or declared in _type(found).served_as:
        return None
    return f"declared {declared}, is {_name(found)}"


def _agrees(claimed: _Type, found: str) -> bool:
    """Return whether bytes that were found to be one kind may be the file that was claimed."""
    if claimed.media_type == found or claimed.media_type in _type(found).kind_of:
        return True
    return found in claimed.kind_of and not (found == _TEXT and claimed.is_shown)


def _claim(text: str) -> str:
    r"""
    >>> _claim("csv"), _claim("text/csv"), _claim("Web\u202e app")
    ('CSV', 'CSV', 'Web app')
    """
    known = eu_file_type(text)
    if known:
        return known.code
    return " ".join("".join(one if one.isprintable() else " " for one in text[:_MOST_NAME]).split())


def _name(media_type: str) -> str:
    known = eu_file_type(media_type)
    return known.code if known else best_format([media_type]) or media_type


# What it is


def _found(head: bytes) -> tuple[str | None, str | None]:
    """Return the media type that the first bytes show, and an extension if it is not one of types.csv."""
    found = _by_bytes(head)
    if found == _ZIP:
        return _of_zip(head), None
    if found == "application/x-ole-storage":
        return _of_ole(head), None
    if found:
        return found, None
    if _is_text(head):
        return _of_text(_decoded(head)), None
    return _by_magic(head)


def _by_bytes(head: bytes) -> str | None:
    return next((kind for at, mark, kind in _marks_at() if head.startswith(mark, at)), None)


def _by_magic(head: bytes) -> tuple[str | None, str | None]:
    """Return what puremagic knows: pictures, sound, programs; two bytes are too few to be sure of."""
    try:
        matches = puremagic.magic_string(head)
    except puremagic.PureError:
        return None, None
    sure = [one for one in matches if one.mime_type and one.confidence >= 0.3]
    return (sure[0].mime_type, _suffix(f"x{sure[0].extension}")) if sure else (None, None)


def _of_zip(head: bytes) -> str:
    """Return what a ZIP archive is by the names of its first members."""
    names: list[str] = []
    for name, data in _members(head):
        if name == "mimetype" and not names:
            declared = _declared(data[:200].split(b"PK")[0].decode("latin-1"))
            return declared if declared in _types() else _ZIP
        if name == "[Content_Types].xml" and (office := _of_content_types(data)):
            return office
        names.append(name)
    is_office = bool(names) and _OFFICE.match(names[0]) is not None
    for mark, kind in _marks("zip"):
        is_name = mark.startswith("*")
        if any(fnmatchcase(name.lower(), mark) if is_name else is_office and name.startswith(mark) for name in names):
            return kind
    return _ZIP


def _members(head: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the names of a ZIP archive's members, and what follows each."""
    at = head.find(_MEMBER)
    for _ in range(_MOST_MEMBERS):
        if at < 0 or len(head) < at + 30:
            return
        length, extra = (int.from_bytes(head[at + place : at + place + 2], "little") for place in (26, 28))
        start = at + 30 + length + extra
        yield head[at + 30 : at + 30 + length].decode("utf-8", "replace"), head[start:]
        size = int.from_bytes(head[at + 18 : at + 22], "little")
        at = head.find(_MEMBER, start + (size if size < len(head) else 0))


def _of_content_types(data: bytes) -> str | None:
    """Return the office format that the list of a package's parts names, if it is compressed as is usual."""
    try:
        text = zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, HEAD)
    except zlib.error:
        return None
    return next((kind for mark, kind in _marks("part") if mark.encode() in text), None)


def _of_ole(head: bytes) -> str:
    """Return what an OLE file is by the names of its streams, where they stand in its first bytes."""
    for mark, kind in _marks("ole"):
        if f"{mark}\0".encode("utf-16-le") in head:
            return kind
    return "application/x-ole-storage"


def _is_text(head: bytes) -> bool:
    """Return whether there are no more control characters than a careless export leaves."""
    if marked(head[:4]):
        return True
    return b"\0" not in head and (len(head) - len(head.translate(None, _CONTROL))) * 1000 <= len(head)


def _decoded(head: bytes) -> str:
    name, length = marked(head[:4]) or ("utf-8", 0)
    return codecs.decode(head[length:], name, "replace")


def _of_text(text: str) -> str:
    text = text.lstrip("\ufeff \t\r\n\f")
    if text.startswith("<") and (found := _of_markup(text)):
        return found
    if _OPEN_JSON.match(text):
        return next((kind for mark, kind in _marks("json") if re.search(mark, text)), "application/json")
    body = re.sub(r"\A(?:#[^\n]*\n\s*)++", "", text)
    return next((kind for mark, kind in _marks("text") if re.match(mark, body)), None) or _of_table(text) or _TEXT


def _of_markup(text: str) -> str | None:
    root = (root_of(text) or "").lower()
    if re.match(r"<!doctype\s+html", text, re.IGNORECASE) or (root == "html"):
        return _HTML
    found = dict(_marks("root")).get(root)
    if found == _HTML and text.startswith("<?xml"):
        return "application/xml"
    return found or ("application/xml" if root else None)


def _of_table(text: str) -> str | None:
    """Return CSV or TSV, if most of the first lines have as many cells as one another, and more than one."""
    sample = text[:_SAMPLE] if text.count("\n", 0, _SAMPLE) > 2 else text
    lines = [line for line in sample.splitlines() if line.strip()]
    lines = lines[:-1] if len(lines) > 2 and len(sample) >= _SAMPLE else lines  # the last one may be cut
    shares = {delimiter: _share(lines[:_ROWS], delimiter) for delimiter in "\t,;|"} if len(lines) > 1 else {}
    best = max(shares, key=lambda delimiter: shares[delimiter], default="")
    if shares.get(best, 0) < 0.6:
        return None
    return "text/tab-separated-values" if best == "\t" else "text/csv"


def _share(lines: list[str], delimiter: str) -> float:
    """Return the share of lines that have the most common number of cells, 0 if that is one.

    >>> _share(["a;b", "1,5;2", "3;4"], ";"), _share(["a", "b"], ",")
    (1.0, 0.0)
    """
    try:
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:
        return 0.0
    width, count = Counter(widths).most_common(1)[0] if widths else (1, 0)
    return count / len(widths) if width > 1 else 0.0


# For a readable name


def _extension(
    found: str | None, known: str | None, hint: str | None, declared: str | None, claimed: str | None
) -> str | None:
    """Return the extension of what was found, or of a special case of it that the name, header or catalogue says."""
    said = [*_claimed(hint), *([_types()[declared]] if declared in _types() else []), *_claimed(claimed)]
    if found is None:
        return hint or next((one.extension for one in said if one.extension), None)
    special = next(
        (one.extension for one in said if found in one.kind_of and one.extension and _agrees(one, found)), None
    )
    is_text = found == _TEXT and not any(one.extension for one in _claimed(hint))
    return special or (hint if is_text else None) or _type(found).extension or known


# Tables


def _type(media_type: str) -> _Type:
    return _types().get(media_type) or _unlisted(media_type)


@cache
def _types() -> dict[str, _Type]:
    def words(cell: str) -> frozenset[str]:
        return frozenset(cell.split()) - {"-"}

    rows = csv_rows(__package__, "types.csv")
    found = [
        _Type(name, extension, words(kind_of), shown == "yes", words(names), words(served))
        for name, extension, kind_of, shown, names, served in rows
    ]
    return {one.media_type: one for one in found}


@cache
def _marks(where: str) -> list[tuple[str, str]]:
    rows = csv_rows(__package__, "signatures.csv")
    return [(mark, kind) for place, mark, kind in rows if place == where]


@cache
def _marks_at() -> list[tuple[int, bytes, str]]:
    rows = csv_rows(__package__, "signatures.csv")
    return [
        (int(place), mark.encode().decode("unicode_escape").encode("latin-1"), kind)
        for place, mark, kind in rows
        if place.isdigit()
    ]
