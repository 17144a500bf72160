"""Pages kept as tests of a rules file: `scrapy try --save` writes them beside it, `scrapy try --check` reads them."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lxml import etree

from crawlers.exceptions import CrawlersError
from crawlers.kinds.html.mapping import Page
from crawlers.safety import strict_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_LARGEST = 64 * 1024 * 1024  # bytes of a page
_OF_LISTINGS = ("links", "total", "next")


class SavedPageError(CrawlersError):
    """There is no saved page, or one can't be read or written."""


@dataclass(frozen=True, slots=True)
class SavedPages:
    """The pages that are kept for a rules file.

    Args:
        folder: ``town.tests`` beside ``town.toml``: an HTML file for each page, and a JSON file with what was found.
    """

    folder: Path

    @classmethod
    def from_rules(cls, rules: Path) -> SavedPages:
        return cls(rules.with_suffix(".tests"))

    def save(self, page: Page, read: Callable[[Page], dict[str, Any]]) -> Path:
        """Keep a page, with what the rules find on it now.

        Raises:
            SavedPageError: it can't be written.
        """
        text = etree.tostring(page.root, encoding="unicode", method="html")
        kept = Page(text, page.url, page.encoding)
        expected = {"url": page.url, "encoding": page.encoding, "expected": _facts(read(kept))}
        path = self.folder / f"{_name(page.url)}.html"
        try:
            self.folder.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8", errors="replace")
            path.with_suffix(".json").write_text(json.dumps(expected, ensure_ascii=False, indent=2) + "\n", "utf-8")
        except OSError as error:
            raise SavedPageError(f"{path} can't be written: {error.strerror}.") from None
        return path

    def check(self, read: Callable[[Page, bool], dict[str, Any]]) -> Iterator[tuple[str, list[str]]]:
        """Yield the address of each page, and how what the rules find differs from what they found.

        Args:
            read: gets a page, and whether it is a listing.

        Raises:
            SavedPageError: there is none, or one can't be read.
        """
        files = sorted(self.folder.glob("*.json"))
        if not files:
            rules = self.folder.with_suffix(".toml")
            raise SavedPageError(f"{self.folder} has no saved page: `scrapy try {rules} URL --save` saves one.")
        for file in files:
            known, text = _read(file), _text(file.with_suffix(".html"))
            expected = known["expected"]
            page = Page(text, known["url"], known.get("encoding"))
            yield known["url"], list(_differences(expected, _facts(read(page, "links" in expected))))


def _facts(result: dict[str, Any]) -> dict[str, Any]:
    """Return what a page says, by name, without how sure that is: better rules may find the same in another way."""
    if result["kind"] == "listing":
        return {name: result[name] for name in _OF_LISTINGS}
    found = {name: entry["value"] for part in ("fields", "extras") for name, entry in result[part].items()}
    for number, file in enumerate(result["resources"], 1):
        found |= {f"file {number}: {name}": entry["value"] for name, entry in file.items()}
    return found | ({"rdf_link": result["rdf_link"]} if "rdf_link" in result else {})


def _differences(expected: dict[str, Any], found: dict[str, Any]) -> Iterator[str]:
    for name in dict.fromkeys([*expected, *found]):
        before, after = expected.get(name), found.get(name)
        if before != after:
            yield f"{name}: {_shown(after)}, expected {_shown(before)}"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return "nothing" if value is None else text if len(text) <= 120 else f"{text[:119]}…"


def _name(url: str) -> str:
    """Return the name of a page's files.

    >>> _name("https://example.org/d/Street trees?id=7")
    'd-street-trees-id-7-85e52170'
    """
    parts = urlsplit(url)
    words = re.sub(r"[^a-z0-9]+", "-", f"{parts.path} {parts.query}".lower()).strip("-")[:60] or "start"
    return f"{words}-{hashlib.sha256(url.encode()).hexdigest()[:8]}"


def _read(file: Path) -> dict[str, Any]:
    try:
        known = strict_json.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise SavedPageError(f"{file} can't be read: {error}.") from None
    if not isinstance(known, dict) or not isinstance(known.get("expected"), dict) or "url" not in known:
        raise SavedPageError(f"{file} is no saved page: it lacks url or expected.")
    return known


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > _LARGEST:
            raise SavedPageError(f"{file} is larger than {_LARGEST} bytes.")
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise SavedPageError(f"{file} can't be read: {error.strerror}.") from None
