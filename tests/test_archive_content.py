"""What a file is by its first bytes, which addresses are services, and what a file is called."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from time import process_time

import pytest

from crawlers.archive.content import look
from crawlers.archive.names import readable
from crawlers.archive.services import exception, is_capabilities, service

CSV = b"id,name,depth\n1,North,20\n2,South,31\n"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
HTML = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body><p>Please</p></body></html>"


def packed(*names: str, method: int = zipfile.ZIP_DEFLATED, **given: str) -> bytes:
    """A ZIP archive with members of these names."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name in names:
            archive.writestr(name, given.get(name, "x" * 3000))
    return file.getvalue()


def seen(head: bytes, media_type=None, hint=None, claimed=None):
    return look(head, len(head), media_type, hint, claimed)


BOOK = packed("docProps/app.xml", "docProps/core.xml", "xl/theme.xml", "xl/workbook.xml", "[Content_Types].xml")
PARTS = {"[Content_Types].xml": f'<Types><Override ContentType="{XLSX}.main+xml"/></Types>'}
KINDS = [
    (CSV, "text/csv", "csv"),
    (b"\xef\xbb\xbf" + CSV, "text/csv", "csv"),
    (b"# made today\n" + CSV, "text/csv", "csv"),
    (CSV.decode().encode("utf-16"), "text/csv", "csv"),
    ("Straße;Höhe\nA;1,5\nB;2,5\n".encode("cp1252"), "text/csv", "csv"),
    (b'a,b\n"x\ny",2\n"z",3\n', "text/csv", "csv"),
    (b"PK,BM\n1,2\n", "text/csv", "csv"),
    (b"MZ,1\nMZ,2\n", "text/csv", "csv"),
    (b"id\n1\n2\n", "text/plain", "txt"),
    (b"Once upon a time, there was a well.\nIt was deep.\n", "text/plain", "txt"),
    (CSV.replace(b",", b"\t"), "text/tab-separated-values", "tsv"),
    (b'[{"a": 1}]', "application/json", "json"),
    (b"\n {}", "application/json", "json"),
    (b'{"a": 1}\n{"a": 2}\n', "application/x-ndjson", "ndjson"),
    (b'{"name": "x", "type": "FeatureCollection", "features": []}', "application/geo+json", "geojson"),
    (b'{"@context": {}, "@graph": []}', "application/ld+json", "jsonld"),
    (b'<?xml version="1.0"?><data/>', "application/xml", "xml"),
    (b'<?xml version="1.0"?><table><row/></table>', "application/xml", "xml"),
    (b'<?xml version="1.0"?>\n<!-- x --><kml xmlns="http://www.opengis.net/kml/2.2">', None, "kml"),
    (b'<wfs:FeatureCollection xmlns:wfs="x">', "application/gml+xml", "gml"),
    (b'<rdf:RDF xmlns:rdf="x">', "application/rdf+xml", "rdf"),
    (b"# x\n@prefix dcat: <http://www.w3.org/ns/dcat#> .\n", "text/turtle", "ttl"),
    (b'<http://x/a> <http://x/b> "c, d" .\n<http://x/a> <http://x/b> "e, f" .\n', "application/n-triples", "nt"),
    (HTML, "text/html", "html"),
    (b"\xef\xbb\xbf\r\n<!-- x --><HTML>", "text/html", "html"),
    (b'<?xml version="1.0"?><!DOCTYPE html PUBLIC "a" "b"><html xmlns="x">', "text/html", "html"),
    (b"<br />\n<b>Warning</b>: fopen() in /srv/x.php", "text/html", "html"),
    (packed("a.csv"), "application/zip", "zip"),
    (BOOK, XLSX, "xlsx"),
    (packed("[Content_Types].xml", "word/document.xml"), None, "docx"),
    (packed("[Content_Types].xml", "x" * 100, **PARTS), XLSX, "xlsx"),
    (packed("notes.txt", "xl/a.xml"), "application/zip", "zip"),
    (packed("a.xlsx", method=zipfile.ZIP_STORED, **{"a.xlsx": BOOK.decode("latin-1")}), "application/zip", "zip"),
    (packed("mimetype", method=zipfile.ZIP_STORED, mimetype="application/vnd.oasis.opendocument.text"), None, "odt"),
    (packed("doc.kml", "files/a.png"), "application/vnd.google-earth.kmz", "kmz"),
    (packed("roads/Roads.SHP", "roads/Roads.dbf"), "application/x-shapefile", "zip"),
    (packed("a.gdb/a00000001.gdbtable"), "application/x-filegdb", "zip"),
    (b"PK\x05\x06" + bytes(18), "application/zip", "zip"),
    (b"PK\x03\x04" + b"\xff" * 30, "application/zip", "zip"),
    (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "application/pdf", "pdf"),
    (gzip.compress(CSV, mtime=0), "application/gzip", "gz"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504) + "Workbook\0".encode("utf-16-le"), None, "xls"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504), "application/x-ole-storage", "ole"),
    (b"SQLite format 3\0" + bytes(52) + b"GPKG" + bytes(30), "application/geopackage+sqlite3", "gpkg"),
    (b"SQLite format 3\0" + bytes(90), "application/vnd.sqlite3", "sqlite"),
    (b"PAR1\x15\x04" + bytes(90), "application/vnd.apache.parquet", "parquet"),
    (b"CDF\x01" + bytes(90), "application/x-netcdf", "nc"),
    (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "image/png", "png"),
    (b"\xff\xd8\xff\xdb\0\x43", "image/jpeg", "jpg"),
    (b"MM\0*\0\0\0\x08", "image/tiff", "tif"),
    (b"7z\xbc\xaf\x27\x1c\0\4", "application/x-7z-compressed", "7z"),
    (b"\xfd7zXZ\0\0\4", "application/x-xz", "xz"),
    (b"\0\0\0\x18ftypmp42" + bytes(20), "video/mp4", "mp4"),  # by puremagic
    (bytes(range(256)) * 9, None, None),
]


