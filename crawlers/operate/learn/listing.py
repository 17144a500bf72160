"""What is learned from a listing: the links to datasets, their ids, the pager, confirmed by the second page."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import re2

from crawlers.exceptions import CrawlersError
from crawlers.kinds.html import dialect, rules, words
from crawlers.kinds.html.dialect import Ask
from crawlers.kinds.html.forms import postback
from crawlers.kinds.html.links import dataset_links
from crawlers.kinds.html.paging import counted, is_off, letters, next_link, numbered_link, page_number, texts
from crawlers.kinds.html.rules import Paging, Rules, from_css
from crawlers.kinds.html.software import known as known_software
from crawlers.kinds.html.totals import counts, number
from crawlers.operate.learn import selectors
from crawlers.operate.learn.texts import escaped
from crawlers.records.html_page import has_text, text
from crawlers.safety.addresses import host

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawlers.operate.learn.sample import Sample


_SUFFIX = re.compile(r"(\.[A-Za-z]{2,5})$")
_IDS = ("[a-z0-9]{4}-[a-z0-9]{4}", "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "[0-9a-f]{32}(?:_[0-9]+)?", "[0-9]+")
"""What ids look like: Socrata's, UUIDs, ArcGIS's, numbers."""
_NUMBERED = re.compile(r"([0-9]+)[-_.][^/]*[A-Za-z]")


class Shape(NamedTuple):
    """
    Args:
        pattern: RE2; what all the addresses match.
        id: the same, with the id as its group.
    """

    pattern: str
    id: str


def shape(addresses: list[str]) -> Shape | None:
    r"""Return what addresses have in common; the id of a single address is its last part.

    >>> shape(["https://a.org/dataset/x", "https://a.org/dataset/y"]).id
    '/dataset/([^/?#]+)'
    >>> shape(["https://a.org/d.aspx?id=7", "https://a.org/d.aspx?id=8"]).id
    '/d\\.aspx\\?(?:[^#]*&)?id=([^&#]+)'
    >>> shape(["https://a.org/data/12-roads.html", "https://a.org/data/13-rivers.html"]).id
    '/data/([0-9]+)[-_.]'
    """
    if not addresses:
        return None
    return _by_query(addresses) or _by_path(addresses)


def alike(addresses: list[str], known: list[str]) -> list[str]:
    """Return the addresses that are built like the known ones, or else like most.

    The first part of the path counts, unless most differ in it: Socrata has a dataset's category there.

    >>> alike(["https://a.org/d/1", "https://a.org/d/2", "https://a.org/help"], [])
    ['https://a.org/d/1', 'https://a.org/d/2']
    >>> len(alike([f"https://a.org/{each}/name/abcd-1234" for each in ("Parks", "Roads", "Water", "Waste")], []))
    4
    """
    found = _built_alike(addresses, known, _build)
    if 3 * len(found) > 2 * len(addresses):
        return found
    return _built_alike(addresses, known, lambda address: (*_build(address)[:2], *_build(address)[3:]))


def _built_alike(addresses: list[str], known: list[str], build: Callable[[str], tuple[object, ...]]) -> list[str]:
    built = {address: build(address) for address in addresses}
    known_builds = [built[item] for item in known if item in built]
    frequent = Counter(known_builds or built.values()).most_common(1)
    return [address for address in addresses if frequent and built[address] == frequent[0][0]]


def _build(address: str) -> tuple[object, ...]:
    """Return the host, how deep the path is, its first part, and the query's names."""
    parts = urlsplit(address)
    path = [part for part in parts.path.split("/") if part]
    names = frozenset(name for name, _ in parse_qsl(parts.query))
    return parts.netloc, len(path), path[0] if path and (len(path) > 1 or names) else "", names


