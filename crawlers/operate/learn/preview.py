"""What `scrapy try` does: it shows what a rules file extracts from single pages."""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawlers.kinds.html import dialect
from crawlers.kinds.html.dialect import Ask
from crawlers.kinds.html.links import dataset_links, foreign
from crawlers.kinds.html.mapping import document, missing
from crawlers.kinds.html.pages import rdf_link
from crawlers.kinds.html.rules import load
from crawlers.kinds.html.totals import total
from crawlers.operate.learn.candidates import texts
from crawlers.operate.learn.saved_pages import SavedPages
from crawlers.operate.learn.texts import shortened
from crawlers.operate.pages import is_address, pages

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from scrapy.commands import ScrapyCommand

    from crawlers.kinds.html.mapping import Page
    from crawlers.kinds.html.rules import Rules

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
