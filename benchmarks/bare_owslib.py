"""Parses pages of ISO records with OWSLib, and does nothing else: what `scrapy crawl csw` is compared with."""

from __future__ import annotations

import sys
from pathlib import Path

from owslib.etree import etree
from owslib.iso import MD_Metadata


def main() -> None:
    count = 0
    for path in sorted(Path(sys.argv[1]).glob("page-*.xml")):
        for element in etree.parse(str(path)).getroot():
            count += bool(MD_Metadata(element).identification)
    assert count == int(sys.argv[2]), count


if __name__ == "__main__":
    main()
