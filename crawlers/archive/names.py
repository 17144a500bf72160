"""A readable name for a file, which names nothing on disk: for the people who download it again."""

from __future__ import annotations

import re
from email.message import Message
from urllib.parse import unquote

from crawlers.safety.names import NAMELESS, last_segment, slug

_LONGEST = 80  # characters of a name
_READ = 2_000  # characters of a header, a segment or a title; what follows is not read
_SUFFIX = re.compile(r"(?i:(?:\.[a-z][a-z0-9]{0,7})?\.(?:gz|bz2|xz|zst|zip)|\.(?![0-9]+$)[a-z0-9]{1,8})$")
_EXTENDED = re.compile(r"""\bfilename\*\s*=\s*"?([\w-]{1,40})'[^']{0,40}'([^";\s]+)""", re.IGNORECASE)  # RFC 8187
_DEVICE = re.compile(r"(?:con|prn|aux|nul|conin|conout|clock|(?:com|lpt)[0-9])(?:-|$)")  # of Windows


def readable(url: str, content_disposition: str | None, title: str | None) -> str:
    """Return a name for a file, without an extension: a slug, of 80 characters at most, that every system takes.

    It is the name that the header Content-Disposition gives, else the last part of the address' path, else the
    resource's title; a generic part, such as "download", gives way to the title.

    Args:
        content_disposition: the header; RFC 6266 and 8187 are read, and what servers send instead.

    >>> readable("https://a.org/x/Wells%202024.csv?v=1", None, "All wells"), readable("https://a.org/", None, "Wells")
    ('wells-2024', 'wells')
    >>> readable("https://a.org/download", "attachment; filename*=UTF-8''Br%C3%BCcken.xlsx", None)
    'brucken'
    """
    names = [*map(_named, (_of_header(content_disposition), last_segment(url))), slug((title or "")[:_READ], _LONGEST)]
    found = next((name for name in names if name and name not in NAMELESS), None) or next(filter(None, names), "file")
    return f"file-{found}"[:_LONGEST].rstrip("-") if _DEVICE.match(found) else found


def file_name(url: str, content_disposition: str | None) -> str:
    """Return a file's name as its server gives it: what its suffix says may be true, and it names nothing on disk.

    >>> file_name("https://a.org/wells.CSV?v=1", None), file_name("https://a.org/", 'attachment; filename="../b.xls"')
    ('wells.CSV', 'b.xls')
    """
    return _base(_of_header(content_disposition)) or _base(last_segment(url))


def _named(text: str) -> str:
    return slug(_SUFFIX.sub("", _base(text)), _LONGEST)


def _base(text: str) -> str:
    """Return the last part of a path, whatever its separators."""
    return re.split(r"[/\\]", text.strip("/\\ \t"))[-1]


def _of_header(value: str | None) -> str:
    r"""Return the file name of a Content-Disposition; "" for none.

    >>> _of_header('attachment; filename="\xe2\x82\xac.csv"'), _of_header("filename=a b.csv"), _of_header("inline")
    ('€.csv', 'a b.csv', '')
    """
    if not value:
        return ""
    line = " ".join(value[:_READ].split())
    return _extended(line) or _plain(line)


def _extended(line: str) -> str:
    """Return the name that is given with its encoding, which counts where both are."""
    found = _EXTENDED.search(line)
    try:
        return unquote(found[2], encoding=found[1], errors="strict") if found else ""
    except (LookupError, UnicodeError):
        return ""


def _plain(line: str) -> str:
    message = Message()
    message["Content-Disposition"] = line if ";" in line.partition("=")[0] else f"attachment; {line}"
    try:
        name = message.get_filename("")
    except (UnicodeError, LookupError, ValueError, TypeError):  # of a header that was never meant to be read
        return ""
    return _repaired(name)


def _repaired(name: str) -> str:
    """Return UTF-8 that was sent as it is, which arrives as Latin-1."""
    try:
        return name.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return name