@pytest.mark.parametrize(("head", "media_type", "extension"), KINDS)
def test_what_the_bytes_show(head, media_type, extension):
    found = seen(head)
    assert found.extension == extension
    assert media_type in (None, found.found_type)
    assert found.verdict == ("page" if extension == "html" else "file")
    assert found.finding is None


FINDINGS = [
    (HTML, "text/html", None, "CSV", "says CSV, is HTML"),
    (HTML, "text/csv", None, None, "declared text/csv, is HTML"),
    (HTML, "text/html", "https://a.org/wells.csv?v=1", None, "says CSV, is HTML"),
    (HTML, "text/html", None, "Data\u202e portal", "says Data portal, is HTML"),
    (HTML, "text/html", None, None, None),
    (BOOK, "text/csv", None, "CSV", "says CSV, is XLSX"),
    (BOOK, None, None, "XLS", "says XLS, is XLSX"),
    (BOOK, "application/vnd.ms-excel", None, "Excel", None),
    (BOOK, "application/zip", None, "xlsx", None),
    (BOOK, "application/octet-stream", None, ".xlsx", None),
    (packed("a.csv"), "application/zip", None, "CSV", "says CSV, is ZIP"),
    (packed("a.shp"), "application/zip", None, "SHP", None),
    (packed("a.shp"), None, None, "zipped shapefile", None),
    (packed("a.csv"), None, None, "SHP", None),
    (CSV, "text/plain", None, "CSV", None),
    (CSV, "application/octet-stream", None, "text/csv", None),
    (CSV, "application/vnd.ms-excel", None, "CSV", None),
    (CSV, "text/html; charset=utf-8", None, "CSV", "declared text/html, is CSV"),
    (CSV, "text/plain", None, "TXT", None),
    (CSV, "application/foo", None, "CSV", None),
    (CSV, None, None, "JSON", "says JSON, is CSV"),
    (CSV, None, None, "SQL", None),
    (CSV, None, None, "Tabular data", None),
    (b"id\n1\n", "text/csv", "x.csv", "CSV", None),
    (b"no such file", "application/json", None, "JSON", "says JSON, is TXT"),
    (b"@prefix a: <b> .", "text/turtle", None, "RDF", None),
    (b'{"type": "FeatureCollection"}', "application/json", None, "JSON", None),
    (b'{"crs": 1}', "application/json", None, "GeoJSON", None),
    (b"<kml>", "text/xml", None, "KML", None),
    (b"<data/>", "text/xml", None, "KML", None),
    (b"<kml>", None, None, "GML", "says GML, is KML"),
    (gzip.compress(CSV, mtime=0), "text/csv", "a.csv", "CSV", "says CSV, is GZIP"),
    (bytes(range(256)), "application/foo", None, "CSV", None),
    (CSV, "x" * 100_000, "y" * 100_000, "z" * 100_000, None),
]


