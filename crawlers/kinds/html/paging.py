"""The next page of a listing: by the link to it, by its number, by the shape of an address, or counted up."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, unquote, unquote_plus, urljoin, urlsplit, urlunsplit

from lxml import etree

from crawlers.kinds.html import words
from crawlers.kinds.html.links import canonical, outermost
from crawlers.records.html_page import text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from crawlers.kinds.html.rules import Paging
    from crawlers.records.html_page import Page

_LOADED = (
    *("hx-get", "data-hx-get", "ic-get-from", "up-href", "data-url", "data-href", "data-next", "data-next-url"),
    *("data-page-url", "data-ajax-url", "data-remote-url", "data-load-url"),
)
"""The attributes that hold the address of a link that a script follows."""
_LINKS = (
    "descendant-or-self::*[(self::a or self::area or self::link) and @href"
    f" or (self::a or self::button) and ({' or '.join(f'@{name}' for name in _LOADED)})]"
)
_OFF = re.compile(r"(?:^|[\s_-])(?:disabled|inactive|unavailable)(?:$|[\s_-])", re.IGNORECASE)
PAGER = re.compile(r"pag(?:er|in|ing|e-?nav|es\b)|seiten|seitennav|nav-links", re.IGNORECASE)
CALENDAR = re.compile(r"calendar|datepicker|carousel|slide|breadcrumb", re.IGNORECASE)
_NEXT_CLASS = re.compile(
    r"(?:^|[\s_-])(?:next|(?:chevron|angle|arrow|caret)-(?:circle-)?right)(?:$|[\s_-])", re.IGNORECASE
)
_NAMES = re.compile(
    r"(?:.{1,20}[_.\[-])?(?:page|pg|p|seite|pagina|after|before|offset|start|from|skip|until|marker|position|next"
    r"|(?:last|max|since|start|from)[_-]?(?:id|key|after)?)\]?|.{0,20}(?:cursor|token|offset|continu\w{1,9})",
    re.IGNORECASE,
)
_PAGES = re.compile(r"page|pg|p|seite|pagina", re.IGNORECASE)
_SIZES = re.compile(r".{0,20}per[_-]?page|(?:page)?[_-]?(?:size|limit|rows)|.{0,10}csrf.{0,10}", re.IGNORECASE)
SIZE = re.compile(rf"(?:[?&]|^)(?:{_SIZES.pattern})=$", re.IGNORECASE)
_STEPS = re.compile(r"/(?:page|p|seite|pagina|offset|before|after|cursor|older|start)[/-]?[^/]{0,200}/?", re.IGNORECASE)
_CLASS = re.compile(r"(?:^|[\s_-])(?:older|next|load-?more|show-?more|view-?more|more-link)(?:$|[\s_-])", re.IGNORECASE)
_NUMBER = re.compile(r"[\W_]{0,3}(\d{1,9})[\W_]{0,3}")
_LABELLED = re.compile(r"([^\d]{1,40})(\d{1,9})[\W_]{0,3}")
_DIGITS = re.compile(r"\d{1,18}")
_DATED = re.compile(r"(?:19|20)\d\d(?:[-/.]?\d{1,2})?[-/.]?\Z")
_PICTURES = etree.XPath(".//img/@alt | .//img/@title | .//*[local-name()='svg']/*[local-name()='title']/text()")
_LONGEST = 200  # characters of a pager link's text
_YEARS = range(1900, 2100)
_FEWEST = 5  # letters of an index
_OTHERS = frozenset(("#", "0-9", "0–9", "1-9", "0 - 9", "123", "*"))
_ADDRESS = 500  # characters
_INDEX = re.compile(r"(?:/(?:index|default))?\.\w{1,5}\Z|/(?:index|default)\Z", re.IGNORECASE)
_PLACES = 4  # where in an address the letter may stand, from its end
_PARENTS = 6
_MOST = 100  # elements within a pager's link
_BEHIND = 8  # elements behind the highest number of a pager
_BETWEEN = " \t\r\n\xa0,;|"


def next_link(page: Page, paging: Paging) -> str | None:
    """Return the address of the page after this one.

    It is found by the rules' selector, else by their text, else by ``rel=next``, else by the texts of the links: the
    usual words, then signs such as ``›``, then ``»``, then a class named "next". Disabled links, and those to the page
    itself, do not count. If the links lead to several addresses, the one in a pager counts, else the one with the
    page's own path; if there are still several, none is followed: they do not belong to the listing.
    """
    if paging.xpath is not None:
        return _selected(page, paging.xpath, paging.text)
    usable = list(anchors(page, page.root))
    links = [link for link in usable if link.element.tag != "link"]
    if paging.text is not None:
        return found.address if (found := best(links, paging.text)) else None
    related = [link for link in usable if "next" in (link.element.get("rel") or "").lower().split()]
    return related[0].address if related else _by_text(page, links)


def numbered_link(page: Page, paging: Paging, number: int) -> str | None:
    """Return the address of the page with this number, seen from the page before it.

    It is in the rules' pager if they name one. Else a pager is at least two links whose texts are numbers and whose
    addresses differ evenly in only one number; or numbers in an element named as a pager, or beside others. If the
    pager does not show the number, the ``...`` behind its highest number leads on, or its link to the next page.
    """
    found = [page.root] if paging.xpath is None else outermost(page.find(paging.xpath))
    roots = [item for item in found if not isinstance(item, str)]
    links = [link for root in roots for link in anchors(page, root) if link.element.tag != "link"]
    numbered = [(item, link) for link in links if (item := link.number) is not None]
    if paging.xpath is None:
        numbered = _by_shape(numbered) or [pair for pair in numbered if _is_among_numbers(pair[0], pair[1].element)]
    for value, link in numbered:
        if value == number:
            return link.address
    dots = _dots(links, numbered, number)
    if dots is not None:
        return dots
    return next_link(page, paging) if paging.xpath is None else _by_text(page, links)


def linked_pages(page: Page) -> dict[int, str]:
    """Return the pages that a pager of numbers leads to, and their addresses.

    Its element must be named as a pager, or show the page's own number beside the links: other numbers may be facets.
    """
    return {value: link.address for value, link in _page_links(page)}


def _page_links(page: Page) -> Sequence[tuple[int, Anchor]]:
    links = [link for link in anchors(page, page.root) if link.element.tag != "link"]
    numbered = [  # but for those of the rows of a page
        (item, link)
        for link in links
        if (item := link.number) is not None
        and not any(digits == item and SIZE.search(shape[0]) for shape, digits in shapes(link.address))
    ]
    shaped = _by_shape(numbered)
    if not any(_is_among_numbers(value, link.element) for value, link in shaped):
        shaped = [(value, link) for value, link in numbered if _is_among_numbers(value, link.element)]
    if all(value in _YEARS for value, _ in shaped):
        return []  # an archive by years
    return shaped


def ends_with_dots(page: Page) -> bool:
    """Return whether a pager of numbers ends with ``…``: no number stands behind it, as in ``1 2 … 9``."""
    found = _page_links(page)
    highest = max((value for value, _ in found), default=0)
    return any(_has_dots_behind(link.element) for value, link in found if value == highest)


def _has_dots_behind(element: Any) -> bool:
    cell, are_last = cell_of(element), False
    parent = cell.getparent()
    around = None if parent is None else parent.getparent()
    is_inner = around is not None and PAGER.search(" ".join(around.get(name) or "" for name in ("class", "id")))
    for item in (cell, parent) if is_inner else (cell,):
        behind = list(islice(item.itersiblings(etree.Element), _BEHIND))
        shown = [(item.tail or "",), *((text(each), *islice(each.itertext(), 4), each.tail or "") for each in behind)]
        for one in (each.strip(_BETWEEN) for each in chain(*shown)):
            are_last = one in words.ELLIPSIS or (are_last and page_number(one) is None)
    return are_last


def upwards_by(pages: Mapping[int, str]) -> tuple[str, str, int, int] | None:
    """Return how the addresses of a pager count up: what is before and behind the number, that of page 0, the step.

    They count pages from 0 or 1, or the datasets before a page; what counts otherwise may be no number of a page.

    >>> upwards_by({2: "/list?page=2&q=a", 3: "/list?page=3&q=a"}), upwards_by({2: "/list?from=20", 3: "/list?from=40"})
    (('/list?page=', '&q=a', 0, 1), ('/list?from=', '', -20, 20))
    >>> upwards_by({1: "/list", 2: "/list/2"}), upwards_by({2: "/list?from=20"}), upwards_by({1: "/d/51", 2: "/d/98"})
    (('/list/', '', 0, 1), None, None)
    """
    groups: defaultdict[tuple[str, int, str], dict[int, int]] = defaultdict(dict)
    for value, address in pages.items():
        for shape, digits in shapes(address):
            groups[shape][value] = digits
    found = []
    for (before, _, behind), group in groups.items():
        (low, begin), (high, end) = min(group.items()), max(group.items())
        step = (end - begin) // (high - low) if high > low else 1
        base = begin - low * step
        is_written = all(f"{before}{base + value * step}{behind}" == pages[value] for value in group)
        if step > 0 and base + step in (0, 1, step) and is_written:
            found.append((len(group), (before, behind, base, step)))
    best = max((count for count, _ in found), default=0)
    agreed = [each for count, each in found if count == best]
    return agreed[0] if len(agreed) == 1 else None


def counted(start: str, paging: Paging, index: int) -> str:
    """Return the address of the page ``index`` pages after the first, which is the start address itself.

    >>> from crawlers.kinds.html.rules import Paging
    >>> counted("https://example.org/list?page=1&q=a%20b", Paging(kind="query", query="page"), 2)
    'https://example.org/list?page=3&q=a%20b'
    >>> counted("https://example.org/list", Paging(kind="path", address="/list/{page}/", first=0, step=20), 2)
    'https://example.org/list/40/'
    """
    if index == 0:
        return start
    number = str(paging.first + index * paging.step)
    if paging.address is not None:
        return urljoin(start, paging.address.replace("{page}", number))
    parts = urlsplit(start)
    return urlunsplit(parts._replace(query=_with(parts.query, paging.query or "page", number), fragment=""))


def _with(query: str, name: str, number: str) -> str:
    """Return the query with a parameter set, in its place or at the end; the rest is unchanged."""
    pairs = query.split("&") if query else []
    mine = [at for at, pair in enumerate(pairs) if unquote_plus(pair.partition("=")[0]) == name]
    pair = f"{quote(name, safe='[]()$:,!*;@/?~')}={number}"
    if not mine:
        return "&".join([*pairs, pair])
    pairs[mine[0]] = f"{pairs[mine[0]].partition('=')[0]}={number}"
    return "&".join(pair for at, pair in enumerate(pairs) if at not in mine[1:])


# Links


@dataclass(frozen=True, slots=True)
class Turner:
    """A link or button that may turn the page.

    Args:
        texts: its text, label and title, and the names of its images.
    """

    element: Any
    texts: tuple[str, ...]

    @property
    def text(self) -> str:
        return self.texts[0] if self.texts else ""

    @property
    def number(self) -> int | None:
        """The number of the page that it stands for."""
        return next((item for item in map(page_number, self.texts) if item is not None), None)

    @property
    def leads_back(self) -> bool:
        return any(map(words.says_back, self.texts))

    @property
    def says_next(self) -> bool:
        return any(map(words.says_next, self.texts))

    @property
    def is_dots(self) -> bool:
        return not words.ELLIPSIS.isdisjoint(self.texts)


@dataclass(frozen=True, slots=True)
class Anchor(Turner):
    address: str


def anchors(page: Page, root: Any) -> Iterable[Anchor]:
    """Return the links within an element that lead to another page and are not switched off."""
    return _all_anchors(page) if root is page.root else _anchors(page, root)


@lru_cache(maxsize=2)
def _all_anchors(page: Page) -> Sequence[Anchor]:
    return tuple(_anchors(page, page.root))  # several kinds of pagers search them


def _anchors(page: Page, root: Any) -> Iterator[Anchor]:
    here = canonical(page.url)
    for element in page.find(_LINKS, root):
        found = href(element)
        if not found or is_off(element):
            continue
        address = page.absolute(found.replace("\\", "/"))
        if address is not None and canonical(address) != here:
            yield Anchor(element, texts(element), address)


def href(element: Any) -> str:
    """Return a link's address; for a link within the page, the address that a script loads."""
    given = (element.get("href") or "").strip()
    if given and not given.startswith("#") and not given.lower().startswith("javascript:"):
        return str(given)
    return next((found for name in _LOADED if (found := (element.get(name) or "").strip())), "")


