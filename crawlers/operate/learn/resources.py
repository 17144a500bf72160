"""The files of a dataset: the element that repeats, and each field within it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import re2

from crawlers.kinds.html.rules import LINK_KEYS, field_rule
from crawlers.operate.learn import selectors
from crawlers.operate.learn.anchors import LAYOUT, TAG, anchors
from crawlers.operate.learn.labelled import steps
from crawlers.operate.learn.sample import addressed_places, containing_places, equal_places
from crawlers.operate.learn.selectors import ancestors
from crawlers.operate.learn.texts import normal, patterns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.operate.learn.candidates import Table, Trial
    from crawlers.operate.learn.sample import Place, Sample

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
    """

    table: Table
    tables: dict[str, Table]
    counts: list[int]
    first: dict[str, str]
    sure: float
    why: tuple[str, ...] = ()


def files(trial: Trial, wanted: dict[str, str]) -> Files | None:
    """
    Args:
        wanted: what is seen of one file, by the field's name: ``url``, ``title``, ``format`` ...

    Returns:
        ``None`` when no element has all of it, or no selector finds it and its like.
    """
    sample = trial.samples[0]
    made = [item for row in rows(sample, wanted) for item in _made(trial, row, wanted)]
    return max(made, key=lambda item: (item.sure, -len(str(item.table))), default=None)


def found_in(sample: Sample, name: str, value: str) -> list[Place]:
    """Return the places that have what the user has seen of a file."""
    if name in LINK_KEYS:
        return addressed_places(sample, value)
    return equal_places(sample, value) or containing_places(sample, value)


def rows(sample: Sample, wanted: dict[str, str]) -> Iterator[Any]:
    """Yield the elements about one file, the smallest first: they contain everything that was seen."""
    every = {name: found_in(sample, name, value) for name, value in wanted.items()}
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


def _made(trial: Trial, row: Any, wanted: dict[str, str]) -> Iterator[Files]:
    sample = trial.samples[0]
    ways = {name: _inner(sample, row, name, value) for name, value in wanted.items()}
    if not all(ways.values()):
        return
    for how, stability in _selectors(sample, row):
        tables = {name: _best(trial, how, name, tables) for name, tables in ways.items()}
        tables = {name: table for name, table in tables.items() if table}
        given = [_gives(trial, number, how, tables) for number in range(len(trial.samples))]
        shown = next((item for item in given[0] if _has(item, wanted, sample)), None)
        if shown is not None:
            yield _judged(how, tables, stability, given=given, shown=shown, count=len(_elements(sample, how)))


def _best(trial: Trial, how: Table, name: str, tables: list[Table]) -> Table:
    """Return the rule that gives the field for the largest number of files."""
    if len(tables) == 1 or not tables[0]:
        return tables[0]
    pages = range(len(trial.samples))

    def count(table: Table) -> int:
        return sum(1 for number in pages for give in _gives(trial, number, how, {name: table}) if name in give)

    return max(tables, key=count)


def _judged(
    how: Table, tables: dict[str, Table], stability: float, *, given: list[list[dict[str, str]]], shown: Any, count: int
) -> Files:
    why = []
    counts = [len(item) for item in given]
    every = [item for page in given for item in page]
    sure = stability * (0.5 + 0.5 * sum(all(name in item for name in tables) for item in every) / len(every))
    if counts[0] < count:
        sure *= 0.9
        why.append(f"{count - counts[0]} of {count} elements have no link")
    if counts[0] == 1:
        sure *= 0.5
        why.append("the sample page has one file only: what repeats is a guess")
    if len(counts) > 1 and not any(counts[1:]):
        sure *= 0.5
        why.append("no files on the further pages")
    return Files(how, tables, counts, shown, round(sure, 2), tuple(why))


def _selectors(sample: Sample, row: Any) -> Iterator[tuple[Table, float]]:
    """Yield selectors of the row and those like it: by a common class, by a named box and the tag, or by a heading."""
    found: list[tuple[str, float]] = []
    for alike in _alike(row):
        found += [(item.css, item.stability + 0.05) for item in selectors.several(sample, alike)]
        if len(alike) == 1:
            found += [(item.css, item.stability) for item in selectors.single(sample, row)]
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


def _inner(sample: Sample, row: Any, name: str, value: str) -> list[Table]:
    """Return the rules that find a field within the row; ``[{}]`` if it needs none."""
    inside = set(row.iter())
    for place in found_in(sample, name, value):
        if place.element not in inside:
            continue
        if place.element is row and name == "url":
            return [{}]
        for css in _ways(place.element, row):
            if sample.css(css, row)[:1] == [place.element] and (tables := _tables(name, css, place, value)):
                return tables
    return []


def _tables(name: str, css: str, place: Place, value: str) -> list[Table]:
    table: Table = {"css": css}
    if name in LINK_KEYS:
        return [table if place.attr == LINK_KEYS[name] else {**table, "attr": place.attr}]
    if place.attr:
        table["attr"] = place.attr
    if normal(place.text) == normal(value):
        return [table]
    made = [{**table, "regex": pattern} for pattern, _ in patterns(place.text, value)]
    return [item for item in made if _cuts(item["regex"], place.text, value)]


def _cuts(pattern: str, text: str, value: str) -> bool:
    found = re2.search(pattern, text)
    return found is not None and normal(found[1] or "") == normal(value)


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


def _elements(sample: Sample, how: Table) -> list[Any]:
    return sample.css(how["css"]) if "css" in how else sample.page.find(how["xpath"])


def _gives(trial: Trial, number: int, how: Table, tables: dict[str, Table]) -> list[dict[str, str]]:
    rules = [field_rule(name, dict(table), name, LINK_KEYS) for name, table in tables.items()]
    return trial.files(number, how, rules)


def _has(given: dict[str, str], wanted: dict[str, str], sample: Sample) -> bool:
    for name, value in wanted.items():
        if name == "url":
            if sample.page.absolute(given.get("url", "")) != sample.page.absolute(value):
                return False
        elif normal(given.get(name, "")) != normal(value):
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
