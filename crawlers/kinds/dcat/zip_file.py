"""A zip file, such as a catalogue's dump: the file of RDF that is in it, in place of the answer."""

from __future__ import annotations

import zipfile
import zlib
from typing import TYPE_CHECKING, Any, BinaryIO

from crawlers.components.spool import SpooledFile, SpooledResponse, open_body
from crawlers.exceptions import AnswerError
from crawlers.kinds.dcat.answer import NoRDFError
from crawlers.listing.spider import in_turns
from crawlers.records.rdf import formats

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

_BEGIN = b"PK\x03\x04"
_DIRECTORY = 1 << 20  # bytes of the list of what is in it: at least 10,000 files
_PART = 256 * 1024
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # LZMA takes the memory that the file says
_ENCRYPTED = 1
_NAMED = 10  # files that a message names


async def unzipped(response: Response, *, most: int, folder: str | None) -> Response:
    """Return the answer with the only file of RDF that a zip file has; other answers as they are.

    No name in it is taken for a path: the file goes into a temporary one.

    Args:
        most: the bytes that it may unpack to; 0 = no limit.
        folder: where the temporary file takes space.

    Raises:
        AnswerError: the zip file has no file of RDF or several, has too much, or can't be unpacked.
    """
    with open_body(response) as body:
        begin = body.read(len(_BEGIN))
        received = body.seek(0, 2)
        if begin != _BEGIN:
            return response
        file = SpooledFile(folder)
        try:
            with zipfile.ZipFile(_Sips(body)) as archive:
                member = _only(archive)
                await in_turns(_unpack(archive, member, file, most))
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, OSError) as error:
            raise AnswerError("truncated", f"the zip file can't be unpacked ({error})") from error
    format_, headers = formats.by_suffix(member.filename), response.headers.copy()
    headers["Content-Type"] = format_.media_types[0] if format_ else ""
    return SpooledResponse.from_response(response, file, received).replace(headers=headers)


class _Sips:
    """A file of which little is read at once, whatever the zip file says about its size."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.seek, self.tell, self.seekable = file, file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        found = self.file.read(_DIRECTORY + 1 if size < 0 else min(size, _DIRECTORY + 1))
        if len(found) > _DIRECTORY:
            raise AnswerError("too_large", "the zip file has too many files: give the address of the one with the RDF")
        return found


def _only(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """Return the file of RDF; a single file may have any name."""
    named = (each for each in archive.infolist() if each.filename)  # a zip file may have a name of NULs alone
    files = [each for each in named if not (each.is_dir() or _is_hidden(each.filename))]
    found = [each for each in files if formats.by_suffix(each.filename) and not each.filename.endswith(".gz")]
    found = found or (files if len(files) == 1 else [])
    if not found:
        raise NoRDFError(f"the answer is a zip file without RDF: {_listed(files)}")
    if len(found) > 1:
        message = f"the zip file has several files of RDF ({_listed(found)}): give the address of a file of its own"
        raise AnswerError("not_rdf", message)
    if found[0].flag_bits & _ENCRYPTED or found[0].compress_type not in _METHODS:
        raise AnswerError("not_rdf", f"{_listed(found)} in the zip file has a password, or is not packed by deflate")
    return found[0]


def _is_hidden(name: str) -> bool:
    """Return whether a file is a system's own, such as ``__MACOSX/._catalog.rdf``."""
    return name.startswith("__MACOSX/") or name.rpartition("/")[2].startswith(".")


def _listed(files: list[zipfile.ZipInfo]) -> str:
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    return ", ".join(each.filename[-100:] for each in files[:_NAMED]) + more if files else "it is empty"


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo, into: SpooledFile, most: int) -> Iterator[Any]:
    with archive.open(member) as packed:
        while part := packed.read(_PART):
            into.write(part)
            if most and into.size > most:
                raise AnswerError("too_large", f"the file in the zip file is larger than SPOOL_MAXSIZE ({most} bytes)")
            yield