def _by_query(addresses: list[str]) -> Shape | None:
    parts = [urlsplit(address) for address in addresses]
    if len({part.path for part in parts}) > 1:
        return None
    queries = [dict(parse_qsl(part.query)) for part in parts]
    names = [name for name in queries[0] if all(name in query for query in queries)]
    if len(queries) > 1:
        names = [name for name in names if len({query[name] for query in queries}) == len(queries)]
    if not names:
        return None
    name = min(
        names, key=lambda item: (item.lower() not in ("id", "uuid", "dataset", "slug"), "id" not in item.lower())
    )
    start = rf"{escaped(parts[0].path)}\?(?:[^#]*&)?{escaped(name)}="
    return Shape(f"{start}[^&#]+", f"{start}([^&#]+)")


def _by_path(addresses: list[str]) -> Shape | None:
    paths = [[part for part in urlsplit(address).path.split("/") if part] for address in addresses]
    if not all(paths):
        return None
    common = _common(paths)
    start = "".join(f"/{escaped(part)}" for part in common) or "^[a-z]+://[^/]+"
    rest = [path[len(common) :] for path in paths]
    if any(len(item) > 1 for item in rest):
        return _deep(start, rest)
    last = [item[0] for item in rest]
    if all(_NUMBERED.match(item) for item in last) and len({_NUMBERED.match(item)[1] for item in last}) == len(last):  # type: ignore[index]
        return Shape(f"{start}/[0-9]+[-_.]", f"{start}/([0-9]+)[-_.]")
    ends = {match[1] if (match := _SUFFIX.search(item)) else "" for item in last}
    suffix = f"{escaped(ends.pop())}$" if len(ends) == 1 and "" not in ends else ""
    part = "[^/?#]+?" if suffix else "[^/?#]+"
    return Shape(f"{start}/{part}{suffix or '/?$'}", f"{start}/({part}){suffix}")


def _deep(start: str, rest: list[list[str]]) -> Shape:
    """Return a shape whose id is everything that differs; of ids that look like one, these alone.

    >>> shape([f"https://a.org/{each}/name/abcd-123{number}" for number, each in enumerate(("Parks", "Roads"))]).id
    '^[a-z]+://[^/]+/[^/?#]+/[^/?#]+/([a-z0-9]{4}-[a-z0-9]{4})'
    >>> shape(["https://a.org/datasets/a::b/about", "https://a.org/maps/c::d/about"]).id
    '^[a-z]+://[^/]+/([^/?#]+/[^/?#]+)/about'
    """
    same = len({len(item) for item in rest}) == 1
    last = {item[-1] for item in rest}
    if same and len(last) == 1 < len(rest):
        inner, end = "/".join(["[^/?#]+"] * (len(rest[0]) - 1)), escaped(last.pop())
        return Shape(f"{start}/{inner}/{end}/?$", f"{start}/({inner})/{end}")
    look = next((each for each in _IDS if all(re.fullmatch(each, item) for item in last)), None)
    if same and look and len(last) == len(rest):
        inner = "/".join(["[^/?#]+"] * (len(rest[0]) - 1))
        return Shape(f"{start}/{inner}/{look}/?$", f"{start}/{inner}/({look})")
    inner = "/".join(["[^/?#]+"] * len(rest[0])) if same else "[^?#]+"
    return Shape(f"{start}/{inner}/?$", f"{start}/({inner})")


def _common(paths: list[list[str]]) -> list[str]:
    """Return the parts that all paths begin with, without the last part."""
    shortest = min(map(len, paths)) - 1
    found: list[str] = []
    for parts in zip(*(path[:shortest] for path in paths), strict=True):
        if len(set(parts)) > 1:
            break
        found.append(parts[0])
    return found


def matches(pattern: str, address: str) -> bool:
    return bool(re2.search(pattern, address))


_MOST = 5_000
_ELSEWHERE = {"nav", "footer", "header", "aside"}
_PAGERS = ("pag", "breadcrumb", "menu", "nav", "footer", "tag", "facet", "filter", "lang")
_BEST = 3


