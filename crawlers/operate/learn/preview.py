"""What `scrapy try` does: it shows what a rules file extracts from single pages, and keeps them as tests."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lxml import etree

from crawlers.exceptions import CrawlersError
from crawlers.kinds.html import dialect
from crawlers.kinds.html.dialect import Ask
from crawlers.kinds.html.links import dataset_links, foreign
from crawlers.kinds.html.mapping import Page, document, missing
from crawlers.kinds.html.pages import rdf_link
from crawlers.kinds.html.rules import load
from crawlers.kinds.html.totals import total
from crawlers.operate.learn.candidates import texts
from crawlers.operate.learn.texts import shortened
from crawlers.operate.pages import is_address, pages
from crawlers.safety import strict_json

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from scrapy.commands import ScrapyCommand

    from crawlers.kinds.html.rules import Rules


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
            known, text = _loaded(file), _text(file.with_suffix(".html"))
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


def _loaded(file: Path) -> dict[str, Any]:
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


_LONGEST = 100  # characters of a value
_SHOWN = 5  # links of a listing, files of a dataset


def preview(command: ScrapyCommand, args: list[str], opts: argparse.Namespace) -> bool:
    """Print what a rules file finds on pages; return whether that is all that it requires.

    Args:
        args: the rules file, and pages as addresses or files; by default those of ``start``.
        opts: the command's options.

    Raises:
        CrawlersError: the rules are invalid, or a page is not available.
    """
    rules, saved = load(Path(args[0])), SavedPages.from_rules(Path(args[0]))
    if opts.check:
        return _check(saved, rules)
    asked = list(dict.fromkeys(args[1:] or rules.start))
    listings = {one for one in asked if opts.listing or one in rules.start}
    shown = _in_browser(rules, asked, listings)
    found = pages(command, asked, base=rules.start[0], in_browser=shown, encoding=rules.encoding)
    results = [_read(found[one], rules, one in listings) for one in asked]
    if opts.json:
        print(json.dumps(results, ensure_ascii=False, indent=2))
    else:
        print("\n".join(line for one in results for line in _lines(one, rules)))
    for one in asked if opts.save else ():
        print(f"Saved {saved.save(found[one], partial(_read, rules=rules, is_listing=one in listings))}.")
    return not any(one["missing"] for one in results)


def _check(saved: SavedPages, rules: Rules) -> bool:
    """Print how the saved pages differ from what the rules find on them now; return whether none does."""
    checked = list(saved.check(lambda page, is_listing: _read(page, rules, is_listing)))
    wrong = [url for url, differences in checked if differences]
    for url, differences in checked:
        print(f"{url}  {_red('differs') if differences else 'as expected'}")
        print("".join(f"  {line}\n" for line in differences), end="")
    print(f"{len(checked) - len(wrong)} of {len(checked)} saved pages are as expected.")
    return not wrong


def _read(page: Page, rules: Rules, is_listing: bool) -> dict[str, Any]:
    return (_listing if is_listing else _dataset)(page, rules)


def _in_browser(rules: Rules, asked: list[str], listings: set[str]) -> set[str]:
    where = {one: "listing" if one in listings else "datasets" for one in asked if is_address(one)}
    return {one for one, kind in where.items() if kind in rules.browser}


def _dataset(page: Page, rules: Rules) -> dict[str, Any]:
    found = document(page, rules)
    rdf = rdf_link(page, rules)
    return {"kind": "dataset", **found, **({"rdf_link": rdf} if rdf else {}), "missing": missing(found, rules)}


def _listing(page: Page, rules: Rules) -> dict[str, Any]:
    links, others = foreign(dataset_links(page, rules), rules)
    following = dialect.following(page, rules, Ask(start=page.url, url=page.url, number=2))
    return {
        "kind": "listing",
        "url": page.url,
        "total": total(page, rules),
        "links": [{"url": one.url, "id": one.id} for one in links],
        "foreign": [one.url for one in others],
        "paging": rules.paging.kind,
        "next": following and following.url,
        "next_is_posted": bool(following and following.body is not None),
        "missing": [] if links else ["links"],
    }


def _lines(result: dict[str, Any], rules: Rules) -> Iterator[str]:
    yield result["url"]
    yield from _of_listing(result) if result["kind"] == "listing" else _of_dataset(result, rules)
    yield ""


def _of_dataset(result: dict[str, Any], rules: Rules) -> Iterator[str]:
    names = [rule.name for rule in (*rules.fields, *rules.extras)]
    given = result["fields"] | result["extras"]
    for name in dict.fromkeys([*names, *result["missing"]]):
        yield from _field(name, given.get(name), is_missing=name in result["missing"])
    for name in ("schema_org", "rdf_link"):
        if name in result:
            yield f"  {name:<15} {_structured(name, result[name])}"
    if rules.resources:
        yield f"  {'resources':<15} {len(result['resources'])}"
        for one in result["resources"][:_SHOWN]:
            said = "  ".join(f"{name} {entry['value']}" for name, entry in one.items())
            yield f"  {'':<15} {shortened(said, 150)}"


def _structured(name: str, found: Any) -> str:
    if name == "rdf_link":
        return f"{found} (not fetched here; a crawl does)"
    return f"overrides the rules: {shortened(', '.join(str(key) for key in found), _LONGEST)}"


def _field(name: str, entry: dict[str, Any] | None, *, is_missing: bool) -> Iterator[str]:
    if entry is None:
        yield f"  {name:<15} {_red('missing, and required') if is_missing else '-'}"
        return
    label = f", {entry['label']!r} on the page" if entry.get("label", "") not in entry["by"] else ""
    yield f"  {name:<15} {shortened(' | '.join(texts(entry['value'])), _LONGEST)}"
    yield f"  {'':<15} by {entry['by']}{label}, {round(100 * entry['confidence'])} % sure"


def _of_listing(result: dict[str, Any]) -> Iterator[str]:
    links = result["links"]
    said = f" of {result['total']} that the page states" if result["total"] is not None else ""
    yield f"  {'links':<15} {len(links) if links else _red('no link to a dataset')}{said if links else ''}"
    for one in links[:_SHOWN]:
        yield f"  {'':<15} {shortened(one['id'])}  {one['url'] if one['id'] != one['url'] else ''}".rstrip()
    if result["foreign"]:
        yield f"  {'foreign':<15} {len(result['foreign'])} links to other hosts: {result['foreign'][0]}"
    posted = " (a form posted back)" if result["next_is_posted"] else ""
    yield f"  {'next page':<15} {result['next'] or 'none'}{posted}, by {result['paging']}"


def _red(text: str) -> str:
    return f"\x1b[1;31m{text}\x1b[0m" if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else text
