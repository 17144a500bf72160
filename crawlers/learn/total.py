"""Where a listing says how many datasets it has."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crawlers.html.links import number
from crawlers.learn import selectors
from crawlers.mapping.html.page import text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.learn.sample import Sample

_LONGEST = 120  # characters of a text that says no more than that
_LEAST = 0.5  # stability of a selector that may find it on other pages
_MOST = 5_000
_INSIDE = frozenset(("li", "a", "option", "select", "td", "dd", "script", "style", "noscript", "template"))
_WORDS = re.compile(  # a dataset or a result, in thirty languages
    r"data ?-?sets?\b|records?\b|results?\b|entries\b|items? found|matches\b|hits\b|found\b"
    r"|datens[aä]tz|datenbest|ergebniss|treffer|eintr[aä]g|gefunden"
    r"|jeux? de donn|r[eé]sultat|fiches?\b|trouv[eé]"
    r"|conjuntos? de (?:datos|dados|dades)|resultados?|registros|encontrad|resultats"
    r"|insiem|risultat|trovat|set di dati|dati trovati"
    r"|gegevensset|resultaten|gevonden"
    r"|datas[aæ]t|datasett|datam[aä]ngd|tr[aä]ff|resultat|tietoaineisto|aineisto|tulos|tulok"
    r"|zbior|wynik|znalezion|datov\w+ sad|sad dat|v[yý]sled|rezultat|adatk[eé]szlet|tal[aá]lat|seturi de date"
    r"|набор|найден|результат|записей|знайден|резултат|σύνολ|αποτελέσμ|veri ?(?:set|küme)|sonuç"
    r"|データセット|件|数据集|數據集|资料集|資料集|结果|結果|筆|데이터|결과|건|ชุดข้อมูล|مجموع|نتائج|מאגרי|תוצאות",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Total:
    """
    Args:
        css: the element that says it.
        count: what it says on the listing that was shown.
    """

    css: str
    count: int


def total(sample: Sample, links: int, *, is_paged: bool) -> Total | None:
    """Return where the listing says how many datasets there are; ``None`` if it does not, or says several numbers.

    Args:
        links: datasets on this page.
        is_paged: whether there are further pages, so that a number of just so many is this page's own.
    """
    least = links + 1 if is_paged else links
    found = [(element, count) for element, count in _counts(sample) if count >= max(least, 1)]
    if len({count for _, count in found}) != 1:
        return None
    for element, count in found:
        best = next(iter(selectors.one(sample, element)), None)
        if best and best.stability >= _LEAST:
            return Total(best.css, count)
    return None


def contradicts(sample: Sample, found: Total) -> bool:
    """Return whether another page of the listing says another number there; a further page may say none."""
    shown = next((number(text(one)) for one in sample.css(found.css)), None)
    return shown not in (None, found.count)


def _counts(sample: Sample) -> Iterator[tuple[Any, int]]:
    """Yield the innermost elements that have a number and a word for datasets, outside rows and menus."""
    for element in sample.elements[:_MOST]:
        if element.tag in _INSIDE or next(element.iterancestors(*_INSIDE, "nav", "aside", "footer"), None) is not None:
            continue
        shown = sample.texts.get(element, "")
        if len(shown) <= _LONGEST and (count := _count(shown)) is not None and not _has_inner(sample, element):
            yield element, count


def _has_inner(sample: Sample, element: Any) -> bool:
    return any(_count(sample.texts.get(one, "")) is not None for one in element)


def _count(shown: str) -> int | None:
    return number(shown) if any(map(str.isdigit, shown)) and _WORDS.search(shown) else None
