"""The lenient reader of a record: any JSON may stand anywhere in it, and nothing here raises.

`Record` reads plain JSON objects, and every source is read in its words: ``text``, ``texts``, ``read``, ``url`` ...
Views know how another source holds its values: `crawlers.records.linked.LinkedRecord` those of data.json and
schema.org,
`crawlers.records.dcat.description.Description` those of a node in RDF, and
`crawlers.kinds.html.mapping.item.Entries` those that were found on a page.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING, Any, Self, TypeVar

from crawlers.exceptions import AnswerError
from crawlers.fields import specs
from crawlers.items import Flaw
from crawlers.records import values
from crawlers.records.markup import markdown
from crawlers.safety import bounds, strict_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from crawlers.fields import Vocabulary

T = TypeVar("T")

FLAWS = 20
"""A broken record lists this many flaws, then one sentence that there are more."""
MORE_FLAWS = Flaw("the record has more flaws than these", "more")

_EMPTY: tuple[Any, ...] = (None, "", [], {})
_POSITION = re.compile(r"\[[0-9]+\]$")
_RESOURCE = re.compile(r"(?:resources|distribution)\[[0-9]+\]\.")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]+)*")
_LONGEST_NUMBER = 10**30
_TYPES = {str: "a text", bool: "a boolean", int: "a number", float: "a number", list: "a list", dict: "an object"}


class Record:
    """Typed reading of one JSON object.

    ``data`` is the object; CKAN's ``extras``, in whatever form, are read as if they were fields of it. A value of the
    wrong type adds a flaw to ``flaws``, which the records inside this one share. ``path`` is the place of this
    record in the whole one: ``resources[3].``. Every getter takes names in order of preference and returns the first
    one's value.
    """

    __slots__ = ("data", "fields", "flaws", "path")

    def __init__(self, data: dict[str, Any], flaws: list[Flaw] | None = None, path: str = "") -> None:
        self.data = data
        self.flaws: list[Flaw] = [] if flaws is None else flaws
        self.path = path
        self.fields = data
        if "extras" in data:
            given = {name: value for name, value in data.items() if value or value not in _EMPTY}
            self.fields = _extras(self) | given

    def value(self, name: str) -> Any:
        """Return the field as it is, ``None`` where it is absent or empty."""
        found = self.fields.get(name)
        return found if found or found not in _EMPTY else None

    def text(self, *names: str) -> str | None:
        """Return the field as one text."""
        fields = self.fields
        for name in names:
            value = fields.get(name)
            if value is None:  # most fields of most records
                continue
            if isinstance(value, str):
                text = value.strip() or None if value.isascii() else values.text(value)
            else:
                text = None if value in _EMPTY else self.as_text(name, value)
            if text:
                return text
        return None

    def texts(self, *names: str) -> list[str]:
        """Return the texts of a list, of a list that JSON or PostgreSQL wrote, or one text; each once."""
        for name in names:
            value = self.value(name)
            if value is None:
                continue
            parts = self.first(name, listed(value))
            if found := list(dict.fromkeys(filter(None, [self.as_text(name, part) for part in parts]))):
                return found
        return []

    def read(self, reader: Callable[[str], T | None], *names: str) -> T | None:
        """Return what ``reader`` makes of the text. An unreadable text is not a flaw: catalogues are full of "n/a"."""
        fields = self.fields
        for name in names:
            value = fields.get(name)
            if value is None:
                continue
            text = value.strip() if isinstance(value, str) and value.isascii() else self.text(name)
            if text and (found := reader(text)) is not None:
                return found
        return None

    def date(self, *names: str) -> str | None:
        return self.read(values.date, *names)

    def url(self, *names: str) -> str | None:
        return self.read(values.url, *names)

    def email(self, *names: str) -> str | None:
        return self.read(values.email, *names)

    def markdown(self, *names: str) -> str | None:
        """Return the text with HTML turned into Markdown."""
        text = self.text(*names)
        return markdown(text) or None if text else None

    def objects(self, name: str) -> Iterator[Record]:
        """Yield the objects of a list; ``path`` keeps their position in it."""
        for place, value in self.items(name):
            if isinstance(value, dict):
                yield Record(value, self.flaws, f"{self.path}{place}.")
            else:
                self.mistyped(place, value, "an object")

    def items(self, name: str) -> list[tuple[str, Any]]:
        """Return the values of a list, each with its place: ``tags[0]``."""
        value = self.value(name)
        if isinstance(value, list):
            return [(f"{name}[{position}]", part) for position, part in enumerate(self.first(name, value))]
        if value is not None:
            self.mistyped(name, value, "a list")
        return []

    def first(self, name: str, entries: list[T]) -> list[T]:
        """Return the entries of a list that are read; a flaw says that there are more."""
        most = bounds.ENTRIES.most
        if len(entries) <= most:
            return entries
        self.flaw(
            f"{self.path}{name} has {len(entries):,} entries: the first {most:,} are read; the document has all",
            name,
            "cut_value",
        )
        return entries[:most]

    def flaw(self, sentence: str, place: str = "", kind: str = "unreadable_value") -> None:
        """Add a flaw once; of many the first `FLAWS`.

        Args:
            sentence: what is wrong.
            place: the field concerned, as it is named in this record: ``tags[0]``.
            kind: one of `crawlers.causes.FLAWS`.
        """
        note(self.flaws, Flaw(sentence, *_located(self, place, kind)))

    def mistyped(self, place: str, value: Any, wanted: str) -> None:
        """Add the flaw that a value is of another type than it should be."""
        self.flaw(f"{self.path}{place} is {_TYPES.get(type(value), 'null')}, not {wanted}", place)

    def as_text(self, place: str, value: Any) -> str | None:
        """Return one value as a text: a number written out, a list joined, a translation into English."""
        if isinstance(value, str):
            return values.text(value)
        if isinstance(value, int | float):
            return _number(value)
        if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
            return values.text("; ".join(value))
        found = translation(value, str) if isinstance(value, dict) else None
        if not found:
            self.mistyped(place, value, "a text")
        return found and values.text(found)


class Fields:
    """What reads the fields of an item from records of one vocabulary; only what a record has is read.

    Args:
        readers: for each field what reads it, called with the record and those of the names that the record has.
        names: what each field is called there, the preferred name first.
    """

    def __init__(self, readers: Mapping[str, Callable[..., Any]], names: Mapping[str, Sequence[str]]) -> None:
        self._readers = [(field, reader, tuple(names[field])) for field, reader in readers.items()]
        self.names = frozenset(name for _, _, each in self._readers for name in each)
        self._remembered = lru_cache(maxsize=256)(self._there)

    @classmethod
    def of(
        cls,
        item: type,
        vocabulary: Vocabulary,
        by_kind: Mapping[str, Callable[..., Any]],
        own: Mapping[str, Callable[..., Any]],
        *,
        more: Mapping[str, tuple[Callable[..., Any], Sequence[str]]] | None = None,
        without: Sequence[str] = (),
        spelled: Callable[[Sequence[str]], Sequence[str]] = tuple,
    ) -> Self:
        """Return what reads the fields of an item.

        Args:
            by_kind: what reads a field of each kind.
            own: what reads a field in a way of its own.
            more: what is read together, under a name of its own, or from other names.
            without: the fields that are read otherwise, as are all agents.
            spelled: gives the names as records have them.
        """
        left = {name for name, spec in specs(item).items() if spec.kind in {"agent", "agents"}} | {
            *without,
            *(more or {}),
        }
        known = {name: spec for name, spec in specs(item).items() if spec.names(vocabulary) and name not in left}
        readers = {name: own.get(name) or by_kind[spec.kind] for name, spec in known.items()}
        names = {name: spelled(spec.names(vocabulary)) for name, spec in known.items()}
        for name, (reader, others) in (more or {}).items():
            readers[name], names[name] = reader, others
        return cls(readers, names)

    def read(self, record: Any) -> dict[str, Any]:
        """Return the fields by name, without those that the record does not have."""
        given = self.names.intersection(record.fields)
        return {field: reader(record, *names) for field, reader, names in self._remembered(given)} if given else {}

    def _there(self, given: frozenset[str]) -> list[tuple[str, Callable[..., Any], list[str]]]:
        there = ((field, reader, list(filter(given.__contains__, names))) for field, reader, names in self._readers)
        return [each for each in there if each[2]]


def note(flaws: list[Flaw], flaw: Flaw) -> None:
    """Add a flaw to others, unless it is among them; of many the first `FLAWS`, then that there are more."""
    if flaw not in flaws and len(flaws) <= FLAWS:
        flaws.append(flaw if len(flaws) < FLAWS else MORE_FLAWS)


def _located(record: Record, place: str, kind: str) -> tuple[str, str, str | None]:
    """Return a flaw's field, kind and resource; a resource without an id is told by its position."""
    field = _POSITION.sub("", f"{record.path}{place}".removesuffix("."))
    inside = _RESOURCE.match(record.path)
    given = record.fields.get("id") if inside and inside.end() == len(record.path) else None
    if not isinstance(given, str) or not given:
        return field, kind, None
    return field[len(record.path) :], kind, given


