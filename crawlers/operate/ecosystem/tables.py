"""The CSV files that the pipelines of the CKAN ecosystem had, with their columns; what is not known is empty."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import ExportError
from crawlers.operate.ecosystem.profiles import profiles
from crawlers.store.export.csv import cell, straight
from crawlers.store.export.literals import plain
from crawlers.store.export.target import target

if TYPE_CHECKING:
    from pathlib import Path

    from crawlers.items import Kind
    from crawlers.operate.ecosystem.profiles import Stored

    Rows = Iterator[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Table:
    """A CSV file.

    Args:
        rows: returns the rows of a profile; takes it, and the catalogue's address.
    """

    file: str
    columns: tuple[str, ...]
    rows: Callable[[Stored, str], Rows]


def _site_urls(site: Stored, _: str) -> Rows:
    if site.document.get("url"):
        yield site.document.get("name"), site.document["url"]


def _ckan_stats(site: Stored, _: str) -> Rows:
    if site.document.get("url"):
        yield site.seen[:10], *map(site.document.get, _CKAN_STATS[1:])


def _url_list(extension: Stored, catalogue: str) -> Rows:
    known = (extension.document.get(field) or () for field in ("catalog_names", "catalog_ids"))
    for name, identifier in zip(*known, strict=False):
        yield (
            f"{catalogue}/extension/{name or identifier}",
            extension.document["url"] if _is_at_github(extension) else None,
        )


def _metadata(extension: Stored, _: str) -> Rows:
    if _is_at_github(extension):
        known = {column: extension.document.get(name) for column, name in _METADATA.items()}
        known["release_date"] = known["release_date"] and known["release_date"][:10]
        if known["discussions"] is not None:
            known["discussions"] = str(known["discussions"] > 0)  # whether, not how many
        yield f"{extension.seen[:19]}+00:00", *known.values()


def _is_at_github(extension: Stored) -> bool:
    return bool(extension.document.get("repository")) and extension.document.get("state") != "other_forge"


_CKAN_STATS = (
    *("tstamp", "name", "url", "num_datasets", "num_groups", "num_organizations", "ckan_version", "extensions"),
)
_METADATA = {
    "repository_name": "repository",
    "url": "url",
    "forks_count": "forks",
    "total_releases": "releases",
    "latest_release": "latest_release",
    "release_date": "release_date",
    "stars": "stars",
    "open_issues": "open_issues",
    "contributors_count": "contributors",
    "discussions": "discussions",
}
"""The fields of a profile, by the columns that they are called in the CSV file."""
TABLES: dict[Kind, tuple[Table, ...]] = {
    "site": (
        Table("site_urls.csv", ("name", "url"), _site_urls),
        Table("ckan_stats.csv", _CKAN_STATS, _ckan_stats),
    ),
    "extension": (
        Table("url_list.csv", ("catalog_url", "github_url"), _url_list),
        Table("dynamic_metadata_update.csv", ("tstamp", *_METADATA), _metadata),
    ),
}


def write(output: Path, source: str, kind: Kind, catalogue: str, folder: Path) -> str:
    """Write the CSV files of a kind of profile; return a sentence that names them.

    A reader sees the old files or the new ones.

    Args:
        catalogue: the address of the catalogue that lists them.
        folder: is made if there is none.

    Raises:
        ExportError: they can't be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ExportError(f"{folder} can't be made: {error.strerror}.") from None
    paths = [folder / table.file for table in TABLES[kind]]
    with ExitStack() as stack:
        files = [stack.enter_context(target(path)) for path in paths]
        for table, file in zip(TABLES[kind], files, strict=True):
            file.write(_line(table.columns))
        for profile in profiles(output, source, kind):
            for table, file in zip(TABLES[kind], files, strict=True):
                file.writelines(_line(row) for row in table.rows(profile, catalogue))
    return f"Wrote {' and '.join(map(str, paths))}."


def _line(values: tuple[Any, ...]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerow(map(_cell, values))
    return text.getvalue().encode()


def _cell(value: Any) -> str:
    """Return a value as the pipelines wrote it; a text that a spreadsheet would run begins with an apostrophe.

    >>> _cell(["dcat", "harvest"]), _cell(0), _cell(None), _cell("=1+1")
    ('["dcat", "harvest"]', '0', '', "'=1+1")
    """
    if value is None or isinstance(value, str):
        return cell(value)
    return straight(plain(json.dumps(value, ensure_ascii=False)) or "")