def is_off(element: Any) -> bool:
    """Return whether a link or button is disabled, by itself or by the list item around it."""
    parent = element.getparent()
    around = [element] if parent is None or parent.tag not in ("li", "span", "td") else [element, parent]
    return any(
        item.get("disabled") is not None
        or (item.get("aria-disabled") or "").lower() == "true"
        or "aspNetDisabled" in (item.get("class") or "")
        or _OFF.search((item.get("class") or "")[:_LONGEST]) is not None
        for item in around
    )


def texts(element: Any) -> tuple[str, ...]:
    """Return the texts of a link or button, for readers of every kind."""
    if next(islice(element.iter(), _MOST, None), None) is not None:
        return ()
    found = [text(element), element.get("value") if element.tag == "input" else ""]
    found += [element.get(name) for name in ("aria-label", "title", "alt")]
    found += _PICTURES(element)[:5] if len(element) else []
    return tuple(
        dict.fromkeys(" ".join(item.split()) for item in found if item and len(item) <= _LONGEST and item.strip())
    )


def _selected(page: Page, xpath: str, wanted: str | None) -> str | None:
    """Return the link that a selector finds; within a pager, the "next" link, or else the only one that is left."""
    for found in outermost(page.find(xpath)):
        if not isinstance(found, str):
            address = None if is_off(found) else _within(page, found, wanted)
        elif (address := page.absolute(found)) is not None and canonical(address) == canonical(page.url):
            address = None
        if address is not None:
            return address
    return None


