"""Which links of a listing lead to datasets."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from crawlers.kinds.html.totals import counts, number
from crawlers.operate.learn import addresses, selectors
from crawlers.records.html_page import text

if TYPE_CHECKING:
    from crawlers.operate.learn.sample import Sample

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


@dataclass(frozen=True, slots=True, eq=False)
class Anchor:
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
        found[_signature(anchor.element)].append(anchor)
    return list(found.values())


def _signature(element: Any) -> tuple[Any, ...]:
    above = [ancestor for ancestor, _ in zip(element.iterancestors(), range(2), strict=False)]
    return tuple((item.tag, _class(item)) for item in [element, *above])


def _class(element: Any) -> str:
    """Return an element's classes without those that count rows: odd, even, first, views-row-3."""
    tokens = (element.get("class") or "").split()
    counted = ("odd", "even", "first", "last", "active")
    return " ".join(token for token in tokens if token not in counted and not any(map(str.isdigit, token)))


def _plausible(groups: list[list[Anchor]]) -> list[list[Anchor]]:
    found = []
    for group in groups:
        numbers = sum(1 for item in group if not any(map(str.isalpha, item.text)))
        if (
            len({item.address for item in group}) > 1
            and numbers < len(group) / 2
            and not _is_elsewhere(group[0].element)
        ):
            found.append(group)
    return found


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
    wanted = addresses.alike(list(dict.fromkeys(item.address for item in group)), known)
    shape = addresses.shape(wanted)
    table: dict[str, str] = {}
    sure, why = 0.4, ["nothing but their place tells the links from others"]
    best = next(iter(selectors.several(sample, [item.element for item in group])), None)
    if best and best.stability >= 0.5:
        table["css"], sure, why = best.css, best.stability, []
    if shape:
        matching = {item.address for item in every if addresses.matches(shape.pattern, item.address)}
        if matching == set(wanted) or not table or len(wanted) < len({item.address for item in group}):
            sure = max(sure, 0.9 if matching == set(wanted) and len(wanted) > 1 else 0.6)
            table["pattern"] = shape.pattern
            why = [] if matching == set(wanted) else [f"{len(matching - set(wanted))} other links match it too"]
        table["id"] = shape.id
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
            return Total(best.css, count)
    return None


def contradicts(sample: Sample, found: Total) -> bool:
    """Return whether another page of the listing states another number there; it may state none."""
    shown = next((number(text(element)) for element in sample.css(found.css)), None)
    return shown not in (None, found.count)