@pytest.mark.parametrize(("head", "media_type", "hint", "claimed", "finding"), FINDINGS)
def test_disagreements(head, media_type, hint, claimed, finding):
    assert seen(head, media_type, hint, claimed).finding == finding


VERDICTS = [
    (HTML, "text/html", "CSV", "page"),
    (HTML, "text/html", "HTML", "file"),
    (HTML, "application/xhtml+xml", "website", "file"),
    (HTML, "text/csv", "CSV", "page"),
    (b"Moved: see <a href='/'>here</a>", "text/html", "CSV", "page"),
    ("Moved to <b>Straße</b>".encode("utf-16"), "text/html", "CSV", "page"),
    (b"name\nNorth\nSouth\n", "text/html", "CSV", "file"),
    (b"depth\n<1\n> 2\n", "text/html", "CSV", "file"),
    (CSV, "text/html", "CSV", "file"),
    (b"<table><tr><td>1</table>", "application/vnd.ms-excel", "XLS", "file"),
    (b"<html xmlns:x='urn:schemas-microsoft-com:office:excel'>", "application/vnd.ms-excel", "XLS", "file"),
    (HTML, "application/vnd.ms-excel", "XLS", "page"),
    (b"<ServiceExceptionReport/>", "text/xml", "WMS", "exception"),
    (b'{"error": {"code": 400, "message": "Invalid URL"}}', "application/json", "JSON", "exception"),
    (b"", "text/csv", "CSV", "empty"),
    (b" ", "text/csv", "CSV", "file"),
]


@pytest.mark.parametrize(("head", "media_type", "claimed", "verdict"), VERDICTS)
def test_verdicts(head, media_type, claimed, verdict):
    assert seen(head, media_type, None, claimed).verdict == verdict


def test_an_unknown_type_is_the_one_that_the_header_says():
    found = seen(b"\x01\x02\x00", "application/foo", "https://a.org/x", None)
    assert (found.media_type, found.found_type, found.extension, found.verdict) == (
        "application/foo",
        None,
        None,
        "file",
    )


EXTENSIONS = [
    (b"id\n1\n", "text/csv", None, None, "csv"),
    (b"id\n1\n", "text/plain", None, "CSV", "csv"),
    (b"SELECT 1;", "text/plain", "dump.sql", None, "sql"),
    (b"# Read me", "text/plain", "README.md", None, "md"),
    (b'{"features": []}', "application/json", "a.geojson", "JSON", "geojson"),
    (b"\x03\x7c\x01\x01\0\0", None, "wells.dbf", None, "dbf"),
    (b"\x03\x7c\x01\x01\0\0", None, "get.php", "DBF", "dbf"),
    (HTML, "text/html", "wells.csv", "CSV", "html"),
    (CSV, "text/html", "wells.exe", None, "csv"),
    (b"\0\1", None, "a." + "x" * 10_000, None, None),
    (b"\0\1", None, "a.b/../c", None, None),
]


@pytest.mark.parametrize(("head", "media_type", "hint", "claimed", "extension"), EXTENSIONS)
def test_extensions(head, media_type, hint, claimed, extension):
    assert seen(head, media_type, hint, claimed).extension == extension