def _within(page: Page, found: Any, wanted: str | None) -> str | None:
    links = list(anchors(page, found))
    if not links:  # the link around an image or a word
        around = next((parent for parent in islice(found.iterancestors(), 3) if parent.tag == "a"), None)
        links = [] if around is None else [link for link in anchors(page, around) if link.element is around]
    if wanted is not None:
        return link.address if (link := best(links, wanted)) else None
    if len(links) == 1 and (links[0].element is found or found.tag in ("span", "i", "img")):
        return links[0].address
    left = _agreed([link for link in links if not link.leads_back and link.number is None])
    return _by_text(page, links) or (left.address if left else None)


def best(items: Iterable[Any], wanted: str) -> Any | None:
    """Return the link or button with the text that is most similar to the wanted one."""
    scored = [(max((words.alike(shown, wanted) for shown in item.texts), default=0.0), item) for item in items]
    score, item = max(scored, key=lambda pair: pair[0], default=(0.0, None))
    return item if score >= words.ALIKE else None


def _by_text(page: Page, links: Sequence[Anchor]) -> str | None:
    """Return the link to the next page by the texts of the links.

    It is the address that all links of that text share, or those in a pager, or those with the page's own path.
    """
    forward = [link for link in links if not link.leads_back]
    ranks: tuple[Callable[[Anchor], bool], ...] = (
        lambda link: link.says_next,
        lambda link: link.text in words.SINGLE,
        lambda link: link.text in words.DOUBLE,
        lambda link: not words.plain(link.text) and not any(map(str.isdigit, link.text)) and has_next_class(link),
    )
    found = next(filter(None, ([link for link in forward if rank(link)] for rank in ranks)), [])
    path = urlsplit(page.url).path
    in_pager = [link for link in found if is_in(link.element, PAGER)]
    at_path = [link for link in in_pager or found if urlsplit(link.address).path == path]
    agreed = _agreed(found, in_pager, at_path)
    return agreed.address if agreed else None


