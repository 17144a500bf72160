"""The datasets of the HTML catalogues, and what a crawl must find of each: both follow from a number."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from html import escape
from typing import Any
from urllib.parse import urljoin

TITLES = (
    *(
        "Bevölkerung nach Altersgruppen",
        "Straßenbäume & Grünflächen",
        "Öffentliche Toiletten",
        "Lärm < 55 dB bei Nacht",
    ),
    *("Contaminación acústica", "Señales de tráfico", "Qualité de l'air", "Übernachtungen im Bädergebiet"),
)
PUBLISHERS = ("Amt für Statistik Köln", "Ayuntamiento de Logroño", "Tiefbauamt", "Servei d'Informació")
KEYWORDS = ("Bevölkerung", "Bäume", "tráfico", "Lärm", "Luft & Klima", "open data")
FORMATS = ("CSV", "JSON", "GML")
MEDIA_TYPES = {"CSV": "text/csv", "JSON": "application/json", "GML": "application/gml+xml"}


@dataclass(frozen=True)
class Licence:
    id: str
    name: str
    uri: str


LICENCES = (
    Licence("CC-BY-4.0", "CC BY 4.0", "https://creativecommons.org/licenses/by/4.0/"),
    Licence("CC0-1.0", "CC0 1.0", "https://creativecommons.org/publicdomain/zero/1.0/"),
    Licence("DL-DE-BY-2.0", "DL-DE-BY-2.0", "https://www.govdata.de/dl-de/by-2-0"),
)


@dataclass(frozen=True)
class File:
    """
    Args:
        path: on the catalogue's own host.
    """

    path: str
    title: str
    format: str

    @property
    def media_type(self) -> str:
        return MEDIA_TYPES[self.format]


@dataclass(frozen=True)
class Entry:
    """A dataset as it stands.

    Args:
        number: all there is to know follows from it.
        revision: goes up when it is changed.
    """

    number: int
    revision: int = 1

    @property
    def id(self) -> str:
        return f"ds-{self.number:04}"

    @property
    def title(self) -> str:
        """No two have the same."""
        rounds, which = divmod(self.number, len(TITLES))
        return f"{TITLES[which]} {2001 + rounds}"

    @property
    def description(self) -> str:
        return f"Erhoben von „{self.publisher}“, Fassung {self.revision}."

    @property
    def publisher(self) -> str:
        return PUBLISHERS[self.number % len(PUBLISHERS)]

    @property
    def licence(self) -> Licence:
        return LICENCES[self.number % len(LICENCES)]

    @property
    def keywords(self) -> list[str]:
        return [KEYWORDS[(self.number + step) % len(KEYWORDS)] for step in range(1 + self.number % 3)]

    @property
    def issued(self) -> date:
        return date(2014, 3, 12) + timedelta(days=37 * self.number)

    @property
    def modified(self) -> date:
        return self.issued + timedelta(days=self.revision)

    @property
    def files(self) -> list[File]:
        """0 to 3 of them."""
        return [
            File(f"/files/{self.id}.{form.lower()}", f"{self.title} als {form}", form)
            for form in FORMATS[: self.number % 4]
        ]


def truth(entry: Entry, url: str) -> dict[str, Any]:
    """What a crawl gives of a dataset, by the names of `found`.

    Args:
        url: the catalogue's.
    """
    return {
        "title": entry.title,
        "license": entry.licence.id,
        "publisher": entry.publisher,
        "keywords": entry.keywords,
        "modified": entry.modified.isoformat(),
        "resources": [(urljoin(url, file.path), file.title, file.format) for file in entry.files],
    }


def found(item: dict[str, Any]) -> dict[str, Any]:
    """The same of a feed's line. What gives no files their titles is not asked for them."""
    return {
        "title": item["title"],
        "license": (item["license"] or {}).get("id"),
        "publisher": (item["publisher"] or {}).get("name"),
        "keywords": item["keywords"],
        "modified": item["modified"],
        "resources": [
            (file["url"] or file["download_url"] or file["access_url"], file["title"], file["format"])
            for file in item["resources"]
        ],
    }


def text(words: object) -> str:
    """As it stands in HTML, attributes included."""
    return escape(str(words), quote=True)
