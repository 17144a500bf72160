"""How many datasets a listing has: by the rules' word, or as the page prints it for people."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from crawlers.kinds.html.mapping.document import Search, read
from crawlers.kinds.html.rules import compiled
from crawlers.records.html_page import text

if TYPE_CHECKING:
    from crawlers.kinds.html.rules import Rule, Rules
    from crawlers.records.html_page import Page

_GROUPED = r"[0-9]{1,3}(?:[.,'’\s\u066c][0-9]{2,3})*[.,'’\s\u066c][0-9]{3}(?![0-9])"
_NUMBER = re.compile(rf"(?<![0-9])(?:{_GROUPED}|[0-9]{{1,12}}(?![0-9]))".replace("0-9", r"\d"))
_OF = re.compile(r"\s*(?:of|von|de|di|van|av|af|из|z|/)\s*", re.IGNORECASE)
_LIMIT = re.compile(
    r"per page|page size|pro seite|par page|por p[aá]gina|per pagina|at most|max(?:imum|\.)|first\b", re.IGNORECASE
)
_YEAR = re.compile(r"(?:19|20)[0-9]{2}")
_RANGE = re.compile(r"\s*(?:[-–—~]|\w{1,5})\s*")
_LONGEST = 120  # characters of a text with the total
_HIGHEST = 3  # elements above the one that has the number
_MOST = 5_000  # elements
_OF_TOTAL = 2
_WITH_RANGE = 3  # numbers of a range and its total
_ELSEWHERE = ("nav", "aside", "footer")
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


def total(page: Page, rules: Rules) -> int | None:
    """Return the total that the listing states where the rules say; ``None`` if several numbers leave it open."""
    rule = rules.links.total
    return None if rule is None else next((item for item in map(number, _texts(page, rule)) if item is not None), None)


def _texts(page: Page, rule: Rule) -> Iterator[str]:
    if rule.by_label:
        entry = read(page, rule, Search(page, (rule,)), page.language)
        yield str(entry["value"]) if entry else ""
        return
    for found in page.find(rule.xpath) if rule.xpath else rule.constant:
        value = found.get(rule.attr, "") if rule.attr and not isinstance(found, str) else text(found)
        if rule.regex is None:
            yield value
        elif match := compiled(rule.regex).search(value):
            yield (match[1] if match.re.groups else match[0]) or ""


def printed(page: Page, least: int, *, is_one_of_many: bool = False) -> int | None:
    """Return the number of datasets that a listing prints for people; ``None`` for none, or for several.

    Args:
        least: a lower number counts something else: the rows of the page.
        is_one_of_many: whether the site has further listings: then a number counts only beside a range, "1-20 of 97",
            since another may be that of the whole site.

    >>> from crawlers.records.html_page import Page
    >>> printed(Page("<p>7–12 of 30 datasets</p><p>6 results per page</p>", "https://example.org/"), 7)
    30
    >>> printed(Page("<p>30 datasets</p><p>of 450 datasets in all</p>", "https://example.org/"), 7)
    >>> page = Page("<p>450 datasets in all</p><p>7–12 of 30 datasets</p>", "https://example.org/")
    >>> printed(page, 7), printed(page, 7, is_one_of_many=True)
    (None, 30)
    """
    found = {
        count
        for element, count in counts(page)
        if count >= max(least, 1) and (not is_one_of_many or len(_NUMBER.findall(text(element))) == _WITH_RANGE)
    }
    return found.pop() if len(found) == 1 else None


def counts(page: Page) -> Iterator[tuple[Any, int]]:
    """Yield the innermost elements that have a number and a word for datasets, outside rows and menus."""
    known = set()
    for element in islice(page.root.iter(), _MOST):
        own = (element.text, *(child.tail for child in element)) if isinstance(element.tag, str) else ()
        found = _counted(element) if any(any(map(str.isdigit, each)) for each in own if each) else None
        if not found or found[0] in known or found[0].tag in _INSIDE:
            continue
        if next(found[0].iterancestors(*_INSIDE, *_ELSEWHERE), None) is None:
            known.add(found[0])
            yield found


def _counted(element: Any) -> tuple[Any, int] | None:
    """Return the innermost element around a number that has a word for datasets, too, and the number."""
    for _ in range(_HIGHEST):
        shown = text(element) if element is not None else ""
        if not shown or len(shown) > _LONGEST:
            return None
        if _WORDS.search(shown):
            found = [item[0] for item in _NUMBER.finditer(shown)]
            is_year = len(found) == 1 and bool(_YEAR.fullmatch(found[0]))
            count = None if is_year or _LIMIT.search(shown) else number(shown) or _of_all(shown)
            return None if count is None else (element, count)
        element = element.getparent()
    return None


def _of_all(shown: str) -> int | None:
    """
    >>> _of_all("Showing 18 of 30 datasets"), _of_all("30 datasets in 12 groups")
    (30, None)
    """
    found = list(_NUMBER.finditer(shown))
    if len(found) != _OF_TOTAL or not _OF.fullmatch(shown[found[0].end() : found[1].start()]):
        return None
    return int("".join(filter(str.isdigit, found[1][0])))


def number(text: str) -> int | None:
    """Return the number in a text: the only number, or the number beside a range.

    >>> number("1.234 Datensätze"), number("12'345"), number("1 234"), number("١٬٢٣٤")
    (1234, 12345, 1234, 1234)
    >>> number("1-20 of 1,234"), number("97 results, 1 to 20"), number("97 in 2019"), number("none")
    (1234, 97, None, None)
    """
    found = list(_NUMBER.finditer(text[:1000]))
    values = [int("".join(letter for letter in item[0] if letter.isdigit())) for item in found]
    if len(values) == 3:
        for item, other in ((0, 1), (1, 2)):
            between = text[found[item].end() : found[other].start()]
            if values[item] <= values[other] and _RANGE.fullmatch(between):
                return values[2 - 2 * item]
    return values[0] if len(values) == 1 else None