def _agreed(*groups: Sequence[Anchor]) -> Anchor | None:
    """Return the first link of the first group whose links lead to one address."""
    return next((some[0] for some in groups if len({link.address for link in some}) == 1), None)


def has_next_class(link: Anchor) -> bool:
    parent = link.element.getparent()
    near = [link.element, *link.element[:3], *([parent] if parent is not None and parent.tag == "li" else [])]
    return any(_NEXT_CLASS.search((item.get("class") or "")[:_LONGEST]) for item in near if isinstance(item.tag, str))


def is_in(element: Any, names: re.Pattern[str]) -> bool:
    """Return whether the class or id of an element or of one just above it matches."""
    for _, upward in zip(range(_PARENTS), upwards(element), strict=False):
        called = " ".join(upward.get(name) or "" for name in ("class", "id", "role", "aria-label"))
        if names.search(called[:_LONGEST]):
            return True
    return False


def upwards(element: Any) -> Iterator[Any]:
    yield element
    yield from element.iterancestors()


# Links without a known word: their addresses or classes show what they are


def cursor_link(page: Page, link_text: str) -> Anchor | None:
    """Return the link to the next page by its shape.

    It leads to the page's own path with another cursor, offset or page, or its class says "older" or "more". On the
    first page there must be one address only; later the link counts that says what the first one did.

    Args:
        link_text: the text of the link that was followed before; "" on the first page.
    """
    found = [link for link in anchors(page, page.root) if link.element.tag in ("a", "button") and leads_on(page, link)]
    if link_text:
        return next((link for link in found if link.text == link_text), None)
    in_pager = [link for link in found if is_in(link.element, PAGER) or _is_called(link)]
    return next((link for link in map(_agreed, (found, in_pager)) if link and link.text), None)