@dataclass(frozen=True, slots=True)
class Links:
    """
    Args:
        table: ``[links]``.
        found: the addresses that the table gives.
        sure: from 0 to 1.
        why: why it is not surer, as text.
    """

    table: dict[str, str]
    found: list[str]
    sure: float
    why: tuple[str, ...] = ()


class Anchor(NamedTuple):
    element: Any
    address: str
    text: str


def links(sample: Sample, known: list[str]) -> Links | None:
    """Return the rule that finds the links to datasets on a listing.

    Args:
        known: addresses of datasets; those that are on the listing show what the links look like.
    """
    every = _anchors(sample)
    groups = _groups(every)
    leading = [group for group in groups if any(_bare(item.address) in map(_bare, known) for item in group)]
    ranked = sorted(leading or _plausible(groups), key=_weight, reverse=True)
    if not ranked:
        return None
    why = () if leading else ("no link leads to the sample page: this is the largest group of links that are alike",)
    made = [_made(sample, group, every, known if leading else []) for group in ranked[:_BEST]]
    made = [item for item in made if "css" in item.table or "pattern" in item.table]
    best = max(made, key=lambda item: item.sure, default=None)
    if best is None:
        return None
    return Links(best.table, best.found, round(best.sure * (1 if leading else 0.7), 2), (*best.why, *why))


def _anchors(sample: Sample) -> list[Anchor]:
    found = []
    here = _bare(sample.address)
    for element in sample.css("a[href]")[:_MOST]:
        address = sample.page.absolute(element.get("href"))
        if address and _bare(address) != here and not element.get("href").startswith("#"):
            found.append(Anchor(element, address, text(element)))
    return found


def _bare(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.netloc}{parts.path.rstrip('/')}?{parts.query}"


def _groups(every: list[Anchor]) -> list[list[Anchor]]:
    """Return links with the same markup about them."""
    found: dict[Any, list[Anchor]] = defaultdict(list)
    for anchor in every:
        around = (anchor.element, *islice(anchor.element.iterancestors(), 2))
        found[tuple((item.tag, _class(item)) for item in around)].append(anchor)
    return list(found.values())


def _class(element: Any) -> str:
    """Return an element's classes without those that count rows: odd, even, first, views-row-3."""
    tokens = (element.get("class") or "").split()
    counted = ("odd", "even", "first", "last", "active")
    return " ".join(token for token in tokens if token not in counted and not any(map(str.isdigit, token)))


def _plausible(groups: list[list[Anchor]]) -> list[list[Anchor]]:
    several = (group for group in groups if len({item.address for item in group}) > 1)
    named = (group for group in several if 2 * sum(any(map(str.isalpha, each.text)) for each in group) > len(group))
    return [group for group in named if not _is_elsewhere(group[0].element)]


def _is_elsewhere(element: Any) -> bool:
    for here in [element, *element.iterancestors()]:
        named = f"{here.get('class') or ''} {here.get('id') or ''}".lower()
        if here.tag in _ELSEWHERE or (here.tag != "body" and any(word in named for word in _PAGERS)):
            return True
    return False


def _weight(group: list[Anchor]) -> float:
    """Return the weight of a group: many links with long texts, because "more" links lead to the same datasets."""
    average = sum(min(len(item.text), 60) for item in group) / len(group)
    return len({item.address for item in group}) * (1 + average)


def _made(sample: Sample, group: list[Anchor], every: list[Anchor], known: list[str]) -> Links:
    wanted = alike(list(dict.fromkeys(item.address for item in group)), known)
    common = shape(wanted)
    table: dict[str, str] = {}
    sure, why = 0.4, ["nothing but their place tells the links from others"]
    best = next(iter(selectors.several(sample, [item.element for item in group])), None)
    if best and best.stability >= 0.5:
        table["css"], sure, why = best.table["css"], best.stability, []
    if common:
        matching = {item.address for item in every if matches(common.pattern, item.address)}
        if matching == set(wanted) or not table or len(wanted) < len({item.address for item in group}):
            sure = max(sure, 0.9 if matching == set(wanted) and len(wanted) > 1 else 0.6)
            table["pattern"] = common.pattern
            why = [] if matching == set(wanted) else [f"{len(matching - set(wanted))} other links match it too"]
        table["id"] = common.id
    missing = [item for item in known if _bare(item) not in map(_bare, wanted)]
    why += [f"{len(missing)} of the given pages are not among them"] if missing else []
    return Links(table, wanted, sure, tuple(why))


