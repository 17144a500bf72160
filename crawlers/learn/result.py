"""Rules learned from pages."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from crawlers.exceptions import CrawlersError, hint
from crawlers.learn import dated, labelled, places
from crawlers.learn.field import learned
from crawlers.learn.resources import Files, files, found_in, rows
from crawlers.learn.texts import shortened
from crawlers.learn.trial import Trial
from crawlers.learn.wanted import Wanted
from crawlers.mapping import schema_org
from crawlers.mapping.html.beside import written
from crawlers.mapping.html.page import text
from crawlers.mapping.html.surroundings import is_outside
from crawlers.mapping.html.synonyms import fields
from crawlers.mapping.html.wording import key
from crawlers.rules.field import LINK_KEYS
from crawlers.rules.rules import FIELDS, RESOURCE_FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from crawlers.learn.candidate import Learned
    from crawlers.learn.listing import Listing
    from crawlers.learn.sample import Sample

NAMES = (*FIELDS, *(f"resource.{name}" for name in RESOURCE_FIELDS))
"""What ``--value`` may name."""

_FILE = "resource."
_MOST_LINKS = 500
_NO_FILES = "The files were not learned: no selector tells them from the rest of the page. Write [resources] yourself."


class LearnError(CrawlersError):
    """A value or label is not on the sample page, or its field is unknown; raised by `learn` and `check`."""


@dataclass(frozen=True, slots=True)
class Result:
    """
    Args:
        samples: the addresses of the pages, the sample first.
        structured: what the sample has of structured data, for people.
        guessed: whether no value was given: labels alone tell the fields.
        warnings: what could not be learned, a sentence each.
    """

    samples: tuple[str, ...]
    fields: tuple[Learned, ...]
    files: Files | None = None
    listing: Listing | None = None
    structured: tuple[str, ...] = field(default=())
    guessed: bool = False
    warnings: tuple[str, ...] = field(default=())


def check(names: Sequence[str]) -> None:
    """
    Raises:
        LearnError: a field is unknown; the message names a likely one.
    """
    for name in names:
        if name not in NAMES:
            raise LearnError(f"There is no field {name!r}.{hint(name, NAMES)} There are: {', '.join(NAMES)}.")


def learn(samples: list[Sample], values: Mapping[str, Sequence[str]], labels: Mapping[str, str]) -> Result:
    """The best rule for each field that a user has seen on the first page, borne out by the others.

    Args:
        values: what is seen of each field; ``resource.url`` and its like are of one file.
        labels: what stands beside or above a value.

    Raises:
        LearnError: a field is unknown, or what is said to be on the page is not.
    """
    check([*values, *labels])
    trial = Trial(samples)
    guessed = not values and not labels
    names = [name for name in (*FIELDS, *labels) if name in values or name in labels]
    found = _guessed(trial) if guessed else [_field(trial, name, values, labels) for name in dict.fromkeys(names)]
    seen = {name.removeprefix(_FILE): texts[0] for name, texts in values.items() if name.startswith(_FILE)}
    resources = _files(trial, seen, is_all=not names) if seen else None
    return Result(
        samples=tuple(sample.address for sample in samples),
        fields=tuple(_dated(list(found), values, samples[0].page.language)),
        files=resources,
        warnings=() if resources or not seen else (_NO_FILES,),
        structured=tuple(_structured(samples[0])),
        guessed=guessed,
    )


def _dated(found: list[Learned], values: Mapping[str, Sequence[str]], language: str | None) -> list[Learned]:
    """A page writes all its dates alike: what the numbers of one tell holds for the others."""
    shown = {one.name: [text for texts in one.given for text in texts] for one in found if "date" in one.table}
    seen = {name: next(iter(values.get(name, ())), "") for name in shown}
    may_be = {name: dated.orders(texts, seen[name], language) for name, texts in shown.items()}
    told = {orders[0] for orders in may_be.values() if len(orders) == 1}
    order = told.pop() if len(told) == 1 else None
    dates = [one for one in found if one.name in shown]
    ordered = {one.name: _in_order(one, order, shown[one.name], seen[one.name], language) for one in dates}
    return [ordered.get(one.name, one) for one in found]


def _in_order(one: Learned, told: str | None, shown: list[str], seen: str, language: str | None) -> Learned:
    """
    Args:
        told: the order that another date of the page proves.
    """
    order = told or one.table["date"]
    one = replace(one, table={**one.table, "date": order})
    if unread := dated.unread(shown, language, order):
        return _doubted(one, f"{shortened(unread, 40)!r} is no date that can be read", 0.5)
    if told is None and (day := dated.taken(shown, seen, language, order)):
        return _doubted(one, f"{shortened(shown[0], 40)!r} is taken for {day}", 0.9)
    return one


def _doubted(one: Learned, why: str, factor: float) -> Learned:
    return replace(one, sure=round(one.sure * factor, 2), why=(*one.why, why))


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
    texts = {one.key: one.text for one in labelled.known(sample, label)}
    if key(label) in texts:
        return
    close = [texts[one] for one in difflib.get_close_matches(key(label), texts, n=3, cutoff=0.5)]
    near = f" The nearest labels there: {', '.join(close)}." if close else ""
    raise LearnError(f"{name}: {sample.address} has no label {label!r} with a value.{near}")


def _absent(sample: Sample, wanted: Wanted) -> str:
    if wanted.label and wanted.values:
        return f"{wanted.name}: the label {wanted.label!r} does not give {shortened(wanted.values[0])!r}."
    if wanted.label:
        return f"{wanted.name}: the label {wanted.label!r} has no value."
    missing = next((one for one in wanted.values if not _is_there(sample, one)), None)
    if missing is None:
        missing = wanted.seen
        return f"{wanted.name}: no rule finds {shortened(missing)!r} and nothing else; give fewer values, or a label."
    near = [*_beside_labels(sample, wanted.name), *map(shortened, places.hints(sample, missing))]
    hint = f" The nearest texts there: {' | '.join(near)}." if near else ""
    empty = ' The page is empty until scripts have run: it may need browser = "datasets".' if sample.looks_empty else ""
    return f"{wanted.name}: {shortened(missing)!r} is not on {sample.address}.{hint}{empty}"


def _is_there(sample: Sample, value: str) -> bool:
    return bool(places.equal(sample, value) or places.containing(sample, value))


def _beside_labels(sample: Sample, name: str) -> list[str]:
    """What the page shows beside a label that is usually the field's."""
    own = [one for one in labelled.known(sample) if name in fields().get(one.key, ())]
    return [shortened(written(one.values[0])) for one in own[:1]]