def leads_on(page: Page, link: Anchor) -> bool:
    """Return whether a link leads to another place of the same listing, by its address."""
    if link.leads_back or link.number is not None or is_in(link.element, CALENDAR):
        return False
    here, there = urlsplit(page.url), urlsplit(link.address)
    if here.netloc != there.netloc:
        return False
    if here.path == there.path:
        return _is_cursor(here.query, there.query) or (_is_called(link) and here.query != there.query)
    return there.path.startswith(here.path.rstrip("/")) and bool(
        _STEPS.fullmatch(there.path.removeprefix(here.path.rstrip("/")))
    )


def _is_cursor(here: str, there: str) -> bool:
    """Return whether queries differ only in where a page begins."""
    item, other = (dict(parse_qsl(query[:2000], keep_blank_values=True)) for query in (here, there))
    changed = [name for name in {*item, *other} if item.get(name) != other.get(name)]
    values = [(name, other[name]) for name in changed if other.get(name)]
    is_of_site = any(_PAGES.fullmatch(name) and value.isalpha() for name, value in values)  # ?page=contact
    return _are_places(changed) and bool(values) and not is_of_site


def _are_places(names: Sequence[str]) -> bool:
    """
    >>> _are_places(["page_token"]), _are_places(["before", "page"]), _are_places(["sort"]), _are_places(["per_page"])
    (True, True, False, False)
    """
    return bool(names) and all(_NAMES.fullmatch(name) and not _SIZES.fullmatch(name) for name in names)


def _is_called(link: Anchor) -> bool:
    return has_next_class(link) or bool(_CLASS.search((link.element.get("class") or "")[:200]))


# Numbers


def page_number(text: str) -> int | None:
    """Return the number that a pager's link stands for.

    >>> page_number(" 3 "), page_number("[12]"), page_number("Seite 4"), page_number("Top 10"), page_number("2,5")
    (3, 12, 4, None, None)
    """
    if found := _NUMBER.fullmatch(text):
        return int(found[1])
    labelled = _LABELLED.fullmatch(text)
    return int(labelled[2]) if labelled and words.is_beside(labelled[1]) else None


def _by_shape(numbered: Sequence[tuple[int, Anchor]]) -> list[tuple[int, Anchor]]:
    """Return the links of the most likely pager: in an element named as one, then with the most links."""
    groups: defaultdict[tuple[str, int, str], list[tuple[int, int, Anchor]]] = defaultdict(list)
    for value, link in numbered:
        if not is_in(link.element, CALENDAR):
            for shape, digits in shapes(link.address):
                groups[shape].append((value, digits, link))
    pagers = [(is_in(group[0][2].element, PAGER), group) for group in groups.values() if _is_even(group)]
    best = max(pagers, key=lambda pager: (pager[0], len({value for value, _, _ in pager[1]})), default=(False, []))
    return [(value, link) for value, _, link in best[1]]


def _is_among_numbers(value: int, element: Any) -> bool:
    """Return whether an element is in a pager, or beside the page's own number, which is not a link."""
    if is_in(element, PAGER):
        return True
    element = cell_of(element)
    return any(page_number(item) in (value - 1, value + 1) for item in _beside(element))


def _beside(element: Any) -> Iterator[str]:
    """Yield the short texts right before and behind an element, without those of links."""
    before, behind, parent = element.getprevious(), element.getnext(), element.getparent()
    first = "" if before is not None or parent is None else parent.text
    yield from (
        item for item in (first, element.tail, None if before is None else before.tail) if item and len(item) <= 20
    )
    for item in (before, behind):
        if (
            item is not None
            and isinstance(item.tag, str)
            and len(item) <= 1
            and not item.xpath("descendant-or-self::a[@href]")
        ):
            yield "".join(islice(item.itertext(), 4))[:20]


def cell_of(element: Any) -> Any:
    """Return the outermost element that has nothing but this one in it: a list's item, a table's cell."""
    for _ in range(4):
        parent = element.getparent()
        if parent is None or parent.getparent() is None or len(parent) > 1:
            break
        if (parent.text or "").strip() or (element.tail or "").strip():
            break
        element = parent
    return element


