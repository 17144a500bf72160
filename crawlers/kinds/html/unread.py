"""What a page shows that leads on, and nobody follows: a button, a page far ahead, a second list."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from statistics import median_low
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from zlib import crc32

from lxml import etree

from crawlers.kinds.html import paging, words
from crawlers.kinds.html.forms import FILLED_IN
from crawlers.kinds.html.links import canonical, charset, dataset_links
from crawlers.records.html_page import UNSEEN, text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from crawlers.kinds.html.paging import Anchor
    from crawlers.kinds.html.rules import Rules
    from crawlers.records.html_page import Page

_OF_PAGES = re.compile(r"(?<!\w)([^\W\d_]{1,20})\s{0,3}(\d{1,6})\s{0,3}(?:[^\W\d_]{1,5}|/)\s{0,3}(\d{1,6})(?!\d)")
_UNREAD = UNSEEN | {"title", "option"}
_AROUND = 3  # elements around a number in which a pager's text is
_CLICKED = (
    "//a[@href or @onclick or @role] | //area | //button | //*[@role='button']"
    " | //input[@type='button' or @type='submit' or @type='image']"
)
_HIDDEN = re.compile(r"(?:^|\s)(?:hidden|hide|d-none|is-hidden|invisible|ng-hide)(?:\s|$)", re.IGNORECASE)
_UNSHOWN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_APART = re.compile(
    rf"{paging.CALENDAR.pattern}|comment|review|facet|filter|modal|dialog|cookie|news"
    r"|accordion|collaps|swiper|slick|gallery|leaflet|(?:^|[\s_-])map(?:$|[\s_-])",
    re.IGNORECASE,
)
_IDLE = re.compile(r"\s*(?:javascript:)?\s*(?:return\s+false|void\s*\(?0?\)?)?[\s;]*", re.IGNORECASE)
_OPENS = (
    *("data-toggle", "data-bs-toggle", "data-target", "data-bs-target", "data-dismiss", "data-bs-dismiss"),
    *("data-slide", "data-bs-slide", "aria-expanded", "aria-haspopup"),
)
_TEXTS = etree.XPath(
    "descendant-or-self::text()[not(ancestor::a or ancestor::button or ancestor::script or ancestor::style"
    " or ancestor::*[@role='button'])]"
)
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_HEADING = f"preceding::*[{' or '.join(f'self::{name}' for name in _HEADINGS)}][1]"
_WORD = 12  # letters: "Wird geladen"
_MOST = 100  # elements that are looked at
_IN_ROWS = 2  # what says the same more often belongs to the rows
_LONGEST = 200  # characters of an attribute, or of a pager's text
_FEW = 2  # links that all pages have


def left(page: Page, rules: Rules, read: int, *, start: str, came: int, is_counted: bool) -> str:
    """Return what the last page has that leads on, and that nobody followed, as a clause; "" for nothing.

    Args:
        read: the number of the last page that was read.
        start: the address of the first one.
        came: how many datasets the pages before the last one listed.
        is_counted: whether a pager has shown how many pages there are.
    """
    way = rules.paging
    were = were_read(read)
    if (last := last_page(page, read)) > read:
        return f"says that this is page {read} of {last}, and {were}"
    if (way.is_promised or way.is_counted) and (
        said := _ahead(page, start, {read, read - 1, came, came + 1, way.first + way.step * (read - 1)})
    ):
        return f'its pager leads further, to "{said}", and {were}'
    has_worked = way.is_promised and read > 1
    is_looked_at = way.is_promised or way.kind == "scroll"
    found = _ways_on(page, _rows(page, rules), has_worked=has_worked) if is_looked_at else []
    found = [said for said in found if not (is_counted and words.says_more(said))]
    advice = "name it in [paging], or the total in links.total if it belongs to something else"
    return f'page {read} ends with "{found[0]}", which nobody pressed: {advice}' if found else ""


def offered(number: int, read: int) -> str:
    """Return that a pager offers a page behind the last one that was read, as a clause; "" if it does not."""
    return f"its pager offers page {number}, and {were_read(read)}" if number > read else ""


def were_read(count: int) -> str:
    return f"{count} {'was' if count == 1 else 'were'} read"


def beside(page: Page, rules: Rules, number: int, followed: str) -> str:
    """Return what a page has that leads on from a second list of datasets, as a clause, while the first is followed.

    Args:
        number: the page's.
        followed: the address of the next one.
    """
    rows = _rows(page, rules) if rules.paging.is_promised else {}
    found = _ways_on(page, rows, canonical(followed), has_worked=True)
    return f'page {number} has a list beside the first one, whose "{found[-1]}" nobody pressed' if found[1:] else ""


def last_page(page: Page, number: int) -> int:
    """Return the number of the last page, where a pager says in words which of how many it is; else its own number.

    In a pager other words may stand before and behind; in prose they mean something else.
    """
    for shown, is_pager in _numbered(page):
        for one in _OF_PAGES.finditer(shown):
            before, behind = one[1] if is_pager else shown[: one.start(2)], shown[one.end() :].lstrip()[:1]
            if int(one[2]) == number and words.is_beside(before) and (is_pager or not behind.isalnum()):
                return max(number, int(one[3]))
    return number


def _numbered(page: Page) -> Iterator[tuple[str, bool]]:
    """Yield the short texts that have a number, and whether they are in a pager."""
    known = set()
    for element in page.root.iter(etree.Element):
        if element.tag in _UNREAD:
            continue
        own = [
            item for item in (element.text, *(child.tail for child in element)) if item and any(map(str.isdigit, item))
        ]
        yield from ((" ".join(item.split()), False) for item in own if len(item) <= _LONGEST)
        for around in islice(paging.upwards(element), _AROUND) if own else ():
            if around in known or next(islice(around.iter(), _LONGEST, None), None) is not None:
                break
            known.add(around)
            if len(shown := text(around)) <= _LONGEST:
                yield shown, paging.is_in(around, paging.PAGER)


def _ahead(page: Page, start: str, places: Collection[int]) -> str:
    """Return what a link of a pager says that leads further than this page, by a number in its address; "" for none.

    The number counts pages or datasets up: it is that of this page, and grew since the first one. Others are those of
    a cursor, a year or the length of a page.

    Args:
        start: the address of the first page.
        places: the numbers that may stand for this page.
    """
    begun = {shape[0]: value for shape, value in paging.shapes(start)}
    here = {
        shape: value
        for shape, value in paging.shapes(page.url)
        if value in places and value > begun.get(shape[0], -1) and not paging.SIZE.search(shape[0])
    }
    for link in paging.anchors(page, page.root) if here else ():
        if link.leads_back or link.number is not None or paging.is_in(link.element, paging.PAGER):
            there = dict(paging.shapes(link.address))
            if any(there[shape] > here[shape] for shape in here.keys() & there.keys()):
                return link.text or link.address
    return ""


# Buttons and links behind lists


def _ways_on(page: Page, rows: Mapping[Any, str], followed: str = "", *, has_worked: bool) -> list[str]:
    """Return what leads on behind the lists of datasets of a page, as its text says: one for each list that has any.

    A button or link counts that says "next" or "more", leads to no other part of the site, and stands right behind
    the list: with no more links between them than the rows have. A list of some datasets of another one is none.

    Args:
        rows: the links to datasets, and their addresses.
        followed: the address of the next page, whose link counts, too.
        has_worked: whether a pager of links led on: then a "next" that leads nowhere shows its end.
    """
    links = {link.element: link for link in paging.anchors(page, page.root)}
    clicked = [item for item in page.find(_CLICKED) if item in rows or _is_shown(item)] if rows else []
    turning = {item for item in clicked if item in links and canonical(links[item].address) == followed}
    first = {address: row for row, address in rows.items()}
    held = Counter(around for row in first.values() for around in paging.upwards(row))
    places = {"top", *page.find("//@id | //a/@name")} if rows else set()
    on = {item: links[item].text or followed for item in turning - rows.keys()}
    for item in clicked:
        if item not in rows and item not in on and (said := _says_on(page, item, links.get(item))):
            script, form = (item.get("onclick") or "")[:_LONGEST], _form(item)
            is_live = bool(script and not _IDLE.fullmatch(script)) or (form is not None and form not in held)
            is_on = not has_worked or words.says_more(said) or item in links or is_live
            on |= {item: said} if is_on and not _is_elsewhere(page, item, held, places) else {}
    often = Counter(on.values())
    on = {item: said for item, said in on.items() if often[said] <= _IN_ROWS or item in turning}
    if len(on) > _MOST:
        return []
    found, between, gaps, is_behind = list[str](), 0, list[int](), False
    shown, known = list[Any](), set[str]()
    for item in clicked if on else ():
        if item in rows:
            gaps += [between] if is_behind else []
            shown = [*shown, item] if is_behind else [item]
            between, is_behind = 0, True
        elif item in on and (item in turning or _is_of_list(item, held, len(first))):
            is_near = is_behind and between <= (median_low(gaps) if gaps else 0)
            listed = {rows[row] for row in shown}
            headings = shown[0].xpath(_HEADING) if shown and item not in turning else []
            is_chosen = bool(headings) and words.says_chosen(text(headings[0]))  # the popular ones, the latest
            found += [on[item]] if is_near and not (listed & known or is_chosen) else []
            known |= listed
            is_behind = False
        elif item in links and links[item].number is None and not links[item].leads_back:
            between += 1
    return found


def _says_on(page: Page, element: Any, link: Anchor | None) -> str:
    """Return what a button or link says that leads on; "" if it does not."""
    is_elsewhere = not paging.leads_on(page, link) if link else bool(paging.href(element)) or paging.is_off(element)
    said = () if is_elsewhere else link.texts if link else paging.texts(element)
    if any(map(words.says_back, said)):
        return ""
    signs = words.SINGLE | words.DOUBLE
    return next((one for one in said if words.says_more(one) or words.says_next(one) or one in signs), "")


def _form(element: Any) -> Any | None:
    """Return the form that a button sends."""
    sends = element.tag in ("button", "input") and element.get("type") != "button"
    return next(element.iterancestors("form"), None) if sends else None


def _is_elsewhere(page: Page, element: Any, held: Collection[Any], places: Collection[str]) -> bool:
    """Return whether a button opens something on the page, leads to a place in it, or sends a form of another kind.

    Args:
        held: the elements that datasets are within.
        places: the names of the places in the page.
    """
    if any(element.get(name) is not None for name in _OPENS):
        return True
    name = (element.get("href") or "").strip().partition("#")[2]
    if name in places:
        return True
    form = _form(element)
    if form is None or form in held:
        return False
    action = page.absolute(form.get("action") or "") or page.url
    return urlsplit(action).path != urlsplit(page.url).path or bool(page.find(FILLED_IN, form))


def _is_shown(element: Any) -> bool:
    return not any(
        around.get("hidden") is not None
        or around.get("aria-hidden") == "true"
        or around.tag in UNSEEN
        or _HIDDEN.search((around.get("class") or "")[:_LONGEST])
        or _UNSHOWN.search((around.get("style") or "")[:_LONGEST])
        for around in paging.upwards(element)
    )


def _is_of_list(element: Any, held: Mapping[Any, int], count: int) -> bool:
    """Return whether a button belongs to a list, and not to a row of it, or to another part of the page.

    It is among the rows, or in an element of its own right behind them: no text is beside or before it.

    Args:
        held: how many datasets are within an element.
        count: how many there are on the page.
    """
    own = element
    for around in paging.upwards(element):
        if around in held:
            is_row = held[around] == 1 and (count > 1 or around.tag in ("li", "tr", "article", "dd"))
            return not is_row and (own is element or _is_bare(own)) and _is_next_to(own, held)
        called = " ".join(around.get(name) or "" for name in ("class", "id"))
        if around.tag in ("aside", "dialog") or _APART.search(called[:_LONGEST]):
            return False
        own = around
    return False


def _is_next_to(element: Any, held: Collection[Any]) -> bool:
    """Return whether several rows stand before an element, or one list with no text between."""
    before = list(islice(element.itersiblings(preceding=True), _MOST))
    holding = [item for item in before if item in held]
    if len(holding) > 1 or not holding:
        return True
    return all(_is_bare(item) for item in before[: before.index(holding[0])])


def _is_bare(element: Any) -> bool:
    """Return whether an element has no text but that of links and buttons, a word, or a short one with numbers."""
    if not isinstance(element.tag, str) or element.tag in UNSEEN:
        return True
    if element.tag in _HEADINGS or next(islice(element.iter(), _LONGEST, None), None) is not None:
        return False
    shown = " ".join(_TEXTS(element))
    return len(words.plain(shown)) <= _WORD or (len(shown) <= _LONGEST and any(map(str.isdigit, shown)))


def _rows(page: Page, rules: Rules) -> dict[Any, str]:
    """Return the links to datasets as elements, and their addresses."""
    known = {link.url for link in dataset_links(page, rules)}
    drop, encoding = rules.links.drop, charset(page)
    links = paging.anchors(page, page.root)
    found = {link.element: canonical(link.address, drop, encoding) for link in links}
    return {element: address for element, address in found.items() if address in known}


# Another page than one of the listing


def frame(page: Page) -> tuple[int, ...]:
    """Return digests of what a page links to, its pager left out."""
    links = (link for link in paging.anchors(page, page.root) if link.number is None)
    return tuple(dict.fromkeys(crc32(link.address.encode()) for link in links))


def strange(page: Page, number: int, common: Collection[int]) -> str:
    """Return what is strange about a page without a dataset, as a sentence; "" if nothing is.

    Args:
        number: the page's.
        common: what all pages before it have of `frame`.
    """
    is_bare = number > 2 and len(common) >= _FEW and not set(common).intersection(frame(page))
    shown = text(page.root) if is_bare else ""
    is_strange = is_bare and not (words.says_nothing(shown) if shown else not page.find("//script"))
    return (
        f"page {number} has none of the links that all pages before it have: run it again later" if is_strange else ""
    )
