"""What is learned from a listing: the links to datasets and the pager, confirmed by the second page."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from crawlers.exceptions import CrawlersError
from crawlers.kinds.html import dialect, rules, words
from crawlers.kinds.html.dialect import Ask
from crawlers.kinds.html.forms import postback
from crawlers.kinds.html.links import dataset_links
from crawlers.kinds.html.paging import counted, is_off, letters, next_link, numbered_link, page_number, texts
from crawlers.kinds.html.rules import Paging, Rules, from_css
from crawlers.operate.learn import selectors
from crawlers.operate.learn.links import Links, Total, contradicts, links, total
from crawlers.operate.learn.template import template_links

if TYPE_CHECKING:
    from crawlers.operate.learn.sample import Sample


class ListingError(CrawlersError):
    """A listing has no links that could be those to datasets; raised by `listing`."""


@dataclass(frozen=True, slots=True)
class Listing:
    """
    Args:
        start: the listing's address.
        count: links that the rules give on it.
        ids: the first few datasets' ids.
        total: where it states how many datasets there are.
        second: links that are new on the second page; ``None`` when that was not looked at.
    """

    start: str
    links: Links
    pager: Pager
    count: int
    ids: list[str]
    second: int | None = None
    total: Total | None = None


def listing(sample: Sample, known: list[str]) -> Listing:
    """
    Raises:
        ListingError: there are no links that are alike.
    """
    found = template_links(sample) or links(sample, known)
    if found is None:
        empty = ': it is empty until scripts have run, and may need browser = "listing"' if sample.looks_empty else ""
        raise ListingError(f"{sample.address} has no links that could lead to datasets{empty}.")
    given = dataset_links(sample.page, _rules(sample.address, found.table))
    way = pager(sample)
    stated = total(sample, len(given), is_paged=bool(way.table))
    return Listing(sample.address, found, way, len(given), [item.id for item in given[:3]], total=stated)


def confirmed(first: Listing, sample: Sample, second: Sample) -> Listing:
    """Return the listing with what the second page confirms."""
    how = _rules(first.start, first.links.table)
    known = {link.url for link in dataset_links(sample.page, how)}
    new = [link for link in dataset_links(second.page, how) if link.url not in known]
    sure = first.pager.sure if new else first.pager.sure * 0.4
    stated = None if first.total and contradicts(second, first.total) else first.total
    return replace(first, second=len(new), pager=replace(first.pager, sure=sure), total=stated)


def _rules(start: str, table: dict[str, str]) -> Rules:
    """Return the rules that a crawl would find the links by."""
    css = table.get("css")
    xpath = from_css(css, css) if css else None
    how = rules.Links(css=css, xpath=xpath, pattern=table.get("pattern"), id=table.get("id"))
    return Rules(text="", start=(start,), hosts=(urlsplit(start).hostname or "",), links=how)


_ALIKE = 90.0
_BUTTONS = "button, a:not([href]), a[href^='#'], a[href^='javascript:'], [role='button'], input[type='button']"
_COUNTERS = ("page", "p", "pg", "seite", "pagina", "página", "strona", "start", "offset", "from", "first", "skip")
_MOST_BUTTONS = 2_000


@dataclass(frozen=True, slots=True)
class Pager:
    """
    Args:
        table: ``[paging]``; empty if there is none.
        following: the address of the second page, where it has one.
        description: what was found, as text for the user.
        in_browser: whether it needs a browser.
    """

    table: dict[str, Any]
    description: str
    sure: float
    following: str | None = None
    in_browser: bool = False


def pager(sample: Sample) -> Pager:
    """Return the page's first pager: a link, numbers, a form that is posted back, a button; an empty one if none."""
    for way in (_next, _numbers, _postback, _onward, _button, _counter):
        found = way(sample)
        if found:
            return found
    if sample.looks_empty:
        return Pager({}, 'the page is empty until scripts have run: it may need browser = "listing"', 0.2)
    return Pager(
        {},
        "no pager was found: say next = false in [paging] if this page is all there is, else query, path or scroll",
        0.3,
    )


def _next(sample: Sample) -> Pager | None:
    address = next_link(sample.page, Paging())
    return Pager({"next": True}, f"a link to the next page, {address}", 0.95, address) if address else None


def _numbers(sample: Sample) -> Pager | None:
    address = numbered_link(sample.page, Paging(kind="numbers"), 2)
    if not address:
        return None
    return Pager({"numbers": True}, f"numbered links{_difference(sample.address, address)}", 0.9, address)


def _difference(here: str, there: str) -> str:
    """Return the parameter that makes the second page."""
    first, second = (dict(parse_qsl(urlsplit(item).query)) for item in (here, there))
    changed = [name for name, value in second.items() if value.isdigit() and first.get(name) != value]
    return f", parameter {changed[0]}={second[changed[0]]} on page 2" if len(changed) == 1 else ""


def _postback(sample: Sample) -> Pager | None:
    form = postback(sample.page, Paging(kind="postback"), 2) if sample.css("form") else None
    if form is None or (not form.body and "doPostBack" not in sample.page.root.xpath("string(//script)")):
        return None
    return Pager({"postback": True}, "a form that is posted back (ASP.NET); no browser is needed", 0.9)


def _onward(sample: Sample) -> Pager | None:
    """Return another pager that ``next`` follows: a select of pages, a link by its shape, an index from A to Z."""
    found = next(filter(None, dialect.promised(sample.page, Paging(), Ask(start=sample.address, number=2))), None)
    if found:
        following = found.url if found.body is None else None
        return Pager({"next": True}, f"a way on that no usual word names, {found.url}", 0.8, following)
    index = [letter for letter in letters(sample.page) if letter != sample.address]
    return Pager({"next": True}, f"an index from A to Z, {index[0]}", 0.8, index[0]) if index else None


def _button(sample: Sample) -> Pager | None:
    buttons = [element for element in sample.css(_BUTTONS)[:_MOST_BUTTONS] if not is_off(element)]
    for element in buttons:
        for text in texts(element):
            if any(words.alike(text, item) >= _ALIKE for item in words.more()):
                return Pager({"button": text}, f"a button without an address, {text!r}", 0.85, in_browser=True)
    numbered = [button for button in buttons if any(page_number(text) for text in texts(button))]
    if len(numbered) < 2:
        return None
    box = next(iter(selectors.ancestors(numbered)), None)
    best = next(iter(selectors.single(sample, box)), None) if box is not None else None
    return Pager({"buttons": {"css": best.css} if best else True}, "numbered buttons", 0.75, in_browser=True)


def _counter(sample: Sample) -> Pager | None:
    """Return the parameter of the start address that counts pages or datasets."""
    query = parse_qsl(urlsplit(sample.address).query)
    for name, value in query:
        if name.lower() in _COUNTERS and value.isdigit():
            table = {"query": name, "first": int(value)}
            following = counted(sample.address, Paging(kind="query", query=name, first=int(value)), 1)
            return Pager(table, f"the parameter {name} of the start address", 0.6, following)
    return None
