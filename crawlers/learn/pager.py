"""How a listing goes on to its second page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from crawlers.html import turn, words
from crawlers.html.letters import letters
from crawlers.html.paging import counted, is_off, next_link, numbered_link, page_number, texts
from crawlers.html.place import Place
from crawlers.html.postback import postback
from crawlers.learn import selectors
from crawlers.rules.rules import Paging

if TYPE_CHECKING:
    from crawlers.learn.sample import Sample

_ALIKE = 90.0
_BUTTONS = "button, a:not([href]), a[href^='#'], a[href^='javascript:'], [role='button'], input[type='button']"
_COUNTERS = ("page", "p", "pg", "seite", "pagina", "página", "strona", "start", "offset", "from", "first", "skip")
_MOST = 2_000


@dataclass(frozen=True, slots=True)
class Pager:
    """
    Args:
        table: ``[paging]``; empty when there is no pager.
        following: the address of the second page, where it has one.
        says: what was found, for people.
        in_browser: whether it takes one.
    """

    table: dict[str, Any]
    says: str
    sure: float
    following: str | None = None
    in_browser: bool = False


def pager(sample: Sample) -> Pager:
    """The first way that the page offers: a link, numbers, a form that is posted back, a button; else none."""
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
    """The parameter that makes the second page."""
    first, second = (dict(parse_qsl(urlsplit(one).query)) for one in (here, there))
    changed = [name for name, value in second.items() if value.isdigit() and first.get(name) != value]
    return f", parameter {changed[0]}={second[changed[0]]} on page 2" if len(changed) == 1 else ""


def _postback(sample: Sample) -> Pager | None:
    form = postback(sample.page, Paging(kind="postback"), 2) if sample.css("form") else None
    if form is None or (not form.body and "doPostBack" not in sample.page.root.xpath("string(//script)")):
        return None
    return Pager({"postback": True}, "a form that is posted back (ASP.NET); no browser is needed", 0.9)


def _onward(sample: Sample) -> Pager | None:
    """A select of pages, a link whose shape shows what it is, an index from A to Z: what ``next`` follows, too."""
    found = next(filter(None, turn.promised(sample.page, Paging(), Place(sample.address, number=2))), None)
    if found:
        following = found.url if found.body is None else None
        return Pager({"next": True}, f"a way on that no usual word names, {found.url}", 0.8, following)
    index = [one for one in letters(sample.page) if one != sample.address]
    return Pager({"next": True}, f"an index from A to Z, {index[0]}", 0.8, index[0]) if index else None


def _button(sample: Sample) -> Pager | None:
    buttons = [one for one in sample.css(_BUTTONS)[:_MOST] if not is_off(one)]
    for element in buttons:
        for said in texts(element):
            if any(words.alike(said, one) >= _ALIKE for one in words.MORE):
                return Pager({"button": said}, f"a button without an address, {said!r}", 0.85, in_browser=True)
    numbered = [one for one in buttons if any(page_number(said) for said in texts(one))]
    if len(numbered) < 2:
        return None
    box = next(iter(selectors.ancestors(numbered)), None)
    best = next(iter(selectors.one(sample, box)), None) if box is not None else None
    return Pager({"buttons": {"css": best.css} if best else True}, "numbered buttons", 0.75, in_browser=True)


def _counter(sample: Sample) -> Pager | None:
    """A number in the start address that counts pages or datasets."""
    query = parse_qsl(urlsplit(sample.address).query)
    for name, value in query:
        if name.lower() in _COUNTERS and value.isdigit():
            table = {"query": name, "first": int(value)}
            following = counted(sample.address, Paging(kind="query", query=name, first=int(value)), 1)
            return Pager(table, f"the parameter {name} of the start address", 0.6, following)
    return None
