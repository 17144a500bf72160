"""What the layouts share: a page about the record, dates as a country writes them, lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from html import escape

from tests.layouts.records import Record

MONTHS = {
    "en": "January February March April May June July August September October November December".split(),
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split(),
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split(),
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split(),
    "el": "Ιανουαρίου Φεβρουαρίου Μαρτίου Απριλίου Μαΐου Ιουνίου Ιουλίου Αυγούστου Σεπτεμβρίου Οκτωβρίου Νοεμβρίου "
    "Δεκεμβρίου".split(),
}


@dataclass(frozen=True)
class Layout:
    """
    Args:
        render: a record's page.
        date: a date as the page shows it.
        without: the fields that the page never shows.
        keywords: what stands between them when they are one text; each is an element of its own when it is ``None``.
    """

    name: str
    language: str
    render: Callable[[Record], str]
    date: Callable[[str], str] = str
    without: tuple[str, ...] = ()
    keywords: str | None = None
    labels: dict[str, str] = field(default_factory=dict)

    def address(self, record: Record) -> str:
        return f"https://data.example.org/datasets/{record.slug}"

    def seen(self, record: Record) -> dict[str, list[str]]:
        """What a person who looks at the page would type for each field."""
        found: dict[str, list[str]] = {}
        for name, value in record.truth().items():
            if value is None or name in self.without:
                continue
            if name in ("issued", "modified"):
                found[name] = [self.date(value)]
            elif name == "keywords" and self.keywords:
                found[name] = [self.keywords.join(value)]
            elif name.startswith("resource."):
                found[name] = value[:1]
            else:
                found[name] = value if isinstance(value, list) else [value]
        return found


def numbers(pattern: str) -> Callable[[str], str]:
    """
    >>> numbers("{d:02}.{m:02}.{y}")("2020-03-09")
    '09.03.2020'
    """

    def written(date: str) -> str:
        year, month, day = (int(part) for part in date.split("-"))
        return pattern.format(y=year, m=month, d=day)

    return written


def words(language: str, pattern: str) -> Callable[[str], str]:
    """
    >>> words("de", "{d}. {month} {y}")("2020-03-09")
    '9. März 2020'
    """

    def written(date: str) -> str:
        year, month, day = (int(part) for part in date.split("-"))
        return pattern.format(y=year, d=day, month=MONTHS[language][month - 1])

    return written


def html(language: str, title: str, body: str, head: str = "", site: str = "Open Data") -> str:
    direction = ' dir="rtl"' if language == "ar" else ""
    return (
        f'<!DOCTYPE html><html lang="{language}"{direction}><head><meta charset="utf-8">'
        f"<title>{escape(title)} | {site}</title>{head}<style>.x {{ color: red }}</style></head>"
        f"<body>{body}<script>var page = 1;</script></body></html>"
    )


def paragraphs(record: Record) -> str:
    return "".join(f"<p>{escape(one)}</p>" for one in record.description)


def link(address: str, text: str, attributes: str = "") -> str:
    return f'<a href="{escape(address)}"{attributes and " " + attributes}>{escape(text)}</a>'


def every(pieces: Iterable[str], between: str = "") -> str:
    return between.join(pieces)
