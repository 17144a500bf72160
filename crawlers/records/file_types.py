"""What a format is called elsewhere: in the EU's vocabulary of file types, and at IANA."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from crawlers.records.tables import csv_rows

_LONGEST = 100
AUTHORITY = "http://publications.europa.eu/resource/authority/file-type/"


class FileType(NamedTuple):
    code: str
    media_type: str

    @property
    def iri(self) -> str:
        return AUTHORITY + self.code


def file_type(name: str | None) -> FileType | None:
    """Return the type of a format as portals write it, or a media type.

    >>> file_type("GeoJSON").iri
    'http://publications.europa.eu/resource/authority/file-type/GEOJSON'
    >>> file_type("text/csv").code, file_type("RDF_TURTLE").media_type, file_type(".xlsx").code, file_type("HXL")
    ('CSV', 'text/turtle', 'XLSX', None)
    """
    if not name or len(name) > _LONGEST:
        return None
    name = name.strip().lower()
    return _by_name().get(name) or _by_name().get("".join(filter(str.isalnum, name)))


@cache
def _by_name() -> dict[str, FileType]:
    return {
        name: FileType(code, media_type)
        for code, media_type, names in csv_rows(__package__, "file_types.csv")
        for name in (*names.split(), media_type, "".join(filter(str.isalnum, code.lower())))
    }
