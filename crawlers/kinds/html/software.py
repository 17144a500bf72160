"""Software whose pages are known: rules that ship, told by signs of its own; see ``layouts/``."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

import tomlkit

from crawlers.kinds.html.mapping.document import Search, read
from crawlers.kinds.html.rules import compiled, field_rule, from_css, loads
from crawlers.records.tables import toml_table

if TYPE_CHECKING:
    from crawlers.kinds.html.rules import Rules
    from crawlers.records.html_page import Page

_FOLDER = "layouts"
_RULES = ("links", "paging", "fields", "extras", "resources")


@dataclass(frozen=True, slots=True)
class Software:
    """
    Args:
        name: the file's.
        title: what people call it.
        signs: CSS or XPath of what only its pages have; one of them is enough.
        tables: of a rules file, ``[fields]`` and the like; none where its pages are not read.
        api: the command that reads the whole catalogue by its API, with ``{portal}``.
        root: RE2; what of a page's address is the portal's, its first group. Without it, or elsewhere: the host.
        start: the listing's address, behind that of the portal.
        version: where a page says it, as a field.
        number: the version that a page said.
    """

    name: str
    title: str
    signs: tuple[str, ...]
    tables: dict[str, Any]
    api: str
    root: str | None = None
    start: str = "/"
    version: Any = None
    number: str | None = None

    @property
    def called(self) -> str:
        """Its title, and its version where the page says it."""
        return f"{self.title} {self.number}" if self.number else self.title

    def portal(self, address: str) -> str:
        """Return the portal's address, by that of a page; without a slash at the end."""
        found = compiled(self.root).search(address) if self.root else None
        return str(found[1]) if found else urljoin(address, "/").rstrip("/")

    def listing(self, address: str) -> str:
        """Return the listing's address, by that of a page."""
        return f"{self.portal(address)}{self.start}"

    def rules(self, address: str) -> Rules:
        """Return its rules file for the portal of a page."""
        return loads(tomlkit.dumps({"start": self.listing(address), **self.tables}))

    def advice(self, address: str) -> str:
        """Return a sentence on its API, with the command for the portal of a page."""
        command = self.api.format(portal=shlex.quote(self.portal(address)))
        return f"{self.called} has an API, which gives more than its pages, in fewer requests: {command}"


@cache
def every() -> tuple[Software, ...]:
    """Return the software that is known, by name."""
    files = resources.files(__package__).joinpath(_FOLDER).iterdir()
    return tuple(_software(name) for name in sorted(each.name for each in files) if name.endswith(".toml"))


def _software(name: str) -> Software:
    table = toml_table(__package__, f"{_FOLDER}/{name}")
    tables = {key: table.pop(key) for key in _RULES if key in table}
    signs = tuple(each if each.startswith("/") else from_css(each, name) for each in table["signs"])
    return Software(name.removesuffix(".toml"), tables=tables, **table | {"signs": signs})


def known(page: Page) -> Software | None:
    """Return the software that made a page, by its signs; ``None`` if it is not known."""
    found = next((each for each in every() if any(page.find(sign, limit=1) for sign in each.signs)), None)
    if found is None or found.version is None:
        return found
    rule = field_rule("version", found.version, "version")
    said = read(page, rule, Search(page, (rule,)), None)
    return replace(found, number=said["value"]) if said else found
