"""The files of a dataset: what a page says of them by itself, the element that repeats, and each field within it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import re2

from crawlers.kinds.html.mapping.confidence import is_outside
from crawlers.kinds.html.mapping.labels import labels
from crawlers.kinds.html.mapping.vocabulary import fields, key
from crawlers.kinds.html.rules import LINK_KEYS, field_rule
from crawlers.operate.learn import selectors
from crawlers.operate.learn.labelled import steps
from crawlers.operate.learn.sample import Place, addressed_places, containing_places, equal_places
from crawlers.operate.learn.selectors import LAYOUT, TAG, ancestors, anchors
from crawlers.operate.learn.signs import Headings
from crawlers.operate.learn.texts import normal, patterns
from crawlers.records.formats import eu_file_type
from crawlers.records.html_page import text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.operate.learn.candidates import Table, Trial
    from crawlers.operate.learn.sample import Sample


_NO_ROWS = ("html", "body", "main", "ul", "ol", "table", "tbody", "thead", "form")
_LEVELS = 6
_MOST = 200
_HEADED = 0.72


@dataclass(frozen=True, slots=True)
class Files:
    """``[resources]``.

    Args:
        table: how the element of each file is found: ``{"css": "li.file"}``.
        tables: the rule of each field.
        counts: how many files it gives on each page.
        first: the first file of the sample.
        sure: from 0 to 1.
        elements: those of the files on the sample.
    """

    table: Table
    tables: dict[str, Table]
    counts: list[int]
    first: dict[str, str]
    sure: float
    why: tuple[str, ...] = ()
    elements: tuple[Any, ...] = ()


Seen = dict[str, list["Place"]]
"""Where each field of one file is seen: ``url``, ``title``, ``format`` ..."""


def files(trial: Trial, wanted: dict[str, str], seen: Seen | None = None) -> Files | None:
    """
    Args:
        wanted: what is seen of one file, by the field's name: ``url``, ``title``, ``format`` ...
        seen: where; by default wherever the page shows it.

    Returns:
        ``None`` when no element has all of it, or no selector finds it and its like.
    """
    sample = trial.samples[0]
    seen = seen or places(sample, wanted)
    made = [item for row in rows(seen) for item in _made(trial, row, wanted, seen)]
    return max(made, key=lambda item: (item.sure, -len(str(item.table))), default=None)


def places(sample: Sample, wanted: dict[str, str]) -> Seen:
    """Return where the page shows what the user has seen of a file."""
    return {
        name: addressed_places(sample, each)
        if name in LINK_KEYS
        else equal_places(sample, each) or containing_places(sample, each)
        for name, each in wanted.items()
    }


def rows(every: Seen) -> Iterator[Any]:
    """Yield the elements about one file, the smallest first: they contain everything that was seen."""
    if not all(every.values()):
        return
    first = every.get("url") or next(iter(every.values()))
    for place in first[:5]:
        around = [place.element, *place.element.iterancestors()][:_LEVELS]
        for row in around:
            inside = set(row.iter())
            if row.tag not in _NO_ROWS and all(
                any(item.element in inside for item in found) for found in every.values()
            ):
                yield row


def _made(trial: Trial, row: Any, wanted: dict[str, str], seen: Seen) -> Iterator[Files]:
    sample = trial.samples[0]
    ways = {name: _inner(sample, row, name, value, seen[name]) for name, value in wanted.items()}
    if not all(ways.values()):
        return
    for how, stability in _selectors(sample, row):
        tables = {name: _best(trial, how, name, tables) for name, tables in ways.items()}
        tables = {name: table for name, table in tables.items() if table}
        given = [_gives(trial, number, how, tables) for number in range(len(trial.samples))]
        shown = next((item for item in given[0] if _has(item, wanted, sample)), None)
        if shown is not None:
            elements = sample.css(how["css"]) if "css" in how else sample.page.find(how["xpath"])
            yield _judged(how, tables, stability, given=given, shown=shown, elements=elements)


def _best(trial: Trial, how: Table, name: str, tables: list[Table]) -> Table:
    """Return the rule that gives the field for the largest number of files."""
    if len(tables) == 1 or not tables[0]:
        return tables[0]
    pages = range(len(trial.samples))

    def count(table: Table) -> int:
        return sum(1 for number in pages for give in _gives(trial, number, how, {name: table}) if name in give)

    return max(tables, key=count)


def _judged(
    how: Table,
    tables: dict[str, Table],
    stability: float,
    *,
    given: list[list[dict[str, str]]],
    shown: Any,
    elements: list[Any],
) -> Files:
    why = []
    counts = [len(item) for item in given]
    every = [item for page in given for item in page]
    sure = stability * (0.5 + 0.5 * sum(all(name in item for name in tables) for item in every) / len(every))
    if counts[0] < len(elements):
        sure *= 0.9
        why.append(f"{len(elements) - counts[0]} of {len(elements)} elements have no link")
    if max(counts) == 1:
        sure *= 0.5
        why.append("no page has more than one file: what repeats is a guess")
    if len(counts) > 1 and not any(counts[1:]):
        sure *= 0.5
        why.append("no files on the further pages")
    return Files(how, tables, counts, shown, round(sure, 2), tuple(why), tuple(elements))


def _selectors(sample: Sample, row: Any) -> Iterator[tuple[Table, float]]:
    """Yield selectors of the row and those like it: by a common class, by a named box and the tag, or by a heading."""
    found: list[tuple[str, float]] = []
    for alike in _alike(row):
        found += [(item.table["css"], item.stability + 0.05) for item in selectors.several(sample, alike)]
        if len(alike) == 1:
            found += [(item.table["css"], item.stability) for item in selectors.single(sample, row)]
        found += [(item, 0.75) for item in _in_box(sample, alike, row)]
    yield from (({"css": css}, stability) for css, stability in dict.fromkeys(found))
    for alike in _alike(row):
        yield from (({"xpath": xpath}, _HEADED) for xpath in headed(sample, alike))


def _alike(row: Any) -> Iterator[list[Any]]:
    """Yield the row with those beside it that share a name, or the tag and all classes."""
    is_of_cells = row.tag == "tr" and row.find("td") is not None
    beside = [
        item for item in row.getparent() if item.tag == row.tag and (not is_of_cells or item.find("td") is not None)
    ]
    yield [item for item in beside if item.get("class") == row.get("class")]
    for anchor in anchors(row):
        if anchor.stability >= LAYOUT:
            yield [item for item in beside[:_MOST] if anchor in anchors(item)] or [row]


def _in_box(sample: Sample, alike: list[Any], row: Any) -> Iterator[str]:
    """Yield selectors of table rows, without those of the head."""
    if row.tag != "tr":
        return
    for ancestor in selectors.ancestors(alike)[:3]:
        for anchor in anchors(ancestor):
            css = f"{anchor.css} tr:has(td)"
            if anchor.stability > TAG and sample.css(css) == alike:
                yield css


def _inner(sample: Sample, row: Any, name: str, value: str, seen: list[Place]) -> list[Table]:
    """Return the rules that find a field within the row; ``[{}]`` if it needs none."""
    inside = set(row.iter())
    for place in seen:
        if place.element not in inside:
            continue
        if place.element is row and name == "url":
            return [{}]
        for css in _ways(place.element, row):
            if sample.css(css, row)[:1] == [place.element] and (tables := _tables(name, css, place, value)):
                return tables
        if place.attr in (None, LINK_KEYS.get(name)) and (label := _label(sample, row, place)):
            return [{"label": label}]
    return []


def _label(sample: Sample, row: Any, place: Place) -> str | None:
    """Return the label within the row whose first value has the element, of several the nearest."""
    around = [place.element, *place.element.iterancestors()]
    found = [
        (around.index(part), label.text)
        for label in labels(sample.page, row)
        for part in label.values[0]
        if not isinstance(part, str) and part in around
    ]
    return min(found)[1] if found else None


def _tables(name: str, css: str, place: Place, value: str) -> list[Table]:
    table: Table = {"css": css}
    if name in LINK_KEYS:
        return [table if place.attr == LINK_KEYS[name] else {**table, "attr": place.attr}]
    shown = text(place.element)
    if place.attr:
        table["attr"] = place.attr
        shown = " ".join((place.element.get(place.attr) or "").split())
    if normal(shown) == normal(value):
        return [table]
    found = ((pattern, re2.search(pattern, shown)) for pattern, _ in patterns(shown, value))
    return [{**table, "regex": pattern} for pattern, cut in found if cut and normal(cut[1] or "") == normal(value)]


def _ways(element: Any, row: Any) -> Iterator[str]:
    """Yield selectors within the row: by name, by tag, by a name around it; by position last."""
    if element is row:
        yield row.tag
        return
    for anchor in anchors(element):
        if not anchor.css.startswith("#"):
            yield anchor.css
    for above in element.iterancestors():
        if above is row:
            break
        for anchor in anchors(above)[:2]:
            yield f"{anchor.css} {element.tag}"
    place = [item for item in element.getparent() if item.tag == element.tag].index(element) + 1
    yield f"{element.tag}:nth-of-type({place})"


def _gives(trial: Trial, number: int, how: Table, tables: dict[str, Table]) -> list[dict[str, str]]:
    rules = [field_rule(name, dict(table), name, LINK_KEYS) for name, table in tables.items()]
    return trial.files(number, how, rules)


def _has(given: dict[str, str], wanted: dict[str, str], sample: Sample) -> bool:
    for name, value in wanted.items():
        spelled: Any = sample.page.absolute if name == "url" else normal
        if spelled(given.get(name, "")) != spelled(value):
            return False
    return True


_HEADINGS = ("h2", "h3", "h4", "h5", "h6", "dt", "legend", "summary", "caption", "p", "div", "b", "strong", "span")
_HEADING_LEVELS = 4
_LONGEST_HEADING = 40  # characters of a heading


def headed(sample: Sample, rows: list[Any]) -> Iterator[str]:
    """Yield XPaths from the text before the box of the rows, the nearest box first."""
    for box in ancestors(rows)[:_HEADING_LEVELS]:
        heading = box.getprevious()
        shown = "" if heading is None else sample.texts.get(heading, "")
        if not 0 < len(shown) <= _LONGEST_HEADING or heading.tag not in _HEADINGS or any(map(str.isdigit, shown)):
            continue
        way = steps(heading, rows, heading.getparent())
        for condition in ("", "[td]", "[.//a[@href]]") if way else ():
            if sample.page.find(f"{way}{condition}") == rows:
                yield f"{way}{condition}"
                break


# Files


_METADATA = ("rdf", "ttl", "jsonld", "nt", "n3", "trig")
"""Endings of files that describe the dataset, mostly."""
_PAGES = ("html", "htm", "php", "asp", "aspx", "jsp")
_METADATA_PATHS = re.compile(r"/api/(?:3/)?action/|/package_show|/dataset/[^/]+\.xml$|metadata", re.IGNORECASE)
_SERVICE = re.compile(r"(?:[?&](?:service=w[mfc]s|request=get\w+)|^[^?]*/(?:map|feature)server\b)", re.IGNORECASE)
_PRESSED = re.compile(
    r"\b(?:download|herunterladen|t[ée]l[ée]charger|descargar|scarica|baixar|pobierz|download(?:en)?)\b", re.IGNORECASE
)
_MOST_SEEN = 500
_SURE = 0.5
_SHORTEST = 3  # characters of a title
_ABOUT = ("li", "tr", "article", "section", "div", "p", "dd")
_NAMING = (".heading, .title, h2, h3, h4, h5, h6", "strong, b, dt", "a", "td, span, p")
_MENU = "[data-toggle], [data-bs-toggle], [aria-haspopup], [href^='#'], [role='menuitem'], .dropdown-menu a"
_MENUS = re.compile(r"(?:^|[\s_-])(?:dropdown|menu)", re.IGNORECASE)
_WORDS = re.compile(r"\b[A-Za-z][A-Za-z0-9]{1,9}\b")
_LEAST_SURE = 0.3


def unaided_files(trial: Trial, wanted: dict[str, str] | None = None, seen: Seen | None = None) -> Files | None:
    """Return the rules of the links that are files by the list they stand in, the attribute, the ending or the type.

    Args:
        wanted: what the user has seen of one file.
        seen: where the page shows that.
    """
    sample = trial.samples[0]
    wanted, seen = wanted or {}, seen or {}
    around = {above for _, title in Headings(sample).ranked[:1] for above in (title, *title.iterancestors())}
    weights = {each: _weight(sample, each) for each in sample.css("a[href]")[: 10 * _MOST_SEEN]}
    links = [each for each, weight in weights.items() if weight]
    likely = sorted(links, key=lambda each: -weights[each])[:3]
    if "url" in seen:
        likely = [place.element for place in seen["url"]]
    elif wanted:
        likely = links[:_MOST_SEEN]
    for link in likely:
        for places in _seen(sample, link, links, seen):
            values = {name: (wanted.get(name) or each[0].text) for name, each in places.items()}
            found = files(trial, values, places)
            least = _LEAST_SURE if wanted or _weight(sample, link) > 1 else _SURE
            if found is None or found.sure < least or not around.isdisjoint(found.elements):
                continue
            having = {above for each in links for above in (each, *each.iterancestors())}.intersection(found.elements)
            if wanted or 2 * len(having) > len(found.elements) - (len(links) > 1):  # most have a link like a file's
                return found
        if "url" in wanted or (wanted and link is likely[-1]):
            break
    return None


def _weight(sample: Sample, link: Any) -> int:
    """Return how many signs say that a link is a file."""
    address = sample.page.absolute(link.get("href"))
    if not address or is_outside(link) or address.partition("#")[0] == sample.address:
        return 0
    path = urlsplit(address).path
    ending = path.rpartition("/")[2].rpartition(".")[2]
    if ending in _METADATA or _METADATA_PATHS.search(path):
        return 0
    signs = (
        "download" in link.attrib,
        "." in path and len(ending) <= 8 and ending not in _PAGES and eu_file_type(ending) is not None,
        bool(link.get("type")) and "html" not in link.get("type"),
        bool(_PRESSED.search(f"{text(link)} {link.get('title') or ''}")),
        bool(_SERVICE.search(f"{path}?{urlsplit(address).query}")),
    )
    return sum(signs)


def _seen(sample: Sample, link: Any, others: list[Any], told: Seen) -> Iterator[Seen]:
    """Yield what a file's row shows, and where: address, title and format, then the address with either, then alone."""
    url: Seen = {"url": [Place(link, link.get("href"), "href")]}
    row = _row(sample, link, others)
    if row is not None:
        inside = set(row.iter())
        known = {"title": _title_of(sample, row), "format": _format_of(sample, row, link)}
        shown: Seen = {name: [place] for name, place in known.items() if place} | told
        if all(any(place.element in inside for place in places) for places in told.values()):
            yield url | shown
            for name in shown if len(shown) > 1 else ():
                yield url | told | {name: shown[name]}
            if shown and not told:
                yield url
    elif not told:
        yield url


