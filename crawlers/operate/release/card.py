"""What describes a release to people and programs: README.md, croissant.json, report.html and .md, index.html."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from jinja2 import ChoiceLoader, PackageLoader
from markupsafe import Markup

from crawlers.operate.release import pages
from crawlers.operate.release.tables import TABLES
from crawlers.operate.report.report import Commands, environment, inert, plain
from crawlers.records.moment import moment
from crawlers.safety import strict_json
from crawlers.safety.redact import without_logins
from crawlers.store.export.croissant import CONFORMS_TO, CONTEXT
from crawlers.store.figures import contents
from crawlers.store.figures.formatting import counted
from crawlers.store.figures.quality import DIMENSIONS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from jinja2 import Environment

    from crawlers.operate.release.figures import Figures
    from crawlers.operate.release.tables import Field

CROISSANT = "croissant.json"
_PARQUET = "application/vnd.apache.parquet"
_TYPES = {"real": "sc:Float", "integer": "sc:Integer"}
_SIZES = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
    (10_000_000, "1M<n<10M"),
)
Files = dict[str, dict[str, Any]]
"""The bytes and the SHA-256 of each file, by its name."""


class Card:
    """What is said of a release.

    Args:
        given: title, license, publisher and url, where the one who releases it says so.
    """

    def __init__(self, found: Figures, given: Mapping[str, str | None]) -> None:
        self.found = found
        self.given = {name: _shown(value) for name, value in given.items()}
        self.says = {title: sentence for title, (_, sentence) in _COVERAGE.items()}
        self.of = {title: noun for title, (noun, _) in _COVERAGE.items()}
        self.title = self.given["title"] or "Catalogue metadata"
        totals = found.totals
        what = f"{counted(totals['datasets'], 'dataset')} and {counted(totals['resources'], 'file')}"
        of = counted(len(found.sources), "catalogue")
        self.description = (
            f"Metadata of {what} of {of}, as of {found.time[:10]}: titles, descriptions, publishers, licences, "
            "addresses. The files themselves are with the catalogues."
        )

    def schema_org(self, files: Files) -> dict[str, Any]:
        """Return the release as a schema.org Dataset, for search engines."""
        known = {
            "@context": "https://schema.org/",
            "@type": "Dataset",
            "name": self.title,
            "description": self.description,
            "version": self.found.id,
            "datePublished": self.found.time,
            "isAccessibleForFree": True,
            **self._given(lambda name: {"@type": "Organization", "name": name}),
        }
        return known | {
            "distribution": [
                {
                    "@type": "DataDownload",
                    "name": table.name,
                    "contentUrl": table.file,
                    "encodingFormat": _PARQUET,
                    "contentSize": f"{files[table.file]['bytes']} B",
                    "sha256": files[table.file]["sha256"],
                }
                for table in TABLES
            ]
        }

    def croissant(self, files: Files) -> dict[str, Any]:
        """Return the release as Croissant 1.0, which is schema.org with the columns of the tables.

        Source: https://docs.mlcommons.org/croissant/docs/croissant-spec.html.
        """
        distribution = [
            {
                "@type": "cr:FileObject",
                "@id": table.file,
                "name": table.file,
                "contentUrl": table.file,
                "contentSize": f"{files[table.file]['bytes']} B",
                "encodingFormat": "application/x-parquet",  # the name that its readers know
                "sha256": files[table.file]["sha256"],
            }
            for table in TABLES
        ]
        day = moment(self.found.time)
        return {
            "@context": CONTEXT,
            "@type": "sc:Dataset",
            "conformsTo": CONFORMS_TO,
            "name": self.title,
            "description": self.description,
            **({"version": f"{day.year}.{day.month}.{day.day}"} if day else {}),  # a semantic version
            "datePublished": self.found.time,
            **self._given(lambda name: {"@type": "sc:Organization", "name": name}),
            "distribution": distribution,
            "recordSet": [
                {
                    "@type": "cr:RecordSet",
                    "@id": table.name,
                    "name": table.name,
                    "key": [{"@id": f"{table.name}/{name}"} for name in _KEYS[table.name]],
                    "field": [_field(table.name, table.file, field) for field in table.fields],
                }
                for table in TABLES
            ],
        }

    def _given(self, agent: Any) -> dict[str, Any]:
        publisher = self.given["publisher"]
        known = {"license": self.given["license"], "url": self.given["url"]}
        known |= {"creator": agent(publisher), "publisher": agent(publisher)} if publisher else {}
        return {name: value for name, value in known.items() if value}

    def write_report(self, into: Path) -> None:
        """Write report.html and report.md.

        Raises:
            OSError: a file can't be written.
        """
        self._render("release_report.html", into / "report.html")
        self._render("report.md", into / "report.md")

    def write(self, into: Path, files: Files, parts: list[pages.Part], changelog: str) -> None:
        """Write README.md, croissant.json, and the page that lists and searches the release.

        Args:
            files: those that are there already.
            parts: the datasets of the page.
            changelog: what README says of the changes.

        Raises:
            OSError: a file can't be written.
        """
        (into / CROISSANT).write_bytes(strict_json.dumps(self.croissant(files)))
        (into / pages.FOLDER / "search.js").write_text(_script(), encoding="utf-8")
        about = {"sources": self.found.names, "parts": pages.in_page(parts)}
        self._render("index.html", into / "index.html", about=about, schema_org=self.schema_org(files))
        size = next((name for most, name in _SIZES if self.found.totals["datasets"] < most), "10M<n<100M")
        self._render("README.md", into / "README.md", size=size, tables=TABLES, files=files, changelog=changelog)

    def _render(self, template: str, path: Path, **values: Any) -> None:
        made = _markdown() if path.suffix == ".md" else _pages()
        known = {"card": self, "found": self.found, "now": self.found.time, "dimension_names": DIMENSIONS}
        stream = made.get_template(template).stream(**known, field_names=list(contents.FIELDS.values()), **values)
        with path.open("wb") as file:
            stream.dump(file, encoding="utf-8", errors="replace")


_COVERAGE = {
    "Countries": ("Country", "Of the places that datasets are about; one about several counts for each."),
    "Kinds of catalogue": ("Kind", "The spider that read the catalogue."),
    "Languages": ("Language", "One in several languages counts for each."),
    "Licences": ("Licence", "SPDX's identifier where it is known, else the catalogue's own word."),
    "Formats of files": ("Format", "Of the files that are linked."),
}
_KEYS = {"datasets": ("source", "dataset_id"), "resources": ("source", "dataset_id", "position")}


def _shown(value: str | None) -> str:
    """Return what was given as a line that each of the files can have: without a password, too."""
    return " ".join(inert(without_logins(value)).split())


def _field(table: str, file: str, field: Field) -> dict[str, Any]:
    known = {
        "@type": "cr:Field",
        "@id": f"{table}/{field.name}",
        "name": field.name,
        "description": field.says,
        "dataType": _TYPES.get(field.type, "sc:Text"),
        "source": {"fileObject": {"@id": file}, "extract": {"column": field.name}},
    }
    return known | ({"repeated": True} if field.type == "list" else {})


def _script() -> str:
    source, _, _ = PackageLoader("crawlers.operate.release").get_source(_pages(), "search.js")
    return source


@cache
def _pages() -> Environment:
    made = environment()
    assert made.loader is not None  # noqa: S101 -- for mypy: templates always gives one
    made.loader = ChoiceLoader([PackageLoader("crawlers.operate.release"), made.loader])
    made.extensions.pop(Commands.identifier)  # the same bytes, whatever the command is called here
    made.policies["json.dumps_kwargs"] = {"sort_keys": False, "ensure_ascii": False}
    return made


@cache
def _markdown() -> Environment:
    return _pages().overlay(
        autoescape=False,
        finalize=lambda value: value if isinstance(value, Markup) else plain(value),  # what is |safe is ours
        keep_trailing_newline=True,
    )
