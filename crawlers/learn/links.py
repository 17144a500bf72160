"""Which links of a listing lead to datasets."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from crawlers.learn import addresses, selectors
from crawlers.mapping.html.page import text

if TYPE_CHECKING:
    from crawlers.learn.sample import Sample

_MOST = 5_000
_ELSEWHERE = {"nav", "footer", "header", "aside"}
_PAGERS = ("pag", "breadcrumb", "menu", "nav", "footer", "tag", "facet", "filter", "lang")
_BEST = 3


@dataclass(frozen=True, slots=True)
class Links:
    """
    Args:
        table: ``[links]``.
        found: the addresses it gives.
        sure: from 0 to 1.
        why: why it is not surer, for people.
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
    """How the links to datasets are found on a listing.

    Args:
        known: addresses of datasets; those that the listing has show what the links look like.
    """
    every = _anchors(sample)
    groups = _groups(every)
    leading = [group for group in groups if any(_bare(one.address) in map(_bare, known) for one in group)]
    ranked = sorted(leading or _plausible(groups), key=_weight, reverse=True)
    if not ranked:
        return None
    why = () if leading else ("no link leads to the sample page: this is the largest group of links that are alike",)
    made = [_made(sample, group, every, known if leading else []) for group in ranked[:_BEST]]
    made = [one for one in made if "css" in one.table or "pattern" in one.table]
    best = max(made, key=lambda one: one.sure, default=None)
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
    """Links with the same markup about them."""
    found: dict[Any, list[Anchor]] = defaultdict(list)
    for anchor in every:
        found[_signature(anchor.element)].append(anchor)
    return list(found.values())


def _signature(element: Any) -> tuple[Any, ...]:
    above = [one for one, _ in zip(element.iterancestors(), range(2), strict=False)]
    return tuple((one.tag, _class(one)) for one in [element, *above])


def _class(element: Any) -> str:
    """Without what counts rows: odd, even, first, views-row-3."""
    tokens = (element.get("class") or "").split()
    counted = ("odd", "even", "first", "last", "active")
    return " ".join(one for one in tokens if one not in counted and not any(map(str.isdigit, one)))


def _plausible(groups: list[list[Anchor]]) -> list[list[Anchor]]:
    found = []
    for group in groups:
        numbers = sum(1 for one in group if not any(map(str.isalpha, one.text)))
        if len({one.address for one in group}) > 1 and numbers < len(group) / 2 and not _is_elsewhere(group[0].element):
            found.append(group)
    return found


def _is_elsewhere(element: Any) -> bool:
    for here in [element, *element.iterancestors()]:
        named = f"{here.get('class') or ''} {here.get('id') or ''}".lower()
        if here.tag in _ELSEWHERE or (here.tag != "body" and any(word in named for word in _PAGERS)):
            return True
    return False


def _weight(group: list[Anchor]) -> float:
    """Many, with long texts: a link that says "more" leads to the same dataset as its title."""
    average = sum(min(len(one.text), 60) for one in group) / len(group)
    return len({one.address for one in group}) * (1 + average)


def _made(sample: Sample, group: list[Anchor], every: list[Anchor], known: list[str]) -> Links:
    wanted = addresses.alike(list(dict.fromkeys(one.address for one in group)), known)
    shape = addresses.shape(wanted)
    table: dict[str, str] = {}
    sure, why = 0.4, ["nothing but their place tells the links from others"]
    best = next(iter(selectors.several(sample, [one.element for one in group])), None)
    if best and best.stability >= 0.5:
        table["css"], sure, why = best.css, best.stability, []
    if shape:
        matching = {one.address for one in every if addresses.matches(shape.pattern, one.address)}
        if matching == set(wanted) or not table or len(wanted) < len({one.address for one in group}):
            sure = max(sure, 0.9 if matching == set(wanted) and len(wanted) > 1 else 0.6)
            table["pattern"] = shape.pattern
            why = [] if matching == set(wanted) else [f"{len(matching - set(wanted))} other links match it too"]
        table["id"] = shape.id
    missing = [one for one in known if _bare(one) not in map(_bare, wanted)]
    why += [f"{len(missing)} of the given pages are not among them"] if missing else []
    return Links(table, wanted, sure, tuple(why))