def test_hostile_heads_cost_little():
    begun = process_time()
    for piece in (
        b"<!-- -->",
        b"<!--",
        b"<?x",
        b"<!doctype a [",
        b"[",
        b'{"a":',
        b"PK\x03\x04",
        b'"',
        b",",
        b"# \n",
        b"<a:",
    ):
        seen(piece * (65536 // len(piece)), None, None, "CSV")
    seen(packed(*(f"{number}.txt" for number in range(2000))))
    seen(b"<" + b"a" * 65535)
    seen(b"PK\x03\x04" + bytes(14) + b"\xff" * 65000)
    assert process_time() - begun < 5


# Services

SERVICES = [
    ("https://a.org/ows?service=WMS&request=GetCapabilities", None, "wms"),
    ("https://a.org/ows?SERVICE=wfs", "CSV", "wfs"),
    ("https://a.org/geoserver/ows", "WFS", "wfs"),
    ("https://a.org/geoserver/ows", "OGC WMS", "wms"),
    ("https://a.org/geoserver/ows", None, None),
    ("https://a.org/geoserver/wms/", None, "wms"),
    ("https://a.org/arcgis/rest/services/A/MapServer/WMSServer", None, "wms"),
    ("https://a.org/arcgis/services/A/MapServer/WFSServer?request=GetCapabilities&service=WFS", None, "wfs"),
    ("https://a.org/arcgis/rest/services/A/B/FeatureServer/12/", "JSON", "arcgis"),
    ("https://a.org/arcgis/rest/services", None, "arcgis"),
    ("https://a.org/x", "ArcGIS GeoServices REST API", "arcgis"),
    ("https://a.org/arcgis/rest/services/A/FeatureServer/0/query?where=1%3D1&f=geojson", "GeoJSON", None),
    ("https://a.org/arcgis/rest/services/A/FeatureServer/0/query?where=1%3D1&f=geojson", "Esri REST", None),
    ("https://a.org/arcgis/rest/services/A/MapServer/export?bbox=1,2,3,4&f=image", "PNG", None),
    ("https://a.org/ogcapi/collections/wells/items", None, "ogcapi"),
    ("https://a.org/collections/wells/items?f=csv", "CSV", None),
    ("https://a.org/collections/wells/items?f=json&limit=10000", "JSON", None),
    ("https://a.org/collections/wells", None, None),
    ("https://a.org/collections/wells", "OGC API - Features", "ogcapi"),
    ("https://a.org/ogcapi/wells.gpkg", "GPKG", None),
    ("https://a.org/sparql", None, "sparql"),
    ("https://a.org/sparql?query=SELECT%20*", "CSV", None),
    ("https://a.org/x", "SPARQL", "sparql"),
    ("https://a.org/odata/v4/Wells", None, "odata"),
    ("https://a.org/Wells.svc/$metadata", None, "odata"),
    ("https://a.org/odata/v4/Wells?$format=json", "JSON", None),
    (
        "https://a.org/ows?service=WMS&request=GetMap&layers=a&bbox=1,2,3,4&width=9&height=9&format=image/png",
        "WMS",
        None,
    ),
    ("https://a.org/ows?service=WMS&request=GetMap&layers=a&bbox=&width=9&height=9", "WMS", "wms"),
    ("https://a.org/ows?service=WFS&request=GetFeature&typeName=a&outputFormat=csv", "WFS", None),
    ("https://a.org/ows?service=WFS&request=GetFeature", "WFS", "wfs"),
    ("https://a.org/wells.zip", "WMS", None),
    ("https://a.org/wells.csv", "API", None),
    ("https://a.org/x", "API", None),
    ("https://a.org/x", "", None),
    ("http://[bad", "WMS", None),
    ("", None, None),
]


@pytest.mark.parametrize(("url", "format_", "name"), SERVICES)
def test_which_addresses_are_services(url, format_, name):
    found = service(url, format_)
    assert (found.name if found else None) == name


ASKED = [
    (
        "https://a.org/cgi?map=/srv/a%20b.map&SERVICE=WMS&LAYERS=x&request=GetMap",
        "https://a.org/cgi?map=/srv/a%20b.map&SERVICE=WMS&REQUEST=GetCapabilities&VERSION=1.3.0",
        "https://a.org/cgi?map=/srv/a%20b.map&SERVICE=WMS&REQUEST=GetCapabilities&VERSION=1.1.1",
        "https://a.org/cgi?map=/srv/a%20b.map&SERVICE=WMS&request=GetCapabilities&version=1.3.0",
    ),
    (
        "https://a.org/wfs#top",
        "https://a.org/wfs?SERVICE=WFS&REQUEST=GetCapabilities&VERSION=2.0.0",
        "https://a.org/wfs?SERVICE=WFS&REQUEST=GetCapabilities&VERSION=1.1.0",
        "https://a.org/wfs?SERVICE=WFS&REQUEST=GetCapabilities",
        "https://a.org/wfs?service=WFS&request=GetCapabilities&version=2.0.0",
    ),
    (
        "https://a.org/rest/services/A/MapServer/3?f=html&token=x",
        "https://a.org/rest/services/A/MapServer/3?token=x&f=json",
    ),
    (
        "https://a.org/ogcapi/collections/wells/items?limit=5",
        "https://a.org/ogcapi?f=json",
        "https://a.org/ogcapi/conformance?f=json",
        "https://a.org/ogcapi",
    ),
    ("https://a.org/sparql", "https://a.org/sparql", "https://a.org/sparql?query=ASK%7B%7D"),
    ("https://a.org/odata/$metadata", "https://a.org/odata/$metadata", "https://a.org/odata"),
]


@pytest.mark.parametrize(("url", "addresses"), [(url, list(addresses)) for url, *addresses in ASKED])
def test_how_capabilities_are_asked_for(url, addresses):
    assert service(url, None).addresses == addresses


CAPABILITIES = [
    (
        "wms",
        b'<?xml version="1.0"?><!DOCTYPE a SYSTEM "x.dtd" [ <!ELEMENT a EMPTY> ]><WMT_MS_Capabilities>',
        True,
    ),
    ("wms", b'<WMS_Capabilities version="1.3.0">', True),
    ("wms", b'<wfs:WFS_Capabilities xmlns:wfs="x">', False),
    ("wfs", b'\xef\xbb\xbf<wfs:WFS_Capabilities xmlns:wfs="x">', True),
    ("wms", b"<html>WMS_Capabilities", False),
    ("wms", b"<ServiceExceptionReport><ServiceException>x", False),
    ("arcgis", b'{"currentVersion": 10.9, "layers": [' + b'{"id":1},' * 20_000, True),
    ("arcgis", b'{"error": {"code": 499}}', False),
    ("arcgis", b"<html>", False),
    ("ogcapi", b'{"title": "x", "links": []}', True),
    ("sparql", b'{"head": {}, "boolean": true}', True),
    ("sparql", b'<?xml version="1.0"?><sparql xmlns="x"><head/><boolean>true</boolean>', True),
    ("sparql", b"@prefix sd: <http://www.w3.org/ns/sparql-service-description#> .", True),
    ("sparql", b'<rdf:RDF xmlns:sd="http://www.w3.org/ns/sparql-service-description#">', True),
    ("sparql", b"<html>http://www.w3.org/ns/sparql-service-description", False),
    ("sparql", b"true\n", True),
    ("odata", b'<edmx:Edmx Version="4.0">', True),
    ("odata", b'{"@odata.context": "$metadata"}', True),
    ("odata", b"", False),
]
ADDRESS = {
    "wms": "https://a.org/wms",
    "wfs": "https://a.org/wfs",
    "arcgis": "https://a.org/rest/services",
    "ogcapi": "https://a.org/ogcapi",
    "sparql": "https://a.org/sparql",
    "odata": "https://a.org/odata",
}


@pytest.mark.parametrize(("name", "head", "alive"), CAPABILITIES)
def test_signs_of_life(name, head, alive):
    assert is_capabilities(service(ADDRESS[name], None), head) is alive


EXCEPTIONS = [
    (
        b'<?xml version="1.0"?>\n<ServiceExceptionReport><ServiceException code="NoLayer"><![CDATA[Not <b>]]>',
        "NoLayer: Not <b>",
    ),
    (
        b'<ows:ExceptionReport><ows:Exception exceptionCode="Bad"><ows:ExceptionText>\n Bad &amp; old</ows:Exception',
        "Bad: Bad & old",
    ),
    (b"<ServiceExceptionReport/>", "an exception without a text"),
    (b'{"error": {"code": 400, "message": "Invalid URL", "details": []}}', "400: Invalid URL"),
    (b'{"error": {"code": "x", "message": {"lang": "en", "value": "Bad"}}}', "x: Bad"),
    (b'{"error": "not found"}', "not found"),
    (b'{"help": "h", "success": false, "error": {"__type": "Not Found Error", "message": "no"}}', "no"),
    (b'{"code": "NotFound", "description": "No collection"}', "NotFound: No collection"),
    (b'{"code": "InvalidParameterValue", "description": "bbox"}', "InvalidParameterValue: bbox"),
    (b'{"code": "DE", "description": "Germany"}', None),
    (b'{"code": 1, "description": "Wells"}', None),
    (b'{"code": ["NotFound"], "description": "x"}', None),
    (b'{"title": "Wells", "status": "active", "description": "x"}', None),
    (b'{"title": "Wells", "status": 1}', None),
    (b'{"type": "about:blank", "title": "Gone", "status": 410, "detail": "Since May"}', "410: Since May"),
    (b"Virtuoso 37000 Error SP030: SPARQL compiler\n\nSPARQL query:", "Virtuoso 37000 Error SP030: SPARQL compiler"),
    (b"<?xml version='1.0'?><Error><Code>NoSuchKey</Code><Message>No key.</Message></Error>", "NoSuchKey: No key."),
    (b"\xef\xbb\xbf<?xml version='1.0'?><Error><Code>BlobNotFound</Code></Error>", "BlobNotFound"),
    (b"<Error><row/></Error>", None),
    (
        b'<soap:Envelope xmlns:soap="x"><soap:Body><soap:Fault><faultcode>soap:Server</faultcode><faultstring>down',
        "soap:Server: down",
    ),
    (b'<e:Envelope xmlns:e="x"><e:Body><e:Fault><e:Reason><e:Text xml:lang="en">down</e:Text></e:Reason>', "down"),
    (b'<s:Envelope xmlns:s="x"><s:Body><Towns/></s:Body></s:Envelope>', None),
    (b'{"status": "Failed", "progressInPercent": 0}', "Failed: the job has failed"),
    (b'{"status": "error", "messages": ["Not found"], "code": 404}', "404: Not found"),
    (b'{"jobStatus": "esriJobFailed", "messages": []}', "the job has failed"),
    (b'{"status": "Failed", "tests": [{"name": "a"}]}', None),
    (b'{"status": "Failed", "messages": 5}', "Failed: 5"),
    (b'{"status": "Failed", "messages": [{"text": "a"}, ["b"], true]}', 'Failed: a; ["b"]; true'),
    (b'{"error": {"code": [4], "message": {"x": "y"}}}', '4: {"x":"y"}'),
    (b'{"error": ["a", "b"]}', "a; b"),
    (b'{"status": ["Failed"]}', None),
    (b'{"code": "dataset.missing", "error": true, "message": "Not found"}', "dataset.missing: Not found"),
    (b'{"odata.error": {"code": "x", "message": {"lang": "en", "value": "Bad"}}}', "x: Bad"),
    (b'{"error": null, "data": []}', None),
    (b'{"error": {"code": 1}, "data": []}', None),
    (b'{"code": 1, "description": "x", "rows": []}', None),
    (b'{"code": 1}', None),
    (b"<data><ServiceExceptionReport/></data>", None),
    (b"code,description\n1,x\n", None),
    (b"", None),
    (b'{"error": ', None),
    (json.dumps({"error": "x" * 100_000}).encode(), "x" * 297 + "..."),
]


@pytest.mark.parametrize(("head", "said"), EXCEPTIONS)
def test_exceptions(head, said):
    assert exception(head) == said


# Names

NAMES = [
    ("https://a.org/x/Wells%202024.csv", None, "t", "wells-2024"),
    ("https://a.org/x/wells.tar.gz", None, "t", "wells"),
    ("https://a.org/report-v1.2", None, "t", "report-v1-2"),
    ("https://a.org/get", 'attachment; filename="a.b.csv"', "t", "a-b"),
    ("https://a.org/get", "attachment; filename=\"x.csv\"; filename*=UTF-8''%C3%85r%20%E2%82%AC.csv", "t", "ar-eur"),
    ("https://a.org/get", 'attachment; filename="../../etc/passwd"', "t", "passwd"),
    ("https://a.org/get", 'attachment; filename="C:\\\\secret\\\\wells.xls"', "t", "wells"),
    ("https://a.org/get", f'attachment; filename="{"a" * 10_000}.csv"', "t", "a" * 80),
    ("https://a.org/get", 'attachment; filename="wells\u202evsc.exe"', "t", "wellsvsc"),
    ("https://a.org/get", 'attachment; filename="CON.csv"', "t", "file-con"),
    ("https://a.org/lpt1", None, None, "file-lpt1"),
    ("https://a.org/wells", "attachment; filename=..", "t", "wells"),
    ("https://a.org/wells", 'attachment; filename=""', "t", "wells"),
    ("https://a.org/wells", "attachment; filename=x.csv; filename*=no-such-charset''%ff", None, "x"),
    ("https://a.org/wells", "inline", "t", "wells"),
    ("https://a.org/get", "filename=wells.csv", "t", "wells"),
    ("https://a.org/get", ";" * 100_000, "All wells", "all-wells"),
    ("https://a.org/download", None, "All wells", "all-wells"),
    ("https://a.org/download", None, None, "download"),
    ("https://a.org/", None, "日本の井戸", "ri-ben-nojing-hu"),
    ("https://a.org/%2e%2e%2f", None, None, "file"),
    ("http://[bad", None, None, "file"),
    ("https://a.org/" + "b" * 100_000, None, None, "b" * 80),
]


@pytest.mark.parametrize(("url", "header", "title", "name"), NAMES)
def test_readable_names(url, header, title, name):
    assert readable(url, header, title) == name
