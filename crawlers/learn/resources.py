"""The files of a dataset: the element that repeats, and each field within it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import re2

from crawlers.learn import places, selectors
from crawlers.learn.anchors import LAYOUT, TAG, anchors
from crawlers.learn.headed import headed
from crawlers.learn.partly import patterns
from crawlers.learn.texts import normal
from crawlers.rules.field import LINK_KEYS, field

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.learn.candidate import Table
    from crawlers.learn.sample import Place, Sample
    from crawlers.learn.trial import Trial

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
    made = [one for row in rows(sample, wanted) for one in _made(trial, row, wanted)]
    return max(made, key=lambda one: (one.sure, -len(str(one.table))), default=None)


def found_in(sample: Sample, name: str, value: str) -> list[Place]:
    """Where the page has what was seen of a file."""
    if name in LINK_KEYS:
        return places.addressed(sample, value)
    return places.equal(sample, value) or places.containing(sample, value)


def rows(sample: Sample, wanted: dict[str, str]) -> Iterator[Any]:
    """The elements about one file, the smallest first: all that was seen is within."""
    every = {name: found_in(sample, name, value) for name, value in wanted.items()}
    if not all(every.values()):
        return
    first = every.get("url") or next(iter(every.values()))
    for place in first[:5]:
        around = [place.element, *place.element.iterancestors()][:_LEVELS]
        for row in around:
            inside = set(row.iter())
            if row.tag not in _NO_ROWS and all(any(one.element in inside for one in found) for found in every.values()):
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
        shown = next((one for one in given[0] if _has(one, wanted, sample)), None)
        if shown is not None:
            yield _judged(how, tables, stability, given=given, shown=shown, count=len(_elements(sample, how)))


def _best(trial: Trial, how: Table, name: str, tables: list[Table]) -> Table:
    """The way that gives the field of most files."""
    if len(tables) == 1 or not tables[0]:
        return tables[0]
    pages = range(len(trial.samples))

    def count(table: Table) -> int:
        return sum(1 for number in pages for one in _gives(trial, number, how, {name: table}) if name in one)

    return max(tables, key=count)


def _judged(
    how: Table, tables: dict[str, Table], stability: float, *, given: list[list[dict[str, str]]], shown: Any, count: int
) -> Files:
    why = []
    counts = [len(one) for one in given]
    every = [one for page in given for one in page]
    sure = stability * (0.5 + 0.5 * sum(all(name in one for name in tables) for one in every) / len(every))
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
    """Of the row and those beside it that are alike; a class that all have, a named box and the tag, or a heading."""
    found: list[tuple[str, float]] = []
    for alike in _alike(row):
        found += [(one.css, one.stability + 0.05) for one in selectors.several(sample, alike)]
        if len(alike) == 1:
            found += [(one.css, one.stability) for one in selectors.one(sample, row)]
        found += [(one, 0.75) for one in _in_box(sample, alike, row)]
    yield from (({"css": css}, stability) for css, stability in dict.fromkeys(found))
    for alike in _alike(row):
        yield from (({"xpath": xpath}, _HEADED) for xpath in headed(sample, alike))


def _alike(row: Any) -> Iterator[list[Any]]:
    """The row and those beside it that have a name in common, or their tag and all their classes."""
    beside = [one for one in row.getparent() if one.tag == row.tag and (row.tag != "tr" or one.find("td") is not None)]
    yield [one for one in beside if one.get("class") == row.get("class")]
    for anchor in anchors(row):
        if anchor.stability >= LAYOUT:
            yield [one for one in beside[:_MOST] if anchor in anchors(one)]


def _in_box(sample: Sample, alike: list[Any], row: Any) -> Iterator[str]:
    """Rows of a table with a head of its own."""
    if row.tag != "tr":
        return
    for ancestor in selectors.ancestors(alike)[:3]:
        for anchor in anchors(ancestor):
            css = f"{anchor.css} tr:has(td)"
            if anchor.stability > TAG and sample.css(css) == alike:
                yield css


def _inner(sample: Sample, row: Any, name: str, value: str) -> list[Table]:
    """The ways to find a field within the row; ``[{}]`` when it needs no rule."""
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
    return [one for one in made if _cuts(one["regex"], place.text, value)]


def _cuts(pattern: str, text: str, value: str) -> bool:
    found = re2.search(pattern, text)
    return bool(found) and normal(found[1] or "") == normal(value)


def _ways(element: Any, row: Any) -> Iterator[str]:
    """A name, a tag, a name around it and its tag; a position last."""
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
    place = [one for one in element.getparent() if one.tag == element.tag].index(element) + 1
    yield f"{element.tag}:nth-of-type({place})"


def _elements(sample: Sample, how: Table) -> list[Any]:
    return sample.css(how["css"]) if "css" in how else sample.page.find(how["xpath"])


def _gives(trial: Trial, number: int, how: Table, tables: dict[str, Table]) -> list[dict[str, str]]:
    rules = [field(name, dict(table), name, LINK_KEYS) for name, table in tables.items()]
    return trial.files(number, how, rules)


def _has(given: dict[str, str], wanted: dict[str, str], sample: Sample) -> bool:
    for name, value in wanted.items():
        if name == "url":
            if sample.page.absolute(given.get("url", "")) != sample.page.absolute(value):
                return False
        elif normal(given.get(name, "")) != normal(value):
            return False
    return True
