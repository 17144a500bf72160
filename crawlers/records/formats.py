"""Formats of files: what the source calls them, else what a media type, a service or an address tells."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from crawlers.records import values
from crawlers.records.tables import csv_rows, toml_table

if TYPE_CHECKING:
    from collections.abc import Iterable


_OGC = re.compile(r"\b(wms|wmts|wfs|wcs|wps|csw|sos|sta)\b", re.IGNORECASE)
_OGC_STANDARD = re.compile(r"https?://www\.(?:opengeospatial\.org/standards|opengis\.net/def/serviceType/ogc)/([\w-]+)")
_OGC_QUERY = re.compile(r"[?&]service=(wms|wmts|wfs|wcs|wps|csw|sos)(?:&|$)", re.IGNORECASE)
_SUFFIX = re.compile(r"://[^/?#]+/(?:[^?#]*/)?[^/?#]*\.([A-Za-z0-9]{1,8})(?:[?#]|$)")
_PROGRAMS = {"php", "asp", "aspx", "jsp", "jspx", "do", "cgi", "action", "ashx", "svc", "exe", "dll"}
_RELATIVE = re.compile(
    r"https?://.*/((?:application|audio|font|image|model|multipart|text|video)/[a-z0-9.+-]+)(?<!\.html)(?<!\.htm)(?<!\.php)"
)
_TREES = {"application", "audio", "chemical", "font", "image", "message", "model", "multipart", "text", "video"}


def best_format(spellings: Iterable[str | None]) -> str | None:
    """Return the best name among several: one that people use, then the EU's code, then a media type's.

    >>> best_format(["text/csv", "http://publications.europa.eu/resource/authority/file-type/TSV"]), best_format([None])
    ('TSV', None)
    """
    found = [each for text in spellings if text and (each := _format(text))]
    return min(found)[1] if found else None


def file_type(format_: str | None, type_: str | None, url: str | None) -> tuple[str | None, str | None]:
    """Return the format and the media type, from what a record says of both and from the file's address.

    >>> file_type(None, "text/csv; charset=utf-8", None), file_type("application/json", None, None)
    (('CSV', 'text/csv'), ('JSON', 'application/json'))
    >>> file_type(None, "ZIP", None)
    ('ZIP', 'application/zip')
    """
    format_, type_ = values.text(format_ or ""), values.text(type_ or "")
    found = best_format([format_]) or best_format([type_]) or (format_of_address(url) if url else None)
    return found, stated_media_type(type_ or "") or media_type(format_ or "")


def protocol(standards: Iterable[str]) -> str | None:
    """Return the OGC protocol among the standards of a service.

    >>> protocol(["http://www.opengis.net/def/serviceType/ogc/wfs", "https://example.org/"])
    'WFS'
    """
    return min((found[1].upper() for text in standards if (found := _OGC_STANDARD.match(text))), default=None)


def protocol_name(text: str) -> str | None:
    """
    >>> protocol_name("http://www.opengeospatial.org/standards/wms"), protocol_name("OGC API - Features")
    ('WMS', 'OGC API - Features')
    """
    ogc = _OGC.search(text)
    return ogc[1].upper() if ogc else _last_part(text)


@lru_cache(maxsize=1024)
def _format(text: str) -> tuple[int, str] | None:
    """Return how good a name is, 0 the best, and the name.

    >>> _format("GeoJSON"), _format("http://publications.europa.eu/resource/authority/file-type/CSV")
    ((0, 'GeoJSON'), (1, 'CSV'))
    >>> _format("Excel-Datei"), _format("Fichier"), _format("shapefile")
    ((0, 'XLS'), (0, 'Fichier'), (0, 'shapefile'))
    >>> _format("https://www.iana.org/assignments/media-types/application/json"), _format("application/vnd.ms-excel")
    ((2, 'JSON'), (2, 'XLS'))
    """
    if "/file-type/" in text:
        rank, name = 1, _last_part(text)
    elif media := media_type(text):
        rank, name = 2, _of_media_type(media)
    elif "://" in text:
        rank, name = 3, _last_part(text)
    else:
        known = None if len(text) > _LONGEST_NAME or eu_file_type(text) else _in_words(text.lower())
        rank, name = 0, known.code if known else values.text(text.strip().removeprefix("."))
    return (rank, name) if name else None


def _of_media_type(media: str) -> str:
    known = _media_types().get(media)
    if known:
        return known
    last = media.partition("/")[2]
    return last.upper() if last.isalnum() else last


@cache
def _media_types() -> dict[str, str]:
    return {media_type: name for media_type, name in csv_rows(__package__, "formats.csv")}  # noqa: C416


@lru_cache(maxsize=1024)
def media_type(text: str) -> str | None:
    """Return a media type; one that was written as a relative IRI, too.

    >>> media_type("http://www.iana.org/assignments/media-types/text/csv"), media_type("SHP/ZIP"), media_type("CSV")
    ('text/csv', None, None)
    >>> media_type("https://data.example.org/catalogue/text/csv"), media_type("https://example.org/image/png.html")
    ('text/csv', None)
    """
    relative = _RELATIVE.fullmatch(text)
    found = values.media_type(relative[1] if relative else text)
    return found if found and found.partition("/")[0] in _TREES else None


@lru_cache(maxsize=1024)
def stated_media_type(text: str) -> str | None:
    """Return the media type that a record states as such, if only by the name of a format.

    >>> stated_media_type("ZIP"), stated_media_type("https://data.example.org/ZIP"), stated_media_type("text/x")
    ('application/zip', 'application/zip', 'text/x')
    >>> stated_media_type("https://www.iana.org/assignments/media-types/application/zip"), stated_media_type("whatever")
    ('application/zip', None)
    """
    known = None if (found := media_type(text)) else eu_file_type(_last_part(text))
    return known.media_type if known else found


def _last_part(text: str) -> str | None:
    return values.text(re.split(r"[/#]", text.strip().rstrip("/"))[-1]) if "://" in text else values.text(text)


def format_of_address(url: str) -> str | None:
    """
    >>> format_of_address("https://a.org/ows?SERVICE=WMS&VERSION=1.3.0"), format_of_address("https://a.org/files/wells.csv?v=2")
    ('WMS', 'CSV')
    >>> format_of_address("https://a.org"), format_of_address("https://a.org/index.php?id=3"), format_of_address("https://a.org/v1.2")
    (None, None, None)
    """
    if "=" in url and (query := _OGC_QUERY.search(url)):
        return query[1].upper()
    found = _SUFFIX.search(url)
    suffix = found[1].lower() if found else ""
    return suffix.upper() if suffix and not suffix.isdigit() and suffix not in _PROGRAMS else None


_LONGEST_NAME = 100
_AROUND, _ARCHIVE = "around", "archive"
_ARCHIVES = frozenset(("7Z", "GZIP", "RAR", "TAR", "ZIP"))
_SIGNS = re.compile(r"[\W_]")
AUTHORITY = "http://publications.europa.eu/resource/authority/file-type/"


class FileType(NamedTuple):
    code: str
    media_type: str

    @property
    def iri(self) -> str:
        return AUTHORITY + self.code


def eu_file_type(name: str | None) -> FileType | None:
    """Return the type of a format as portals write it, or a media type.

    >>> eu_file_type("GeoJSON").iri
    'http://publications.europa.eu/resource/authority/file-type/GEOJSON'
    >>> eu_file_type("text/csv").code, eu_file_type("RDF_TURTLE").media_type, eu_file_type(".xlsx").code
    ('CSV', 'text/turtle', 'XLSX')
    >>> eu_file_type("HXL")
    """
    if not name or len(name) > _LONGEST_NAME:
        return None
    name = name.strip().lower()
    return _by_name().get(name) or _by_name().get("".join(filter(str.isalnum, name)))


def _in_words(name: str) -> FileType | None:
    """Return the type of a format that is said in words of any language.

    >>> [_in_words(each).code for each in ("csv-datei", "página web", "ملف csv", "arkusz excel")], _in_words("fil")
    (['CSV', 'HTML', 'CSV', 'XLS'], None)
    >>> _in_words("zip-archiv").code, _in_words("csv archive"), _in_words("test")
    ('ZIP', None, None)
    """
    around, archive, named = _words()
    if (said := " ".join(_SIGNS.sub(" ", name).split())) in named:
        return _by_name().get(named[said].lower())
    bare = archive.sub("", said)
    rest = around.sub("", bare).split()
    known = _by_name().get(" ".join(rest)) or _by_name().get("".join(rest))
    return known if known and (bare == said or known.code in _ARCHIVES) else None


@cache
def _words() -> tuple[re.Pattern[str], re.Pattern[str], dict[str, str]]:
    """Return what finds the words around a format's name and around an archive's, and names in words by their code."""
    said = [
        (key, " ".join(_SIGNS.sub(" ", word.lower()).split()))
        for language in toml_table(__package__, "format_words.toml").values()
        for key in language
        for word in language[key]
    ]
    by_key = {key: sorted({word for of, word in said if of == key}, key=len, reverse=True) for key, _ in said}
    around, archive = (
        re.compile(r"(?<![^\W\d_])(?:{})(?![^\W\d_])".format("|".join(map(re.escape, by_key.pop(key)))))
        for key in (_AROUND, _ARCHIVE)
    )
    return around, archive, {word: key for key, words in by_key.items() for word in words}


@cache
def _by_name() -> dict[str, FileType]:
    return {
        name: FileType(code, media_type)
        for code, media_type, names in csv_rows(__package__, "file_types.csv")
        for name in (*names.split(), media_type, "".join(filter(str.isalnum, code.lower())))
    }
