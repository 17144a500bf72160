"""The page of a release that lists and searches it in the browser, from a folder of files: no server, no request.

A page of a folder may load scripts, and nothing else; so the datasets are scripts, too, of a few hundred kilobytes
each. The page loads the next one only when it has shown or searched those before, and so a large release is never
loaded as a whole unless a word is in none of it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlers.operate.report.report import inert, link
from crawlers.records.markup import as_text

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

FOLDER = "page"
_PART = 1_000  # datasets in a file
_ROW = 450  # bytes of a dataset: 20,000 of them are 9 MB
_WIDTHS = {"title": 160, "url": 200, "publisher": 60, "license": 40, "formats": 40, "modified": 10, "words": _ROW}
"""The most bytes of each part of a row, those that matter most first."""
_READ = 2_000  # characters of a description
_DATASETS = """
SELECT dataset_id, title, name, publisher, landing_page, license, formats, keywords,
    substr(description, 1, ?2) AS about, substr(coalesce(data_modified, modified, issued), 1, 10) AS modified
FROM datasets WHERE source = ?1 AND withdrawn = 0 ORDER BY title IS NULL, title COLLATE NOCASE, dataset_id
"""  # SQLite sorts on disk what is too much for its memory


class Part(NamedTuple):
    """Some datasets of a source.

    Args:
        file: relative to the page.
    """

    source: int
    file: str
    datasets: int


def write(db: sqlite3.Connection, sources: list[str], into: Path) -> list[Part]:
    """Write the datasets as scripts; return what is in which.

    Args:
        sources: their names; parts have their places in this list.
        into: the release's folder.

    Raises:
        OSError: a file can't be written.
    """
    (into / FOLDER).mkdir()
    parts: list[Part] = []
    for place, source in enumerate(sources):
        rows = db.execute(_DATASETS, (source, _READ))
        while some := rows.fetchmany(_PART):
            name = f"{FOLDER}/datasets-{len(parts)}.js"
            body = ",\n".join(map(_row, some))
            (into / name).write_text(f"loaded({len(parts)}, [\n{body}\n]);\n", encoding="utf-8")
            parts.append(Part(place, name, len(some)))
    return parts


def _row(row: sqlite3.Row) -> str:
    """Return a dataset as JSON of a few hundred bytes: title, address, publisher, licence, formats, date, words."""
    keywords = " ".join(json.loads(row["keywords"] or "[]"))
    given = {
        "title": row["title"] or row["name"] or row["dataset_id"],
        "url": link(row["landing_page"]) or "",
        "publisher": row["publisher"],
        "license": row["license"],
        "formats": ", ".join(json.loads(row["formats"] or "[]")),
        "modified": row["modified"],
        "words": f"{keywords[:_READ]} {as_text(row['about'] or '')}",
    }
    return json.dumps(list(_fitted(given)), ensure_ascii=False, separators=(",", ":"))


def _fitted(given: dict[str, Any]) -> Iterator[str]:
    """Yield each part, cut; an address is whole or left out."""
    left = _ROW - 4 * len(_WIDTHS)  # quotes, commas
    for name, width in _WIDTHS.items():
        text = " ".join(str(inert((given[name] or "")[:_READ])).split())
        fitting = cut_to(text, min(width, left))
        shown = fitting if name != "url" or fitting == text else ""
        left -= _length(shown)
        yield shown


def _length(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode()) - 2


def cut_to(text: str, width: int) -> str:
    r"""Return the beginning of a text that takes so many bytes as JSON.

    >>> cut_to("Ünicode", 3), cut_to('a"b', 3), cut_to('a"b', 4)
    ('Ün', 'a"', 'a"b')
    """
    cut = text.encode("utf-8", "ignore")[: max(width, 0)].decode("utf-8", "ignore")
    while _length(cut) > width:
        cut = cut[: -max(1, (_length(cut) - width) // 2)]
    return cut


def in_page(parts: list[Part]) -> list[list[Any]]:
    """Return the parts as the page reads them."""
    return [[part.source, part.file, part.datasets] for part in parts]