def _row(sample: Sample, link: Any, others: list[Any]) -> Any:
    """Return the largest element about the link's file: nothing in it leads to another one."""
    address, found = sample.page.absolute(link.get("href")), None
    for row in islice(link.iterancestors(*_ABOUT), 4):
        leading = {sample.page.absolute(each.get("href")) for each in row.iter("a") if each in others}
        if leading - {address} or row.find(".//h1") is not None:
            break
        found = row
        if _repeats(row):
            break
    return found


def _repeats(row: Any) -> bool:
    """Return whether a list has others like it; a menu is none."""
    if _MENUS.search((row.getparent() if row.getparent() is not None else row).get("class") or ""):
        return False
    is_row = row.tag in ("li", "tr", "article") or row.get("class")
    return bool(is_row) and any(
        each is not row
        and each.tag == row.tag
        and each.get("class") == row.get("class")
        and each.find(".//a") is not None
        for each in islice(row.getparent(), _MOST_SEEN)
    )


def _title_of(sample: Sample, row: Any) -> Place | None:
    menu = set(sample.css(_MENU, row))
    for css in _NAMING:
        for each in sample.css(css, row):
            element = _innermost(each)
            if each in menu or not _is_title(text(element)):
                continue
            return Place(element, text(element))
    return None


def _innermost(heading: Any) -> Any:
    """Return the part of a heading beside the label of a format."""
    parts = [each for each in heading if text(each)]
    has_format = any(eu_file_type(text(each)) for each in parts)
    rest = [each for each in parts if not eu_file_type(text(each))]
    return rest[0] if has_format and len(rest) == 1 and not (heading.text or "").strip() else heading


def _is_title(shown: str) -> bool:
    if len(shown) < _SHORTEST or eu_file_type(shown) is not None or shown.startswith(("http://", "https://")):
        return False
    return (
        not _PRESSED.fullmatch(shown) and key(shown) not in fields() and not shown.endswith(":") and len(shown) <= 300
    )


def _format_of(sample: Sample, row: Any, link: Any) -> Place | None:
    """Return where the row has a word that is a format, that of the address first."""
    ending = urlsplit(sample.page.absolute(link.get("href")) or "").path.rpartition(".")[2].casefold()
    shown = [(each, own) for each in row.iter() if isinstance(each.tag, str) and (own := text(each)) and len(each) < 3]
    exact = [Place(each, own) for each, own in shown if len(own) <= 20 and eu_file_type(own) is not None]
    within = [
        Place(each, word)
        for each, own in reversed(shown)
        if len(own) <= 300
        for word in _WORDS.findall(own)
        if eu_file_type(word) is not None and (word.isupper() or word[0].isupper())
    ]
    every = [*exact, *within]
    return next((each for each in every if each.text.casefold() == ending), next(iter(every), None))
