"""Rows that nothing but the heading above them tells from others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlers.learn.labelled import steps
from crawlers.learn.selectors import ancestors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.learn.sample import Sample

_HEADINGS = ("h2", "h3", "h4", "h5", "h6", "dt", "legend", "summary", "caption", "p", "div", "b", "strong", "span")
_LEVELS = 4
_LONGEST = 40  # characters of a heading


def headed(sample: Sample, rows: list[Any]) -> Iterator[str]:
    """XPaths from the text before the box of the rows, the nearest box first."""
    for box in ancestors(rows)[:_LEVELS]:
        heading = box.getprevious()
        shown = "" if heading is None else sample.texts.get(heading, "")
        if not 0 < len(shown) <= _LONGEST or heading.tag not in _HEADINGS or any(map(str.isdigit, shown)):
            continue
        way = steps(heading, rows, heading.getparent())
        for condition in ("", "[td]", "[.//a[@href]]") if way else ():
            if sample.page.find(f"{way}{condition}") == rows:
                yield f"{way}{condition}"
                break