_LEAST = 0.5  # stability of a selector that may find it on other pages


@dataclass(frozen=True, slots=True)
class Total:
    """
    Args:
        css: the element with the total.
        count: the total on the listing that was shown.
    """

    css: str
    count: int


def total(sample: Sample, links: int, *, is_paged: bool) -> Total | None:
    """Return where the listing states how many datasets there are; ``None`` if it does not, or states several numbers.

    Args:
        links: datasets on this page.
        is_paged: whether there are further pages; then a number equal to ``links`` counts only this page.
    """
    least = links + 1 if is_paged else links
    found = [(element, count) for element, count in counts(sample.page) if count >= max(least, 1)]
    if len({count for _, count in found}) != 1:
        return None
    for element, count in found:
        best = next(iter(selectors.single(sample, element)), None)
        if best and best.stability >= _LEAST:
            return Total(best.table["css"], count)
    return None


def contradicts(sample: Sample, found: Total) -> bool:
    """Return whether another page of the listing states another number there; it may state none."""
    shown = next((number(text(element)) for element in sample.css(found.css)), None)
    return shown not in (None, found.count)


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


_SHIPPED = 0.97


def listing(sample: Sample, known: list[str], *, in_browser: bool = False) -> Listing:
    """
    Args:
        known: addresses of datasets.
        in_browser: whether a browser shows the listing: then scripts turn its pages.

    Raises:
        ListingError: there are no links that are alike; the message names a frame or a shadow root that may have them.
    """
    found = _shipped(sample) or links(sample, known)
    if found is None:
        raise ListingError(f"{sample.address} has no links that could lead to datasets{_elsewhere(sample)}.")
    given = dataset_links(sample.page, _rules(sample.address, found.table))
    way = pager(sample, in_browser=in_browser)
    stated = total(sample, len(given), is_paged=bool(way.table))
    return Listing(sample.address, found, way, len(given), [item.id for item in given[:3]], total=stated)


def _shipped(sample: Sample) -> Links | None:
    """Return the rules of the links on the listing of known software; ``None`` if it has no such links."""
    software = known_software(sample.page)
    if software is None or not software.tables:
        return None
    found = [each.url for each in dataset_links(sample.page, software.rules(sample.address))]
    table = {name: value for name, value in software.tables["links"].items() if name != "total"}
    return Links(table, found, _SHIPPED) if found else None


def _elsewhere(sample: Sample) -> str:
    """Return where the list may be, as the end of a sentence."""
    shown = (each for each in sample.css("iframe[src], frame[src]")[:_MOST_BUTTONS] if not _is_unseen(each))
    frames = list(filter(None, (sample.page.absolute(each.get("src")) for each in shown)))
    if frame := min(frames, key=lambda each: host(each) != host(sample.address), default=None):
        return f": they may be in its frame, try --list {frame}"
    if root := next((each.tag for each in sample.elements if _has_shadow(each)), None):
        return f": they may be in the shadow root of <{root}>, which can't be read; look for what its script requests"
    return ': it is empty until scripts have run, and may need browser = "listing"' if sample.looks_empty else ""


_HIDDEN = re.compile(r"display:\s*none|visibility:\s*hidden", re.IGNORECASE)
_NO_SIZE = re.compile(r"(?:^|[;\s])(?:width|height):\s*[01](?:px)?\s*(?:;|!|$)", re.IGNORECASE)


