"""Rules learned from pages."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import CrawlersError, hint
from crawlers.kinds.html.mapping.document import document
from crawlers.kinds.html.mapping.labels import text_of
from crawlers.kinds.html.mapping.vocabulary import fields, key
from crawlers.kinds.html.rules import FIELDS, LINK_KEYS, RESOURCE_FIELDS
from crawlers.kinds.html.software import known
from crawlers.operate.learn import labelled
from crawlers.operate.learn.candidates import Learned, Trial, texts
from crawlers.operate.learn.fields import learned
from crawlers.operate.learn.files import Files, files, places, rows, unaided_files
from crawlers.operate.learn.sample import Wanted, containing_places, equal_places, nearest_texts
from crawlers.operate.learn.signs import unaided
from crawlers.operate.learn.texts import ambiguous_day, date_orders, shortened, unreadable_date
from crawlers.records import schema_org

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from crawlers.items import Document
    from crawlers.kinds.html.rules import Where
    from crawlers.kinds.html.software import Software
    from crawlers.operate.learn.listing import Listing
    from crawlers.operate.learn.sample import Sample

NAMES = (*FIELDS, *(f"resource.{name}" for name in RESOURCE_FIELDS))
"""What ``--value`` may name."""

ALL_FILES = "resources"
"""What ``--without`` may name besides."""

_FILE = "resource."
_MOST_LINKS = 500
_NO_FILES = "The files were not learned: no selector finds them and nothing else. Write [resources] yourself."


class LearnError(CrawlersError):
    """A value or label is not on the sample page, or its field is unknown; raised by `learn` and `check_names`."""


@dataclass(frozen=True, slots=True)
class Result:
    """
    Args:
        samples: the addresses of the pages, the sample first.
        structured: the sample's kinds of structured data, as text.
        said: the fields that the user has named; the others are what the pages say by themselves.
        left_out: fields that were found on too few of the further pages.
        others: further rules that give another value of a field and are as sure, by the field.
        warnings: what could not be learned, a sentence each.
        encoding: of the pages, where the user has named it.
        browser: which pages scripts fill.
        software: what made the pages, if it is known.
    """

    samples: tuple[str, ...]
    fields: tuple[Learned, ...]
    files: Files | None = None
    listing: Listing | None = None
    structured: tuple[str, ...] = ()
    said: frozenset[str] = frozenset()
    left_out: tuple[Learned, ...] = ()
    others: Mapping[str, Sequence[Learned]] = field(default_factory=dict)
    encoding: str | None = None
    warnings: tuple[str, ...] = ()
    browser: tuple[Where, ...] = ()
    software: Software | None = None


def check_names(names: Iterable[str], without: Iterable[str] = ()) -> None:
    """
    Raises:
        LearnError: a field is unknown; the message suggests a similar name.
    """
    for name in (*names, *(each for each in without if each != ALL_FILES)):
        if name not in NAMES:
            raise LearnError(f"There is no field {name!r}.{hint(name, NAMES)} There are: {', '.join(NAMES)}.")


def learn(
    samples: list[Sample], values: Mapping[str, Sequence[str]], labels: Mapping[str, str], without: Sequence[str] = ()
) -> Result:
    """Return the best rule for each field that the first page shows, confirmed by the others.

    What the user has seen corrects what the page says by itself, and adds to it.

    Args:
        values: what is seen of each field; ``resource.url`` and its like are of one file.
        labels: what stands beside or above a value.
        without: the fields that are not to be learned; ``resources`` are all files.

    Raises:
        LearnError: a field is unknown, or a value is not on the page.
    """
    check_names([*values, *labels], without)
    trial, template = Trial(samples), Template(samples)
    seen = {name.removeprefix(_FILE): texts[0] for name, texts in values.items() if name.startswith(_FILE)}
    resources = None if ALL_FILES in without else _files(trial, template, seen)
    if resources:
        kept = {name: table for name, table in resources.tables.items() if f"{_FILE}{name}" not in without}
        resources = replace(resources, tables=kept)
    said = dict.fromkeys(name for name in (*FIELDS, *labels) if name in values or name in labels)
    found = {name: _field(trial, name, values, labels) for name in said if name not in without}
    asked = [name for name in FIELDS if name not in said and name not in without]
    alone = unaided(
        trial, resources.elements if resources else (), [name for name in asked if name not in template.found]
    )
    taken = {rule.selector for rule in found.values()}  # a person has said whose value that is
    unsaid = (rule for rule in template.fields(alone.fields) if rule.name in asked and rule.selector not in taken)
    found |= {rule.name: rule for rule in unsaid}
    rules = [found[name] for name in dict.fromkeys((*FIELDS, *said)) if name in found]
    return Result(
        samples=tuple(sample.address for sample in samples),
        fields=tuple(_dated(rules, values, samples[0].page.language)),
        files=resources,
        warnings=() if resources or not seen else (_NO_FILES,),
        structured=tuple(_structured(samples[0])),
        said=frozenset([*values, *labels]),
        left_out=tuple(rule for rule in alone.left_out if rule.name not in found),
        others=alone.others,
        software=template.software,
    )


def _dated(found: list[Learned], values: Mapping[str, Sequence[str]], language: str | None) -> list[Learned]:
    """Return the rules with one order for all dates: if a date proves the order, it holds for the others."""
    shown = {
        item.name: [text for texts in item.given for text in texts]
        for item in found
        if "date" in item.table and item.by != _BY
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
    close = [texts[each] for each in difflib.get_close_matches(key(label), texts, n=3, cutoff=0.5)]
    near = f" The nearest labels there: {', '.join(close)}." if close else ""
    raise LearnError(f"{name}: {sample.address} has no label {label!r} with a value.{near}")


def _absent(sample: Sample, wanted: Wanted) -> str:
    if wanted.label and wanted.values:
        return f"{wanted.name}: the label {wanted.label!r} does not give {shortened(wanted.values[0])!r}."
    if wanted.label:
        return f"{wanted.name}: the label {wanted.label!r} has no value."
    unseen = (each for each in wanted.values if not (equal_places(sample, each) or containing_places(sample, each)))
    if (missing := next(unseen, None)) is None:
        missing = wanted.seen
        return f"{wanted.name}: no rule finds {shortened(missing)!r} and nothing else; give fewer values, or a label."
    own = (text_of(each.values[0]) for each in labelled.known(sample) if wanted.name in fields().get(each.key, ()))
    near = [shortened(each) for each in (*islice(own, 1), *nearest_texts(sample, missing))]
    hint = f" The nearest texts there: {' | '.join(near)}." if near else ""
    empty = ' The page is empty until scripts have run: it may need browser = "datasets".' if sample.looks_empty else ""
    return f"{wanted.name}: {shortened(missing)!r} is not on {sample.address}.{hint}{empty}"


def _files(trial: Trial, template: Template, wanted: dict[str, str]) -> Files | None:
    """
    Returns:
        ``None`` where no selector gives the files.

    Raises:
        LearnError: the page does not show what was given.
    """
    sample = trial.samples[0]
    if not wanted:
        return template.files or (None if template.is_service else unaided_files(trial))
    seen = places(sample, wanted)
    for name, text in wanted.items():
        if not seen[name]:
            near = _links(sample, text) if name in LINK_KEYS else nearest_texts(sample, text)
            hint = f" Nearest: {' | '.join(map(shortened, near))}." if near else ""
            raise LearnError(f"resource.{name}: {shortened(text)!r} is not on {sample.address}.{hint}")
    if next(rows(seen), None) is None:
        raise LearnError("resource: no element of the page has all that was given of one file.")
    return unaided_files(trial, wanted, seen) or files(trial, wanted)


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


# What the rules of known software give on the sample pages: it comes before any guess


_BY = "template"  # what finds its rules
_LINKED = 0.97


class Template:
    """
    Args:
        samples: the pages; the first shows which software it is.

    Attributes:
        software: what made the pages; ``None`` if it is not known.
        found: the rules that find their field on a sample page.
    """

    def __init__(self, samples: list[Sample]) -> None:
        self.software: Software | None = known(samples[0].page)
        self._tables: dict[str, Any] = self.software.tables if self.software else {}
        self._documents: list[Document] = []
        self._files: list[Any] = []
        if self.software and self._tables:
            rules = self.software.rules(samples[0].address)
            self._documents = [document(sample.page, rules) for sample in samples]
            self._files = samples[0].page.find(rules.resources.xpath) if rules.resources else []
        shipped = (self._rule(name) for name in FIELDS)
        self._shipped = {rule.name: rule for rule in shipped if rule}
        self.found = {name: rule for name, rule in self._shipped.items() if any(rule.given)}

    @property
    def is_service(self) -> bool:
        """Whether the software is one whose pages are filled by scripts, and whose API has the files."""
        return self.software is not None and not self._tables

    def fields(self, guessed: Iterable[Learned]) -> list[Learned]:
        """Return its rules, and what was guessed of fields that it does not find.

        Of pages that have the title where the software shows it, labels alone are a guess: a portal has added them.
        What the software gives to a field is no other's.
        """
        taken = {value for rule in self.found.values() for given in rule.given for value in given}
        new = (rule for rule in guessed if not taken.issuperset(value for given in rule.given for value in given))
        guesses = {rule.name: rule for rule in new if "title" not in self.found or "label" in rule.table}
        rules = {**self._shipped, **guesses, **self.found}
        return [rules[name] for name in FIELDS if name in rules]

    def _rule(self, name: str) -> Learned | None:
        """Return the rule of a field; ``None`` if the software has none for it."""
        written = self._tables.get("fields", {}).get(name)
        if written is None:
            return None
        entries = [each["fields"].get(name) for each in self._documents]
        given = [texts(each["value"]) if each else [] for each in entries]
        sure = min((each["confidence"] for each in entries if each), default=0.0)
        first, *further = written if isinstance(written, list) else [written]
        table = {"css": first} if isinstance(first, str) else first
        held = tuple(number for number, shown in enumerate(given[1:], 2) if shown)
        return Learned(name, table, _BY, given, sure, (), held, tuple(further))

    @property
    def files(self) -> Files | None:
        """The rules of the files; ``None`` if no sample page has any."""
        counts = [len(each["resources"]) for each in self._documents]
        if not any(counts):
            return None
        tables = dict(self._tables["resources"])
        how = {name: tables.pop(name) for name in ("css", "xpath") if name in tables}
        first = next(each["resources"][0] for each in self._documents if each["resources"])
        shown = {name: " ".join(texts(each["value"])) for name, each in first.items()}
        return Files(how, tables, counts, shown, _LINKED, elements=tuple(self._files))
