"""What a page shows that leads on, and nobody follows: a button, a page far ahead, a second list."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from statistics import median_low
from typing import TYPE_CHECKING, Any
from zlib import crc32

from lxml import etree

from crawlers.kinds.html import paging, words
from crawlers.kinds.html.links import canonical, charset, dataset_links
from crawlers.kinds.html.mapping.page import UNSEEN, text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from crawlers.kinds.html.mapping.page import Page
    from crawlers.kinds.html.paging import Anchor
    from crawlers.kinds.html.rules import Rules

_OF_PAGES = re.compile(r"(?<!\w)([^\W\d_]{1,20})\s{0,3}(\d{1,6})\s{0,3}(?:[^\W\d_]{1,5}|/)\s{0,3}(\d{1,6})(?!\d)")
_UNREAD = UNSEEN | {"title", "option"}
_AROUND = 3  # elements around a number in which a pager's text is
_CLICKED = (
    "//a[@href or @onclick or @role] | //area | //button | //*[@role='button']"
    " | //input[@type='button' or @type='submit' or @type='image']"
)
_HIDDEN = re.compile(r"(?:^|\s)(?:hidden|hide|d-none|is-hidden|invisible|ng-hide)(?:\s|$)", re.IGNORECASE)
_UNSHOWN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_APART = re.compile(rf"{paging.CALENDAR.pattern}|comment|review|facet|filter|modal|dialog|cookie|news", re.IGNORECASE)
_IN_ROWS = 2  # what says the same more often belongs to the rows
_LONGEST = 200  # characters of an attribute, or of a pager's text
_FEW = 2  # links that all pages have


def left(page: Page, rules: Rules, read: int, *, is_counted: bool) -> str:
    """Return what the last page has that leads on, and that nobody followed, as a clause; "" for nothing.

    Args:
        read: the number of the last page that was read.
        is_counted: whether a pager has shown how many pages there are.
    """
    way = rules.paging
    were = f"{read} {'was' if read == 1 else 'were'} read"
    if (last := _last_page(page, read)) > read:
        return f"says that this is page {read} of {last}, and {were}"
    if (way.is_promised or way.is_counted) and (said := _ahead(page)):
        return f'its pager leads further, to "{said}", and {were}'
    found = _ways_on(page, _rows(page, rules)) if way.is_promised or way.kind == "scroll" else []
    found = [said for said in found if not (is_counted and words.says_more(said))]
    advice = "name it in [paging], or the total in links.total if it belongs to something else"
    return f'page {read} ends with "{found[0]}", which nobody pressed: {advice}' if found else ""


def beside(page: Page, rules: Rules, number: int, followed: str) -> str:
    """Return what a page has that leads on from a second list of datasets, as a clause, while the first is followed.

    Args:
        number: the page's.
        followed: the address of the next one.
    """
    found = _ways_on(page, _rows(page, rules), canonical(followed)) if rules.paging.is_promised else []
    return f'page {number} has a list beside the first one, whose "{found[-1]}" nobody pressed' if found[1:] else ""


def _last_page(page: Page, number: int) -> int:
    """Return the number of the last page, where a pager says in words which of how many it is; else its own number."""
    found = (last for shown, is_pager in _numbered(page) for last in _last_pages(shown, number, is_pager=is_pager))
    return max(number, next(found, number))


def _last_pages(shown: str, number: int, *, is_pager: bool) -> Iterator[int]:
    """Yield the number of the last page that a text names beside the page's own.

    Args:
        is_pager: whether other words may stand before and behind; in prose they mean something else.
    """
    for one in _OF_PAGES.finditer(shown):
        before, behind = one[1] if is_pager else shown[: one.start(2)], shown[one.end() :].lstrip()[:1]
        if int(one[2]) == number and words.is_beside(before) and (is_pager or not behind.isalnum()):
            yield int(one[3])


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


def _ahead(page: Page) -> str:
    """Return what a link of a pager says that leads further than this page, by a number in its address; "" for none."""
    here = dict(paging.shapes(page.url))
    for link in paging.anchors(page, page.root):
        if paging.leads_back(link) or paging.number_of(link) is not None or paging.is_in(link.element, paging.PAGER):
            there = dict(paging.shapes(link.address))
            if any(
                there[shape] > here[shape] for shape in here.keys() & there.keys() if not paging.SIZE.search(shape[0])
            ):
                return link.text or link.address
    return ""


# Buttons and links behind lists


def _ways_on(page: Page, rows: Mapping[Any, str], followed: str = "") -> list[str]:
    """Return what leads on behind the lists of datasets of a page, as its text says: one for each list that has any.

    A button or link counts that says "next" or "more", leads to no other part of the site, and stands right behind
    the list: with no more links between them than the rows have.

    Args:
        rows: the links to datasets, and their addresses.
        followed: the address of the next page, whose link counts, too.
    """
    links = {link.element: link for link in paging.anchors(page, page.root)}
    clicked = [item for item in page.find(_CLICKED) if item in rows or _is_shown(item)] if rows else []
    on = {
        item: said for item in clicked if (said := _says_on(page, item, links.get(item), followed)) and item not in rows
    }
    first = {address: row for row, address in rows.items()}
    held = Counter(around for row in first.values() for around in row.iterancestors())
    often = Counter(on.values())
    found, between, gaps, is_behind = list[str](), 0, list[int](), False
    for item in clicked if on else ():
        if item in rows:
            gaps += [between] if is_behind else []
            between, is_behind = 0, True
        elif item in on and often[on[item]] <= _IN_ROWS and _is_of_list(item, held, len(first)):
            found += [on[item]] if is_behind and between <= (median_low(gaps) if gaps else 0) else []
            is_behind = False
        elif item in links and paging.number_of(links[item]) is None and not paging.leads_back(links[item]):
            between += 1
    return found


def _says_on(page: Page, element: Any, link: Anchor | None, followed: str) -> str:
    """Return what a button or link says that leads on; "" if it does not."""
    if link and canonical(link.address) == followed:
        return link.text or followed
    is_elsewhere = not paging.leads_on(page, link) if link else bool(paging.href(element)) or paging.is_off(element)
    said = () if is_elsewhere else link.texts if link else paging.texts(element)
    if any(map(words.says_back, said)):
        return ""
    signs = words.SINGLE | words.DOUBLE
    return next((one for one in said if words.says_more(one) or words.says_next(one) or one in signs), "")


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

    Args:
        held: how many datasets are within an element.
        count: how many there are on the page.
    """
    for around in paging.upwards(element):
        if around in held:
            return held[around] > 1 or (count == 1 and around.tag not in ("li", "tr", "article", "dd"))
        called = " ".join(around.get(name) or "" for name in ("class", "id"))
        if around.tag in ("aside", "dialog") or _APART.search(called[:_LONGEST]):
            return False
    return False


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
    links = (link for link in paging.anchors(page, page.root) if paging.number_of(link) is None)
    return tuple(dict.fromkeys(crc32(link.address.encode()) for link in links))


def strange(page: Page, number: int, common: Collection[int]) -> str:
    """Return what is strange about a page without a dataset, as a sentence; "" if nothing is.

    Args:
        number: the page's.
        common: what all pages before it have of `frame`.
    """
    is_strange = number > 2 and len(common) >= _FEW and not set(common).intersection(frame(page))
    return (
        f"page {number} has none of the links that all pages before it have: run it again later" if is_strange else ""
    )