def _is_unseen(frame: Any) -> bool:
    """Return whether a frame is hidden, has no size, or is for browsers without scripts: such count visitors."""
    around = [frame, *frame.iterancestors()]
    if any(
        each.tag == "noscript" or "hidden" in each.attrib or _HIDDEN.search(each.get("style", "")) for each in around
    ):
        return True
    sizes = {frame.get(each, "").strip().removesuffix("px") for each in ("width", "height")}
    return not sizes.isdisjoint(("0", "1")) or _NO_SIZE.search(frame.get("style", "")) is not None


def _has_shadow(element: Any) -> bool:
    """Return whether an element is drawn by a script of its own: HTML, 4.13.3, gives such a name a hyphen."""
    return ("-" in element.tag and not has_text(element)) or element.find("./template[@shadowrootmode]") is not None


def turned(first: Listing, sample: Sample, late: Sample | None, scrolled: Sample | None) -> Listing:
    """Return the listing with what a browser has shown of its pager.

    Args:
        late: the page some seconds later, when its last button has come.
        scrolled: the page after it was scrolled to its end.
    """
    later = pager(late, in_browser=True) if late else None
    if later and later.table:
        return replace(first, pager=later)
    if scrolled is None:
        return first
    new = _new_links(first, sample, scrolled)
    if not new:
        return first
    return replace(
        first, pager=Pager({"scroll": True}, "more datasets come by scrolling", 0.85, in_browser=True), second=new
    )


def confirmed(first: Listing, sample: Sample, second: Sample) -> Listing:
    """Return the listing with what the second page confirms."""
    new = _new_links(first, sample, second)
    sure = first.pager.sure if new else first.pager.sure * 0.4
    stated = None if first.total and contradicts(second, first.total) else first.total
    return replace(first, second=new, pager=replace(first.pager, sure=sure), total=stated)


def _new_links(first: Listing, sample: Sample, later: Sample) -> int:
    """Return how many links to datasets a later page has that the sample has not."""
    how = _rules(first.start, first.links.table)
    known = {link.url for link in dataset_links(sample.page, how)}
    return sum(link.url not in known for link in dataset_links(later.page, how))


def _rules(start: str, table: dict[str, str]) -> Rules:
    """Return the rules that a crawl would find the links by."""
    css = table.get("css")
    xpath = from_css(css, css) if css else None
    how = rules.Links(css=css, xpath=xpath, pattern=table.get("pattern"), id=table.get("id"))
    return Rules(text="", start=(start,), hosts=(urlsplit(start).hostname or "",), links=how)


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


def pager(sample: Sample, *, in_browser: bool = False) -> Pager:
    """Return the page's first pager: a link, numbers, a form that is posted back, a button; an empty one if none.

    In a browser a form is posted back by its button.
    """
    forms = (_button, _onward) if in_browser and _postback(sample) else (_onward, _button)
    ways = (_next, _numbers, *(() if in_browser else (_postback,)), *forms, _counter)
    for way in ways:
        found: Pager | None = way(sample)
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
        for shown in texts(element):
            if words.says_more(shown) or words.says_next(shown):
                return Pager({"button": shown}, f"a button without an address, {shown!r}", 0.85, in_browser=True)
    numbered = [button for button in buttons if any(page_number(shown) for shown in texts(button))]
    if len(numbered) < 2:
        return None
    box = next(iter(selectors.ancestors(numbered)), None)
    best = next(iter(selectors.single(sample, box)), None) if box is not None else None
    return Pager({"buttons": best.table if best else True}, "numbered buttons", 0.75, in_browser=True)


def _counter(sample: Sample) -> Pager | None:
    """Return the parameter of the start address that counts pages or datasets."""
    query = parse_qsl(urlsplit(sample.address).query)
    for name, value in query:
        if name.lower() in _COUNTERS and value.isdigit():
            table = {"query": name, "first": int(value)}
            following = counted(sample.address, Paging(kind="query", query=name, first=int(value)), 1)
            return Pager(table, f"the parameter {name} of the start address", 0.6, following)
    return None
