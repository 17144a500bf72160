"""The records of a CSW, or of a data.json, with no framework: one connection, a file a record; nothing else.

    python benchmarks/bare_records.py csw http://127.0.0.1:8000/csw FOLDER
    python benchmarks/bare_records.py data_json http://127.0.0.1:8000/data.json FOLDER

Asks for the same pages of records as the spiders, and writes the same files.
"""

from __future__ import annotations

import sys
from copy import deepcopy
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import msgspec
from lxml import etree

ISO, GCO = "http://www.isotc211.org/2005/gmd", "http://www.isotc211.org/2005/gco"
IDENTIFIER = f"{{{ISO}}}fileIdentifier/{{{GCO}}}CharacterString"
ROWS = 100


def csw(address: str, folder: Path) -> None:
    connection, start = HTTPConnection(urlsplit(address).netloc), 1
    while start:
        asked = {
            "service": "CSW",
            "version": "2.0.2",
            "request": "GetRecords",
            "typeNames": "gmd:MD_Metadata",
            "resultType": "results",
            "outputSchema": ISO,
            "elementSetName": "full",
            "startPosition": start,
            "maxRecords": ROWS,
        }
        connection.request("GET", f"{urlsplit(address).path}?{urlencode(asked)}")
        found = etree.fromstring(connection.getresponse().read()).find("{*}SearchResults")
        start = int(found.get("nextRecord"))
        for element in found:
            record = deepcopy(element)  # without the namespaces of the answer
            body = etree.tostring(record, encoding="utf-8", xml_declaration=True)
            (folder / f"{record.findtext(IDENTIFIER)}.xml").write_bytes(body + b"\n")


def data_json(address: str, folder: Path) -> None:
    connection = HTTPConnection(urlsplit(address).netloc)
    connection.request("GET", urlsplit(address).path)
    for record in msgspec.json.decode(connection.getresponse().read())["dataset"]:
        body = msgspec.json.format(msgspec.json.encode(record), indent=2)
        (folder / f"{record['identifier']}.json").write_bytes(body + b"\n")


if __name__ == "__main__":
    {"csw": csw, "data_json": data_json}[sys.argv[1]](sys.argv[2], Path(sys.argv[3]))
