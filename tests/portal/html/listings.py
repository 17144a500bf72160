"""The families whose datasets are not in one listing: a sitemap, and categories."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import ClassVar

from tests.portal.html.catalogue import HTMLCatalogue, Visit
from tests.portal.html.data import Entry, text
from tests.portal.html.javascript import JavaScript
from tests.site import Answer

XML = {"Content-Type": "application/xml"}
NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


class Sitemap(JavaScript):
    """An index of two sitemaps, the first one compressed, with the datasets between other pages."""

    start = "/"
    language: ClassVar[str] = "es"
    shell = '<p id="lista">Aquí podría haber una lista.</p>'
    script = ""

    def kind(self, visit: Visit) -> str:
        return "sitemaps" if "sitemap" in visit.path else super().kind(visit)

    def other(self, visit: Visit) -> Answer:
        half = (len(self.listed()) + 1) // 2
        parts = {"/sitemap-1.xml.gz": self.listed()[:half], "/sitemap-2.xml": self.listed()[half:]}
        if visit.path == "/sitemap.xml":
            return Answer(urls("sitemapindex", "sitemap", ((self.url + part, "") for part in parts)), 200, XML)
        if visit.path not in parts:
            return super().other(visit)
        if visit.path == "/sitemap-2.xml" and self.fails("http_500", 2):
            return Answer(b"", 500)
        pages = [(f"{self.url}/kontakt", ""), (f"{self.url}/ficha", "2019-01-01")]
        body = urls("urlset", "url", [*pages, *map(self.located, parts[visit.path])])
        if visit.path.endswith(".gz"):
            return Answer(gzip.compress(body, mtime=0), 200, {"Content-Type": "application/gzip"})
        return Answer(body, 200, XML)

    def located(self, entry: Entry) -> tuple[str, str]:
        """What was changed was so today."""
        day = datetime.now(UTC).date() if entry.revision > 1 else entry.modified
        return self.url + self.href(entry), day.isoformat()


def urls(root: str, name: str, found: Iterator[tuple[str, str]] | list[tuple[str, str]]) -> bytes:
    rows = "".join(
        f"<{name}><loc>{text(address)}</loc>{f'<lastmod>{day}</lastmod>' if day else ''}</{name}>"
        for address, day in found
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<{root} xmlns="{NAMESPACE}">{rows}</{root}>'.encode()


class Categories(JavaScript):
    """The start has links to categories, those have pages; every third dataset is in two of them.

    With ``endless`` each category has one below it. ``http_500`` is of the category's place and the page: 2001.
    """

    start = "/themen"
    language: ClassVar[str] = "de"
    names: ClassVar[tuple[str, ...]] = ("bevoelkerung", "umwelt", "verkehr")

    def number(self, visit: Visit) -> int | None:
        """0 is the start; else the category's place and the page, as 1002."""
        if visit.path == self.start:
            return 0
        name = visit.path.removeprefix("/thema/").partition("/")[0]
        return (self.names.index(name) + 1) * 1000 + int(visit.query.get("p", "1")) if name in self.names else None

    def page(self, number: int, visit: Visit) -> Answer:
        return HTMLCatalogue.page(self, number, visit)

    def of(self, place: int) -> list[Entry]:
        """The datasets of a category."""
        return [
            entry
            for entry in self.listed()
            if entry.number % 3 == place or (entry.number % 3 == 0 and entry.number // 3 % 3 == place)
        ]

    def listing(self, number: int, visit: Visit) -> str:
        if number == 0:
            items = "".join(f'<li><a href="/thema/{name}">{name.title()}</a></li>' for name in self.names)
            return f"<h1>Themen</h1><ul class=themen>{items}</ul>"
        place, page = number // 1000 - 1, number % 1000
        entries = self.of(place)
        rows = "".join(
            f'<li><a href="{self.href(entry)}">{text(entry.title)}</a></li>'
            for entry in entries[(page - 1) * self.per_page : page * self.per_page]
        )
        more = page * self.per_page < len(entries)
        onward = f'<a class=weiter href="?p={page + 1}">Weiter »</a>' if more else ""
        endless = "endless" in self.faults
        below = f'<ul class=themen><li><a href="{visit.path}/unter">Unterthemen</a></li></ul>' if endless else ""
        return f'<h1>{self.names[place]}</h1><a href="{self.start}">Alle Themen</a><ol>{rows}</ol>{onward}{below}'
