"""Rules learned from pages."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from crawlers.exceptions import CrawlersError, hint
from crawlers.kinds.html.mapping.labels import text_of
from crawlers.kinds.html.mapping.vocabulary import fields, key
from crawlers.kinds.html.rules import FIELDS, LINK_KEYS, RESOURCE_FIELDS
from crawlers.operate.learn import labelled
from crawlers.operate.learn.candidates import Trial
from crawlers.operate.learn.expected_value import Wanted, ambiguous_day, date_orders, unreadable_date
from crawlers.operate.learn.field import learned
from crawlers.operate.learn.resources import Files, files, found_in, rows
from crawlers.operate.learn.sample import containing_places, equal_places, nearest_texts
from crawlers.operate.learn.template import BY, Template
from crawlers.operate.learn.texts import shortened
from crawlers.operate.learn.unaided import unaided, unaided_files
from crawlers.records import schema_org

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from crawlers.kinds.html.rules import Where
    from crawlers.kinds.html.software import Software
    from crawlers.operate.learn.candidates import Learned
    from crawlers.operate.learn.listing import Listing
    from crawlers.operate.learn.sample import Sample

NAMES = (*FIELDS, *(f"resource.{name}" for name in RESOURCE_FIELDS))
"""What ``--value`` may name."""

_FILE = "resource."
_MOST_LINKS = 500
_NO_FILES = "The files were not learned: no selector finds them and nothing else. Write [resources] yourself."


class LearnError(CrawlersError):
    """A value or label is not on the sample page, or its field is unknown; raised by `learn` and `check`."""


@dataclass(frozen=True, slots=True)
class Result:
    """
    Args:
        samples: the addresses of the pages, the sample first.
        structured: the sample's kinds of structured data, as text.
        guessed: whether no value was given: only labelled fields are recognised.
        warnings: what could not be learned, a sentence each.
        browser: which pages scripts fill.
        software: what made the pages, if it is known.
    """

    samples: tuple[str, ...]
    fields: tuple[Learned, ...]
    files: Files | None = None
    listing: Listing | None = None
    structured: tuple[str, ...] = ()
    guessed: bool = False
    warnings: tuple[str, ...] = ()
    browser: tuple[Where, ...] = ()
    software: Software | None = None


def check(names: Sequence[str]) -> None:
    """
    Raises:
        LearnError: a field is unknown; the message suggests a similar name.
    """
    for name in names:
        if name not in NAMES:
            raise LearnError(f"There is no field {name!r}.{hint(name, NAMES)} There are: {', '.join(NAMES)}.")


def learn(samples: list[Sample], values: Mapping[str, Sequence[str]], labels: Mapping[str, str]) -> Result:
    """Return the best rule for each field that the user has seen on the first page, confirmed by the others.

    Args:
        values: what is seen of each field; ``resource.url`` and its like are of one file.
        labels: what stands beside or above a value.

    Raises:
        LearnError: a field is unknown, or a value is not on the page.
    """
    check([*values, *labels])
    trial, template = Trial(samples), Template(samples)
    guessed = not values and not labels
    names = [name for name in (*FIELDS, *labels) if name in values or name in labels]
    said = (_field(trial, name, values, labels) for name in dict.fromkeys(names))
    found = template.fields(unaided(trial)) if guessed else said
    seen = {name.removeprefix(_FILE): texts[0] for name, texts in values.items() if name.startswith(_FILE)}
    resources = _files(trial, seen, is_all=not names) if seen else None
    if guessed:
        resources = template.files or (None if template.is_service else unaided_files(trial))
    return Result(
        samples=tuple(sample.address for sample in samples),
        fields=tuple(_dated(list(found), values, samples[0].page.language)),
        files=resources,
        warnings=() if resources or not seen else (_NO_FILES,),
        structured=tuple(_structured(samples[0])),
        guessed=guessed,
        software=template.software,
    )


def _dated(found: list[Learned], values: Mapping[str, Sequence[str]], language: str | None) -> list[Learned]:
    """Return the rules with one order for all dates: if a date proves the order, it holds for the others."""
    shown = {
        item.name: [text for texts in item.given for text in texts]
        for item in found
        if "date" in item.table and item.by != BY
    }
    seen = {name: next(iter(values.get(name, ())), "") for name in shown}
    may_be = {name: date_orders(texts, seen[name], language) for name, texts in shown.items()}
    proven = {orders[0] for orders in may_be.values() if len(orders) == 1}
    order = proven.pop() if len(proven) == 1 else None
    dates = [item for item in found if item.name in shown]
    ordered = {date.name: _in_order(date, order, shown[date.name], seen[date.name], language) for date in dates}
    return [ordered.get(item.name, item) for item in found]


def _in_order(rule: Learned, proven: str | None, shown: list[str], seen: str, language: str | None) -> Learned:
    """
    Args:
        proven: the order that another date of the page proves.
    """
    order = proven or rule.table["date"]
    rule = replace(rule, table={**rule.table, "date": order})
    if unread := unreadable_date(shown, language, order):
        return _doubted(rule, f"{shortened(unread, 40)!r} is no date that can be read", 0.5)
    if proven is None and (day := ambiguous_day(shown, seen, language, order)):
        return _doubted(rule, f"{shortened(shown[0], 40)!r} is taken for {day}", 0.9)
    return rule


def _doubted(rule: Learned, why: str, factor: float) -> Learned:
    return replace(rule, sure=round(rule.sure * factor, 2), why=(*rule.why, why))


def _field(trial: Trial, name: str, values: Mapping[str, Sequence[str]], labels: Mapping[str, str]) -> Learned:
    sample = trial.samples[0]
    wanted = Wanted(name, tuple(values.get(name, ())), labels.get(name), sample.page.language)
    if wanted.label:
        _check_label(sample, name, wanted.label)
    found = learned(trial, wanted)
    if found is None:
        raise LearnError(_absent(sample, wanted))
    return found


def _check_label(sample: Sample, name: str, label: str) -> None:
    texts = {item.key: item.text for item in labelled.known(sample, label)}
    if key(label) in texts:
        return
    close = [
        texts[get_close_matche] for get_close_matche in difflib.get_close_matches(key(label), texts, n=3, cutoff=0.5)
    ]
    near = f" The nearest labels there: {', '.join(close)}." if close else ""
    raise LearnError(f"{name}: {sample.address} has no label {label!r} with a value.{near}")


def _absent(sample: Sample, wanted: Wanted) -> str:
    if wanted.label and wanted.values:
        return f"{wanted.name}: the label {wanted.label!r} does not give {shortened(wanted.values[0])!r}."
    if wanted.label:
        return f"{wanted.name}: the label {wanted.label!r} has no value."
    missing = next((value for value in wanted.values if not _is_there(sample, value)), None)
    if missing is None:
        missing = wanted.seen
        return f"{wanted.name}: no rule finds {shortened(missing)!r} and nothing else; give fewer values, or a label."
    near = [*_beside_labels(sample, wanted.name), *map(shortened, nearest_texts(sample, missing))]
    hint = f" The nearest texts there: {' | '.join(near)}." if near else ""
    empty = ' The page is empty until scripts have run: it may need browser = "datasets".' if sample.looks_empty else ""
    return f"{wanted.name}: {shortened(missing)!r} is not on {sample.address}.{hint}{empty}"


def _is_there(sample: Sample, value: str) -> bool:
    return bool(equal_places(sample, value) or containing_places(sample, value))


def _beside_labels(sample: Sample, name: str) -> list[str]:
    """Return the value beside a label that usually belongs to the field."""
    own = [item for item in labelled.known(sample) if name in fields().get(item.key, ())]
    return [shortened(text_of(item.values[0])) for item in own[:1]]


def _files(trial: Trial, wanted: dict[str, str], *, is_all: bool) -> Files | None:
    """
    Args:
        is_all: whether only the files are learned.

    Returns:
        ``None`` where no selector gives the files.

    Raises:
        LearnError: the page does not show what was given; or nothing was learned.
    """
    sample = trial.samples[0]
    for name, seen in wanted.items():
        if not found_in(sample, name, seen):
            near = _links(sample, seen) if name in LINK_KEYS else nearest_texts(sample, seen)
            hint = f" Nearest: {' | '.join(map(shortened, near))}." if near else ""
            raise LearnError(f"resource.{name}: {shortened(seen)!r} is not on {sample.address}.{hint}")
    if next(rows(sample, wanted), None) is None:
        raise LearnError("resource: no element of the page has all that was given of one file.")
    found = files(trial, wanted)
    if found is None and is_all:
        raise LearnError(_NO_FILES)
    return found


def _links(sample: Sample, seen: str) -> list[str]:
    """Return the addresses on the page that are most similar to one."""
    links = [sample.page.absolute(place.text) for place in sample.places if place.attr == "href"]
    aim = sample.page.absolute(seen) or seen
    return difflib.get_close_matches(aim, list(dict.fromkeys(filter(None, links)))[:_MOST_LINKS], n=3)


def _structured(sample: Sample) -> Iterator[str]:
    if schema_org.records(sample.page.root, sample.page.url):
        yield "schema.org"
    kinds = ("rdf+xml", "turtle", "ld+json", "n-triples", "trig")
    for link in sample.css("link[rel~='alternate'][type]"):
        if any(kind in link.get("type") for kind in kinds):
            yield f"RDF ({link.get('type')})"
