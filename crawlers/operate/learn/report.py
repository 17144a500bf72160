"""What was learned, as text: what each rule gives on each page, and how certain it is."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Any

from crawlers.kinds.html.mapping import document
from crawlers.kinds.html.rules import MANY, RESOURCE_FIELDS
from crawlers.operate.learn.candidates import selector, texts
from crawlers.operate.learn.sample import is_made_up
from crawlers.operate.learn.texts import DATES, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.kinds.html.rules import Rules
    from crawlers.operate.learn.candidates import Learned, Table
    from crawlers.operate.learn.files import Files
    from crawlers.operate.learn.result import Result
    from crawlers.operate.learn.sample import Sample

_PAGES = {"listing": "listing", "datasets": "datasets' pages"}
_MOST = 70  # characters of a value
_SAID_OF_FILES = frozenset(f"resource.{name}" for name in RESOURCE_FIELDS)
_USUAL = ("title", "description", "publisher", "license", "keywords", "modified")


def report(result: Result, samples: list[Sample], rules: Rules) -> list[str]:
    """Return lines for a terminal, with the values that the finished rules give."""
    documents = [document(sample.page, rules) for sample in samples]
    warnings = [f"{'':>15}   !    {warning}" for warning in result.warnings]
    fields = _fields(result, documents)
    files = [*_files(result.files)]
    if files and not result.said & _SAID_OF_FILES:
        files.append(f"{'':>15}   >    if wrong: --value resource.url=ADDRESS or --without resources")
    return [*_head(result, samples), *fields, *files, *warnings, *_listing(result)]


def _head(result: Result, samples: list[Sample]) -> Iterator[str]:
    for number, sample in enumerate(samples, 1):
        yield f"page {number}: {sample.address}"
    if result.browser:
        filled = " and the ".join(_PAGES[each] for each in result.browser)
        yield f"Scripts fill the {filled}: a browser has loaded them."
    if samples[0].looks_empty:
        yield 'The page shows next to nothing before its scripts have run: it may need browser = "datasets".'
    if result.software:
        address = samples[0].address
        advice = result.software.advice(address)
        yield advice.replace(result.software.portal(address), "ADDRESS") if is_made_up(address) else advice
    if len(samples) == 1:
        yield "One page was seen: nothing bears the rules out. --more URL names further ones."
    if result.structured:
        yield f"The page has {' and '.join(result.structured)}: it is read first, and the rules add to it."
    yield ""


def _fields(result: Result, documents: list[dict[str, Any]]) -> Iterator[str]:
    for rule in result.fields:
        yield from _field(rule, [document["fields"].get(rule.name, {}) for document in documents])
        if rule.name not in result.said:
            other = next(iter(result.others.get(rule.name, ())), None)
            right = options_of(other) if other else f"--value {rule.name}=TEXT"
            yield f"{'':>15}   >    if wrong: {right} or --without {rule.name}"
    for rule in result.left_out:
        yield f"{rule.name:<15}   -    left out: {_way(rule.table)}{_found_on(rule)}"
        yield f"{'':>15}   1    {shortened(' | '.join(rule.given[0]), _MOST)}"
        yield f"{'':>15}   >    {options_of(rule)} keeps it"
    known = {rule.name for rule in (*result.fields, *result.left_out)}
    if missing := [name for name in _USUAL if name not in known]:
        yield f"{'not found':<15}        {', '.join(missing)}"
        yield f"{'':>15}   >    --value FIELD=TEXT adds what the page shows, --label FIELD=LABEL what is beside a label"


def _field(rule: Learned, entries: list[dict[str, Any]]) -> Iterator[str]:
    yield f"{rule.name:<15} {rule.certainty:>5}  {_way(rule.table)}{_found_on(rule)}"
    for number, entry in enumerate(entries, 1):
        given = texts(entry.get("value"))
        yield f"{'':>15} {number:>3}    {shortened(' | '.join(given), _MOST) if given else '-'}"
    if rule.why:
        yield f"{'':>15}   !    {'; '.join(rule.why)}"


def _found_on(rule: Learned) -> str:
    """Return on how many of the further pages a field was found, and on which not."""
    further = len(rule.given) - 1
    if not further:
        return ""
    lacking = [str(number) for number in range(2, further + 2) if number not in rule.found]
    return f"; found on {len(rule.found)} of {further} other pages{', not on ' + ', '.join(lacking) if lacking else ''}"


def _way(table: Table) -> str:
    """Return where a rule finds its field, as text."""
    rest = {name: value for name, value in table.items() if name not in ("label", "css", "xpath")}
    more = [name if value is True else f"{name} {value}" for name, value in rest.items()]
    return shortened(", ".join([selector(table), *more]), 300)


def options_of(rule: Learned) -> str:
    """Return the options that give a rule, as a shell takes them; TEXT stands for what can't be printed whole."""
    if "label" in rule.table and "attr" not in rule.table:
        return f"--label {rule.name}={quote(rule.table['label'])}"
    given = rule.given[0]
    may_begin = len(given) == 1 and rule.name not in {*MANY, *DATES}  # `Wanted.gives` takes how such a text begins
    shown = [(text, shortened(text, _MOST)) for text in given]
    is_whole = all(short == " ".join(text.split()) or (may_begin and short.endswith("…")) for text, short in shown)
    return " ".join(
        f"--value {rule.name}={quote(short) if is_whole else 'TEXT'}" for _, short in shown[: None if is_whole else 1]
    )


def _files(files: Files | None) -> Iterator[str]:
    if files is None:
        return
    yield f"{'resources':<15} {round(100 * files.sure):>3} %  {' '.join(*files.table.items())}"
    counts = enumerate(files.counts, 1)
    yield f"{'':>15}        {', '.join(f'{count} on page {number}' for number, count in counts)}"
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
