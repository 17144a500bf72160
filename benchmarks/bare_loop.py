"""The listing of a CKAN portal with no framework: one connection, a page after another, a file a dataset.

    python benchmarks/bare_loop.py http://127.0.0.1:8000 FOLDER

Asks for the same pages as the ckan spider, and writes the same files; with --json as an ordinary script would.
"""

from __future__ import annotations

import argparse
import json
import sys
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # it is run as a script, from any folder

from crawlers.safety import strict_json
from crawlers.safety.names import Names

if TYPE_CHECKING:
    from collections.abc import Iterator

    Record = dict[str, Any]

ROWS = 1000


def pages(portal: str) -> Iterator[list[Record]]:
    """Paged by the last id seen; a page that is not full is the last."""
    connection, last = HTTPConnection(urlsplit(portal).netloc), None
    while True:
        connection.request("GET", "/api/3/action/package_search?" + urlencode(parameters(last)))
        records: list[Record] = json.loads(connection.getresponse().read())["result"]["results"]
        yield records
        if len(records) < ROWS:
            return
        last = records[-1]["id"]


def parameters(last: str | None) -> dict[str, str]:
    fq = {"fq": f"id:{{{last} TO *]"} if last else {}
    return {"q": "*:*", "sort": "id asc", "rows": str(ROWS), **fq}


def write(record: Record, path: Path) -> None:
    path.write_bytes(strict_json.dumps(record))


def write_with_json(record: Record, path: Path) -> None:
    with path.open("w") as file:
        json.dump(record, file, indent=2)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("portal")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", action="store_true", help="write with json.dump(indent=2)")
    return parser.parse_args()


def main() -> None:
    options, names = arguments(), Names()
    writer = write_with_json if options.json else write
    (options.folder / "datasets").mkdir(parents=True)
    for records in pages(options.portal):
        for record in records:
            writer(record, options.folder / names.file("dataset", record["id"], name=record["name"]))


if __name__ == "__main__":
    main()