def _extras(record: Record) -> dict[str, Any]:
    """Return the extras: CKAN lists ``{key, value}``, versions before 2.0 have one object."""
    given = record.data["extras"]
    if isinstance(given, dict):
        return given
    found = {}
    for place, extra in record.items("extras"):
        if not isinstance(extra, dict):
            record.mistyped(place, extra, "an object")
        elif isinstance(key := extra.get("key"), str):
            found[key] = _unquoted(extra.get("value"))
    return found


def parse(text: str) -> Any:
    """Return the JSON in a text, ``None`` where it is none.

    >>> parse('{"a": 1}')
    {'a': 1}
    >>> parse("[" * 100_000)
    """
    try:
        return strict_json.loads(text, bounds.NESTED)
    except (ValueError, AnswerError):
        return None


def _number(value: float) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    written = isfinite(value) if isinstance(value, float) else abs(value) < _LONGEST_NUMBER
    return str(value) if written else None


def _unquoted(value: Any) -> Any:
    """Return an extra of an old CKAN without quotes: these have a text as JSON."""
    if isinstance(value, str) and value[:1] == value[-1:] == '"':
        return parse(value) or value
    return value


def listed(value: Any) -> list[Any]:
    """Return the parts of a list, of a list as JSON or PostgreSQL write it, or of translations; else the value alone.

    >>> listed('["a", "b"]'), listed('{a,"b"}'), listed("a"), listed({"fr": ["c"], "en": ["d"]})
    (['a', 'b'], ['a', 'b'], ['a'], ['d'])
    """
    if isinstance(value, str):
        text = value = value.strip()
        if text.startswith("[") and isinstance(found := parse(text), list):
            value = found
        elif text.startswith("{") and text.endswith("}"):
            value = parse(text) or [part.strip(' "') for part in text[1:-1].split(",")]
    if isinstance(value, dict):
        value = translation(value, list) or value
    return value if isinstance(value, list) else [value]


def translation(value: dict[str, Any], kind: type[T]) -> T | None:
    """Return the English value of ckanext-fluent's ``{"en": ..., "fr": ...}``, else the first."""
    for key in ("en", *value):
        found = value.get(key)
        if found and isinstance(found, kind) and is_language(key):
            return found
    return None


def is_language(key: str) -> bool:
    """Return whether a key of an object may be the tag of a language."""
    return _LANGUAGE.fullmatch(key) is not None