def _guessed(trial: Trial) -> Iterator[Learned]:
    """What labels alone tell, and ``h1`` as the title."""
    sample = trial.samples[0]
    inside = (one for one in labelled.known(sample) if not is_outside(one.element))
    owners = {one.text: fields().get(one.key, ()) for one in inside}
    for name in FIELDS:
        label = next((shown for shown, names in owners.items() if names[:1] == (name,)), None)
        heading = name == "title" and len(sample.css("h1")) == 1
        seen = (text(sample.css("h1")[0]),) if heading else ()
        wanted = Wanted(name, seen, language=sample.page.language)
        found = learned(trial, wanted) if heading else None
        if found is None and label:
            found = learned(trial, replace(wanted, values=(), label=label))
        if found:
            yield found


def _files(trial: Trial, wanted: dict[str, str], *, is_all: bool) -> Files | None:
    """
    Args:
        is_all: whether nothing else is to be learned.

    Returns:
        ``None`` where no selector gives the files.

    Raises:
        LearnError: the page does not show what was given; or there are no rules at all.
    """
    sample = trial.samples[0]
    for name, seen in wanted.items():
        if not found_in(sample, name, seen):
            near = _links(sample, seen) if name in LINK_KEYS else places.hints(sample, seen)
            hint = f" Nearest: {' | '.join(map(shortened, near))}." if near else ""
            raise LearnError(f"resource.{name}: {shortened(seen)!r} is not on {sample.address}.{hint}")
    if next(rows(sample, wanted), None) is None:
        raise LearnError("resource: no element of the page has all that was given of one file.")
    found = files(trial, wanted)
    if found is None and is_all:
        raise LearnError(_NO_FILES)
    return found


def _links(sample: Sample, seen: str) -> list[str]:
    """The addresses on the page that are most like one."""
    links = [sample.page.absolute(one.text) for one in sample.places if one.attr == "href"]
    aim = sample.page.absolute(seen) or seen
    return difflib.get_close_matches(aim, list(dict.fromkeys(filter(None, links)))[:_MOST_LINKS], n=3)


def _structured(sample: Sample) -> Iterator[str]:
    if schema_org.records(sample.page.root, sample.page.url):
        yield "schema.org"
    kinds = ("rdf+xml", "turtle", "ld+json", "n-triples", "trig")
    for link in sample.css("link[rel~='alternate'][type]"):
        if any(kind in link.get("type") for kind in kinds):
            yield f"RDF ({link.get('type')})"
