"""What a format is called elsewhere: in the EU's vocabulary of file types, and at IANA."""

from __future__ import annotations

from typing import NamedTuple

_LONGEST = 100
AUTHORITY = "http://publications.europa.eu/resource/authority/file-type/"

# The EU's code, the media type, and what portals write.
_TYPES = """
7Z application/x-7z-compressed 7z 7zip
ATOM application/atom+xml atom atomfeed
CSV text/csv csv
DBF application/vnd.dbf dbf dbase
DOC application/msword doc word
DOCX application/vnd.openxmlformats-officedocument.wordprocessingml.document docx
DWG image/vnd.dwg dwg
DXF image/vnd.dxf dxf
EPUB application/epub+zip epub
GEOJSON application/geo+json geojson
GIF image/gif gif
GML application/gml+xml gml
GPKG application/geopackage+sqlite3 gpkg geopackage
GZIP application/gzip gz gzip
HTML text/html html htm webpage website
ICS text/calendar ics ical
JPEG image/jpeg jpeg jpg
JSON application/json json
JSON_LD application/ld+json jsonld
KML application/vnd.google-earth.kml+xml kml
KMZ application/vnd.google-earth.kmz kmz
MDB application/x-msaccess mdb access
N3 text/n3 n3
NETCDF application/x-netcdf netcdf nc
ODS application/vnd.oasis.opendocument.spreadsheet ods
ODT application/vnd.oasis.opendocument.text odt
PDF application/pdf pdf
PNG image/png png
PPT application/vnd.ms-powerpoint ppt powerpoint
PPTX application/vnd.openxmlformats-officedocument.presentationml.presentation pptx
RAR application/vnd.rar rar
RDF_N_QUADS application/n-quads nquads nq
RDF_N_TRIPLES application/n-triples ntriples nt
RDF_TRIG application/trig trig
RDF_TURTLE text/turtle turtle ttl
RDF_XML application/rdf+xml rdfxml rdf
RSS application/rss+xml rss
RTF application/rtf rtf
SHP application/vnd.shp shp shapefile esrishapefile
SQL application/sql sql
SVG image/svg+xml svg
TAR application/x-tar tar
TIFF image/tiff tiff tif
TSV text/tab-separated-values tsv
TXT text/plain txt text plaintext
XHTML application/xhtml+xml xhtml
XLS application/vnd.ms-excel xls excel
XLSX application/vnd.openxmlformats-officedocument.spreadsheetml.sheet xlsx
XML application/xml xml
ZIP application/zip zip
"""


class FileType(NamedTuple):
    code: str
    media_type: str

    @property
    def iri(self) -> str:
        return AUTHORITY + self.code


_BY_NAME = {
    name: FileType(code, media_type)
    for code, media_type, *names in map(str.split, _TYPES.split("\n")[1:-1])
    for name in (*names, media_type, "".join(filter(str.isalnum, code.lower())))
}


def file_type(name: str | None) -> FileType | None:
    """By a format as portals write it, or a media type.

    >>> file_type("GeoJSON").iri
    'http://publications.europa.eu/resource/authority/file-type/GEOJSON'
    >>> file_type("text/csv").code, file_type("RDF_TURTLE").media_type, file_type(".xlsx").code, file_type("HXL")
    ('CSV', 'text/turtle', 'XLSX', None)
    """
    if not name or len(name) > _LONGEST:
        return None
    name = name.strip().lower()
    return _BY_NAME.get(name) or _BY_NAME.get("".join(filter(str.isalnum, name)))
