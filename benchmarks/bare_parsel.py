"""Twelve fields of each page in a folder with parsel alone: the selectors of html_pages.RULES, labels as XPath.

python benchmarks/bare_parsel.py FOLDER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from parsel import Selector

CSS = {
    "title": "h1.page-title::text",
    "description": "div.field-body",
    "identifier": "[itemprop=identifier]::attr(content)",
    "modified": "time.changed::attr(datetime)",
    "themes": ".breadcrumb li:nth-child(2) a::text",
}
LABEL = "//dt[normalize-space()='{}:']/following-sibling::dd[1]//text()"
XPATH = {
    "license": LABEL.format("Lizenz"),
    "publisher": LABEL.format("Herausgeber"),
    "issued": LABEL.format("Erstellt"),
    "frequency": LABEL.format("Turnus"),
    "spatial": "//section[@id='coverage']//span[@class='place']/text()",
}


def read(html: str) -> dict[str, object]:
    page = Selector(html)
    found: dict[str, object] = {name: page.css(css).get() for name, css in CSS.items()}
    found |= {name: page.xpath(xpath).get() for name, xpath in XPATH.items()}
    found["keywords"] = page.css("ul.tags li a::text").getall()
    found["contact_email"] = page.css("a.mail::attr(href)").re_first("mailto:(.+)")
    return found


def main() -> None:
    for path in Path(sys.argv[1]).glob("*.html"):
        found = read(path.read_text(encoding="utf-8"))
        if not all(found.values()):
            sys.exit(f"{path} lacks {[name for name, value in found.items() if not value]}")
        json.dumps(found)


if __name__ == "__main__":
    main()
