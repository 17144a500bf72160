"""``scrapy sources known``: public portals by name, of every kind, so that one can be added without its address."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import Any

from crawlers.exceptions import SourcesError, with_command
from crawlers.operate.console import MISTAKE
from crawlers.operate.sources.file import Call
from crawlers.records.tables import csv_rows
from crawlers.store.run_text import table

_NEAR = 5
_LIKE = 0.8
_HEAD = ("name", "kind", "country", "address", "its list says", "title")


@dataclass(frozen=True, slots=True)
class Portal:
    """A row of ``crawlers/kinds/registry.csv``.

    Args:
        country: its code (ISO 3166-1), empty if it is unknown.
        arguments: what the kind's spider needs to know besides the address, as NAME=VALUE words.
        provenance: the lists that have it.
        listed_datasets: how many datasets its list says that it has, as digits; empty if it does not say.
        enabled: False if its list does not harvest it; empty if it does, or does not say.
    """

    name: str
    title: str
    country: str
    kind: str
    arguments: str
    address: str
    provenance: str
    listed_datasets: str = ""
    enabled: str = ""

    @property
    def given(self) -> dict[str, str]:
        """The spider's arguments besides the address."""
        return dict(word.split("=", 1) for word in self.arguments.split())

    @property
    def kinds(self) -> tuple[str, ...]:
        """The names that its kind goes by: ``api``, ``opendatasoft``."""
        return (self.kind, *self.given.values())

    def has(self, text: str) -> bool:
        """Return whether the name, the title or the address contains a text, in any case."""
        return text.casefold() in f"{self.name}\n{self.title}\n{self.address}".casefold()

    def row(self) -> tuple[str, ...]:
        """Return the row of the table."""
        kinds, country, title = " ".join(self.kinds), self.country or "-", self.title or "-"
        return self.name, kinds, country, self.address, ", ".join(self.doubts) or "-", title

    @property
    def doubts(self) -> tuple[str, ...]:
        """What its list says that speaks against it."""
        said = {"0 datasets": self.listed_datasets == "0", "not enabled": self.enabled == "False"}
        return tuple(what for what, is_said in said.items() if is_said)


def portals() -> list[Portal]:
    """Return all portals of the registry, by name."""
    return [Portal(*row) for row in csv_rows("crawlers.kinds", "registry.csv")]


def search(text: str = "", country: str | None = None, kind: str | None = None) -> list[Portal]:
    """Return the portals that contain a text, are in a country, and are of a kind.

    Raises:
        SourcesError: no portal is of that kind, or in that country.
    """
    found = portals()
    _check("kind", kind, {name for portal in found for name in portal.kinds})
    _check("country", country and country.upper(), {portal.country for portal in found} - {""})
    return [
        portal
        for portal in found
        if portal.has(text)
        and (kind is None or kind in portal.kinds)
        and (country is None or portal.country == country.upper())
    ]


def _check(what: str, value: str | None, names: Iterable[str]) -> None:
    if value is not None and value not in names:
        there = ", ".join(sorted(names))
        raise SourcesError(f"The registry has no portal of the {what} {value[:100]!r}. There are: {there}.")


def portal(name: str) -> Portal:
    """Return the portal of a name.

    Raises:
        SourcesError: there is none; the message names similar ones.
    """
    found = {portal.name: portal for portal in portals()}
    if name in found:
        return found[name]
    contain = [portal.name for portal in found.values() if name and portal.has(name)]
    near = [*dict.fromkeys((*get_close_matches(name, found, cutoff=_LIKE), *contain))]
    raise SourcesError(f"The registry has no portal {name[:100]!r}. {_meant(near)}")


def _meant(near: Sequence[str]) -> str:
    """Return the sentence that names similar portals."""
    if not near:
        return "`scrapy sources known TEXT` searches it."
    more = f" and {len(near) - _NEAR} others, which `scrapy sources known TEXT` lists" if len(near) > _NEAR else ""
    return f"Did you mean {near[0]}?" if len(near) == 1 else f"Similar are: {', '.join(near[:_NEAR])}{more}."


def as_json(found: Sequence[Portal]) -> str:
    """Return portals as a JSON array, with all that the registry says."""
    return json.dumps([_plain(portal) for portal in found], indent=2, ensure_ascii=False)


def _plain(portal: Portal) -> dict[str, Any]:
    listed = int(portal.listed_datasets) if portal.listed_datasets else None
    said = {"listed_datasets": listed, "enabled": False if portal.enabled == "False" else None}
    return asdict(portal) | {"arguments": portal.given} | said


def print_known(call: Call) -> int:
    """Print the portals of the registry that contain a text."""
    found = search("".join(call.names), call.opts.country, call.opts.kind)
    if call.opts.json:
        print(as_json(found))
    elif found:
        print("\n".join(table([_HEAD, *(portal.row() for portal in found)], colours=False)))
    else:
        print(with_command("No portal of the registry matches: scrapy sources known lists all of them."))
    return 0 if found else MISTAKE
