"""What was learned, as text: what each rule gives on each page, and how certain it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlers.kinds.html.mapping import document
from crawlers.operate.learn.candidates import texts
from crawlers.operate.learn.texts import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.kinds.html.rules import Rules
    from crawlers.operate.learn.candidates import Learned
    from crawlers.operate.learn.resources import Files
    from crawlers.operate.learn.result import Result
    from crawlers.operate.learn.sample import Sample

_PAGES = {"listing": "listing", "datasets": "datasets' pages"}
_MOST = 70  # characters of a value


def report(result: Result, samples: list[Sample], rules: Rules) -> list[str]:
    """Return lines for a terminal, with the values that the finished rules give."""
    documents = [document(sample.page, rules) for sample in samples]
    warnings = [f"{'':>15}   !    {warning}" for warning in result.warnings]
    fields = _fields(result, documents)
    return [*_head(result, samples), *fields, *_files(result.files), *warnings, *_listing(result)]


def _head(result: Result, samples: list[Sample]) -> Iterator[str]:
    for number, sample in enumerate(samples, 1):
        yield f"page {number}: {sample.address}"
    if result.browser:
        filled = " and the ".join(_PAGES[each] for each in result.browser)
        yield f"Scripts fill the {filled}: a browser has loaded them."
    if samples[0].looks_empty:
        yield 'The page shows next to nothing before its scripts have run: it may need browser = "datasets".'
    if result.guessed:
        yield "No --value was given: this is what the page says by its title, its labels, its tags and its links."
    if result.software:
        yield result.software.advice(samples[0].address)
    if len(samples) == 1:
        yield "One page was seen: nothing bears the rules out. --more URL names further ones."
    if result.structured:
        yield f"The page has {' and '.join(result.structured)}: it is read first, and the rules add to it."
    yield ""


def _fields(result: Result, documents: list[dict[str, Any]]) -> Iterator[str]:
    for name in result.fields:
        yield from _field(name, [document["fields"].get(name.name, {}) for document in documents])


def _field(learned: Learned, entries: list[dict[str, Any]]) -> Iterator[str]:
    way = next(f"{name} {learned.table[name]}" for name in ("label", "css", "xpath") if name in learned.table)
    rest = {name: value for name, value in learned.table.items() if name not in ("label", "css", "xpath")}
    more = [name if value is True else f"{name} {value}" for name, value in rest.items()]
    yield f"{learned.name:<15} {round(100 * learned.sure):>3} %  {shortened(', '.join([way, *more]), 300)}"
    for number, entry in enumerate(entries, 1):
        given = texts(entry.get("value"))
        yield f"{'':>15} {number:>3}    {shortened(' | '.join(given), _MOST) if given else '-'}"
    if learned.why:
        yield f"{'':>15}   !    {'; '.join(learned.why)}"


def _files(files: Files | None) -> Iterator[str]:
    if files is None:
        return
    yield f"{'resources':<15} {round(100 * files.sure):>3} %  {' '.join(*files.table.items())}"
    for number, count in enumerate(files.counts, 1):
        yield f"{'':>15} {number:>3}    {count} files"
    fields = ", ".join(f"{name} {value}" for name, value in files.first.items())
    yield f"{'':>15}        first: {shortened(fields, 120)}"
    if files.why:
        yield f"{'':>15}   !    {'; '.join(files.why)}"


def _listing(result: Result) -> Iterator[str]:
    listing, software = result.listing, result.software
    if listing is None and software and software.tables:
        yield f"start, [links] and [paging] are those of {software.title}: try them before you crawl, or give --list."
        return
    if listing is None:
        yield "No --list was given: start and [links] are guesses; learn them from a listing before you crawl."
        return
    way = ", ".join(f"{name} {value}" for name, value in listing.links.table.items())
    yield f"{'links':<15} {round(100 * listing.links.sure):>3} %  {way}"
    yield f"{'':>15}        {listing.count} links on {listing.start}; ids: {shortened(', '.join(listing.ids), _MOST)}"
    if listing.links.why:
        yield f"{'':>15}   !    {'; '.join(listing.links.why)}"
    if listing.total:
        yield f"{'':>15}        {listing.total.count} datasets, it says; each crawl is compared with that"
    yield f"{'paging':<15} {round(100 * listing.pager.sure):>3} %  {listing.pager.description}"
    if listing.second is not None:
        yield f"{'':>15}        the second page has {listing.second} links that the first has not"
    if listing.pager.in_browser:
        yield f'{"":>15}   !    this takes browser = "listing"'
