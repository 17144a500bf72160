"""What an operator leaves out of a source, and the fields that the operator sets: exclude, defaults, overrides.

Each is a table of sources.toml, or the same as JSON after ``-a``. Documents stay as they are published.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self, TypeVar

from crawlers.exceptions import RulesError, hint
from crawlers.items import Agent, Dataset, License

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from crawlers.records.toml import Table

KEYS = ("exclude", "defaults", "overrides")
PATTERNED = ("id", "name", "title", "description", "publisher", "license", "landing_page", "metadata_url", "keywords")
"""The fields of a dataset that a pattern may be about."""
_LONGEST = 1000  # characters of a pattern
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Exclusion:
    """The datasets that are left out: those that one of these is true of.

    Args:
        publisher: names or addresses of publishers, in any case.
        tag: keywords, in any case.
        format: the dataset has resources, and all of them have one of these formats.
        pattern: a regular expression (RE2) that is found in a field, by the field's name.
    """

    publisher: frozenset[str] = frozenset()
    tag: frozenset[str] = frozenset()
    format: frozenset[str] = frozenset()
    pattern: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, table: Table) -> Self:
        """
        Raises:
            RulesError: a key is unknown, or its value is invalid.
        """
        publisher, tag, formats = (
            frozenset(map(str.casefold, table.texts(name))) for name in ("publisher", "tag", "format")
        )
        patterns = table.table("pattern")
        table.end()
        return cls(publisher, tag, formats, dict(_patterns(patterns)) if patterns else {})

    def __bool__(self) -> bool:
        return bool(self.publisher or self.tag or self.format or self.pattern)

    def matches(self, item: Dataset) -> bool:
        """Return whether the dataset is left out."""
        publisher = item.publisher
        if self.publisher and publisher and self.publisher & set(_folded(publisher.name, publisher.uri)):
            return True
        if self.tag and self.tag & set(_folded(*item.keywords)):
            return True
        if self.format and item.resources and {(one.format or "").casefold() for one in item.resources} <= self.format:
            return True
        return any(pattern.search(text) for name, pattern in self.pattern.items() for text in _texts(item, name))


@dataclass(frozen=True, slots=True)
class Fields:
    """The values of fields that the operator sets; ``None`` and an empty list leave a field as it is."""

    license: License | None = None
    publisher: Agent | None = None
    languages: list[str] = field(default_factory=list)
    keywords: list[str] = field(default_factory=list)

    @classmethod
    def parse(cls, table: Table) -> Self:
        """
        Raises:
            RulesError: a key is unknown, or its value is invalid.
        """
        license_, publisher = table.text("license"), table.text("publisher")
        found = cls(
            license=_license(license_) if license_ else None,
            publisher=Agent(name=publisher, role="publisher") if publisher else None,
            languages=[_language(table.name("language"), text) for text in table.texts("language")],
            keywords=list(table.texts("tags")),
        )
        table.end()
        return found

    def items(self) -> Iterator[tuple[str, Any]]:
        """Yield the name and the value of each field that is set."""
        values = ((one.name, getattr(self, one.name)) for one in fields(self))
        return ((name, value) for name, value in values if value)


@dataclass(frozen=True, slots=True)
class Curation:
    """What the operator of a source changes.

    Args:
        exclude: the datasets that are left out.
        defaults: values of fields that a dataset lacks.
        overrides: values that replace those of a dataset.
    """

    exclude: Exclusion = field(default_factory=Exclusion)
    defaults: Fields = field(default_factory=Fields)
    overrides: Fields = field(default_factory=Fields)

    @classmethod
    def from_arguments(cls, arguments: Mapping[str, str]) -> Self:
        """Return the curation of a run's arguments.

        Raises:
            ValueError: one is invalid.
        """
        return cls(**{name: parse(arguments[name]) for name, parse in PARSERS.items() if arguments.get(name)})

    @property
    def sets_fields(self) -> bool:
        """Return whether it sets a field of any dataset."""
        return any(True for fields_ in (self.defaults, self.overrides) for _ in fields_.items())

    def amend(self, item: Dataset) -> None:
        """Set the fields of a mapped dataset, and note their names."""
        absent = {name: value for name, value in self.defaults.items() if not getattr(item, name)}
        for name, value in (absent | dict(self.overrides.items())).items():
            setattr(item, name, list(value) if isinstance(value, list) else value)
            item.set_by_operator = [*item.set_by_operator, name]


def exclude(text: str) -> Exclusion:
    """
    >>> exclude('{"tag": ["Test"]}').matches(Dataset(source="a", id="1", keywords=["test"]))
    True
    """
    return _parsed(text, Exclusion.parse, '{"tag": ["test"]}')


def set_fields(text: str) -> Fields:
    """
    >>> set_fields('{"language": "German", "license": "cc-by-4.0"}').languages
    ['de']
    """
    return _parsed(text, Fields.parse, '{"license": "CC-BY-4.0"}')


PARSERS: dict[str, Callable[[str], Any]] = {"exclude": exclude, "defaults": set_fields, "overrides": set_fields}
"""What reads the value of each argument; raises ValueError."""


def argument(name: str, table: Mapping[str, Any]) -> str:
    """Return a table of sources.toml as the argument of a spider: always the same text for the same content.

    Raises:
        RulesError: a key is unknown, or its value is invalid.
    """
    (Exclusion if name == "exclude" else Fields).parse(_table(table, name))
    return json.dumps(table, sort_keys=True, ensure_ascii=False)


def _parsed(text: str, parse: Callable[[Table], T], example: str) -> T:
    try:
        content = json.loads(text)
        if isinstance(content, dict):
            return parse(_table(content))
    except RulesError as error:
        raise ValueError(f"a valid table: {str(error).rstrip('.')}") from None
    except (ValueError, RecursionError):
        pass
    raise ValueError(f"a table as JSON, such as {example}")


def _table(content: Mapping[str, Any], path: str = "") -> Table:
    from crawlers.records.toml import Table  # noqa: PLC0415 -- few crawls need it, and every crawl imports this module

    return Table(content, path)


def _patterns(table: Table) -> Iterator[tuple[str, Any]]:
    for name in list(table.left):
        text = table.text(name)
        if name not in PATTERNED:
            there = ", ".join(PATTERNED)
            raise RulesError(
                f"{table.name(name)}: a pattern can't be about this.{hint(name, PATTERNED)} There are: {there}."
            )
        if text:
            yield name, _pattern(table.name(name), text)


def _pattern(where: str, text: str) -> Any:
    import re2  # noqa: PLC0415 -- as above

    quiet = re2.Options()
    quiet.log_errors = False
    try:
        if len(text) <= _LONGEST:
            return re2.compile(text, quiet)
        raise RulesError(f"{where} has more than {_LONGEST} characters.")
    except re2.error as error:
        reason = error.args[0]
        reason = reason.decode(errors="replace") if isinstance(reason, bytes) else reason
        raise RulesError(f"{where} is not a regular expression (RE2): {reason}.") from None


def _license(text: str) -> License:
    from crawlers.records import licenses  # noqa: PLC0415 -- as above

    return licenses.license(text) or License(title=text)


def _language(where: str, text: str) -> str:
    from crawlers.records import languages  # noqa: PLC0415 -- as above

    tag = languages.language(text)
    if tag is None:
        raise RulesError(f'{where}: {text[:100]!r} is not a language such as "de".')
    return tag


def _folded(*texts: str | None) -> list[str]:
    return [text.casefold() for text in texts if text]


def _texts(item: Dataset, name: str) -> list[str]:
    """Return the texts of a field."""
    value = getattr(item, name)
    if isinstance(value, Agent):
        return [text for text in (value.name, value.uri) if text]
    if isinstance(value, License):
        return [text for text in (value.id, value.uri, value.title) if text]
    return [text for text in (value if isinstance(value, list) else [value]) if text]
