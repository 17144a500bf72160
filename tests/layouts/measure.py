"""How many fields of pages that were not shown come out right, by rules learned from those that were."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import lxml.html

from crawlers.kinds.html.mapping.document import document
from crawlers.kinds.html.rules import loads
from crawlers.operate.learn import Sample, learn
from crawlers.operate.learn.texts import normal
from crawlers.operate.learn.toml import toml
from crawlers.records.html_page import Page, text
from tests.layouts.parts import Layout
from tests.layouts.records import UNSEEN, record

ALSO_SHOWN = 1
"""The record whose page is shown with ``--more``."""


@dataclass
class Measured:
    """
    Args:
        wrong: record, field, truth and what came instead.
    """

    layout: str
    rules: str
    right: int = 0
    wrong: list[tuple[int, str, Any, Any]] = field(default_factory=list)

    @property
    def share(self) -> float:
        return self.right / (self.right + len(self.wrong))


def measured(layout: Layout, *, further: bool, shows_empty: bool = False) -> Measured:
    """Learns from record 0, with what a person sees of it, and judges every field of the unseen records.

    A field that a page does not have is right when nothing is found.

    Args:
        shows_empty: whether the pages have labels with nothing beside them.
    """
    shown = [record(number, layout.language) for number in ((0, ALSO_SHOWN) if further else (0,))]
    samples = [Sample(page(layout, one.number, shows_empty=shows_empty)) for one in shown]
    found = Measured(layout.name, toml(learn(samples, layout.seen(shown[0]), {})))
    rules = loads(found.rules)
    for number in UNSEEN:
        extracted = document(page(layout, number, shows_empty=shows_empty), rules)
        for name, truth in record(number, layout.language).truth().items():
            if name in layout.without:
                continue
            given = given_of(extracted, name)
            if is_right(name, given, truth):
                found.right += 1
            else:
                found.wrong.append((number, name, truth, given))
    return found


def page(layout: Layout, number: int, *, shows_empty: bool = False) -> Page:
    one = replace(record(number, layout.language), shows_empty=shows_empty)
    return Page(layout.render(one), layout.address(one))


def given_of(document: dict[str, Any], name: str) -> Any:
    if name.startswith("resource."):
        key = name.removeprefix("resource.")
        return [str(one.get(key, {}).get("value")) for one in document["resources"]] or None
    return document["fields"].get(name, {}).get("value")


def is_right(name: str, given: Any, truth: Any) -> bool:
    """Equal but for case, space and punctuation at the ends; dates to the day; keywords in any order."""
    if given is None or truth is None:
        return given is None and truth is None
    if name in ("issued", "modified"):
        return str(given)[:10] == truth
    if name == "description":
        return normal(text(lxml.html.fromstring(f"<div>{given}</div>"))) == normal(truth)
    if name == "keywords":
        return sorted(map(normal, given)) == sorted(map(normal, truth))
    return [*map(normal, given)] == [*map(normal, truth)] if isinstance(truth, list) else normal(given) == normal(truth)


def table(found: list[Measured]) -> str:
    """For people."""
    lines = [
        f"{one.layout:<12} {one.right:>4} of {one.right + len(one.wrong):>4}  {one.share:7.1%}  "
        + ", ".join(dict.fromkeys(name for _, name, _, _ in one.wrong))
        for one in found
    ]
    right, every = sum(one.right for one in found), sum(one.right + len(one.wrong) for one in found)
    return "\n".join([*lines, f"{'all':<12} {right:>4} of {every:>4}  {right / every:7.1%}"])