def shapes(address: str) -> Iterator[tuple[tuple[str, int, str], int]]:
    """Yield the address without each of its last numbers, except days of dates."""
    runs = list(_DIGITS.finditer(address[-_LONGEST:]))[-8:]
    before, address = address[:-_LONGEST], address[-_LONGEST:]
    for at, run in enumerate(runs):
        if not _DATED.search(address[: run.start()]):
            yield (before + address[: run.start()], at - len(runs), address[run.end() :]), int(run[0])


def _is_even(group: Sequence[tuple[int, int, Any]]) -> bool:
    """Return whether the numbers in the addresses grow evenly with those in the texts, as pages and offsets do."""
    known = sorted({(value, digits) for value, digits, _ in group})
    (value, digits), (other, others) = known[0], known[-1]
    if other == value:
        return False
    step, rest = divmod(others - digits, other - value)
    return step > 0 and rest == 0 and all(two == digits + (item - value) * step for item, two in known)


def _dots(links: Sequence[Anchor], numbered: Sequence[tuple[int, Anchor]], number: int) -> str | None:
    """Return the ``...`` behind the highest number, if that is lower than the wanted one."""
    highest, last = max(numbered, key=lambda pair: pair[0], default=(number, None))
    if last is None or highest >= number:
        return None
    at = next(at for at, link in enumerate(links) if link.element is last.element)
    behind = [link for link in links[at + 1 : at + 3] if link.is_dots]
    return behind[0].address if behind else None


# An index from A to Z: a row of links, each to the datasets whose titles begin with one letter


def letters(page: Page) -> list[str]:
    """Return the addresses of an index by letters, in its order; none where the page has no such row.

    At least five links say one letter each, and their addresses differ in that letter only. A link for digits or signs
    belongs to the row if its address is built like the others.

    >>> from crawlers.records.html_page import Page
    >>> row = "".join(f'<a href="/list?letter={one}">{one.upper()}</a>' for one in "abcde")
    >>> letters(Page(row + '<a href="/list?letter=num">0-9</a><a href="/f">F</a>', "https://example.org/"))[4:]
    ['https://example.org/list?letter=e', 'https://example.org/list?letter=num']
    """
    rows: defaultdict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    others = []
    for link in anchors(page, page.root):
        if link.text in _OTHERS:
            others.append(link.address)
        elif len(link.text) == 1 and link.text.isalpha() and len(link.address) <= _ADDRESS:
            for shape in _around_letter(unquote(link.address), link.text):
                rows[shape][link.address] = None
    shape, best = max(rows.items(), key=lambda row: len(row[1]), default=(("", ""), {}))
    if len(best) < _FEWEST:
        return []
    return list(
        dict.fromkeys([*best, *(other for other in others if other.startswith(shape[0]) and other.endswith(shape[1]))])
    )


def is_index_of(url: str, row: Sequence[str]) -> bool:
    """Return whether an index by letters is that of a listing, and not of the whole site.

    The listing's own path is theirs, or theirs are below it, or the listing is one of them itself.

    >>> row = ["https://a.org/az/a", "https://a.org/az/c"]
    >>> [is_index_of(f"https://a.org/{path}", row) for path in ("az/", "az/b", "data")]
    [True, True, False]
    >>> is_index_of("https://a.org/", row), is_index_of("https://a.org/list", ["https://a.org/list?l=a"])
    (False, True)
    """
    path = urlsplit(url).path
    base = _INDEX.sub("", path).rstrip("/")
    paths = [urlsplit(item).path for item in row]
    below = re.compile(rf"{re.escape(base)}(?![^\W_]).*", re.DOTALL)
    one_letter = re.compile(rf"{re.escape(paths[0].rpartition('/')[0])}/[^\W\d_](?:\.\w{{1,5}})?/?")
    return (
        all(item == path for item in paths)
        or bool(base and all(map(below.fullmatch, paths)))
        or (len(set(paths)) > 1 and one_letter.fullmatch(path) is not None)
    )


def _around_letter(address: str, letter: str) -> Iterator[tuple[str, str]]:
    """Yield the address without the letter, wherever it stands by itself."""
    places = re.finditer(rf"(?<![^\W\d_]){re.escape(letter)}(?![^\W\d_])", address, re.IGNORECASE)
    for found in list(places)[-_PLACES:]:
        yield address[: found.start()], address[found.end() :]
