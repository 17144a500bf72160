"""The keys that a table of sources.toml may have: keys.csv is their only list.

A table is checked by it, `scrapy sources edit` and `show` know what it has, and docs/sources.md shows it.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any, NamedTuple

from crawlers.exceptions import SourcesError
from crawlers.records.tables import csv_rows
from crawlers.records.toml import Table

_BOOLEANS = {"true": True, "false": False}
_LINK = re.compile(r"\[([^]]+)]\([^)]+\)")


class Key(NamedTuple):
    """A key of a source's table.

    Args:
        takes: a ``text``; a ``line``, which is a short text; ``texts``, one or a list; a ``boolean``; a ``table``.
        meaning: as Markdown.
        default: what counts where it is missing, as Markdown.
    """

    name: str
    takes: str
    meaning: str
    default: str

    def read(self, table: Table) -> Any:
        """Return what a table has, ``None`` or empty if nothing.

        Raises:
            RulesError: it is of another type.
        """
        if self.takes == "boolean":
            return table.typed(self.name, bool, self.default == "`true`")
        return {"texts": table.texts, "table": table.table}.get(self.takes, table.text)(self.name)


KEYS = {row[0]: Key(*row) for row in csv_rows(__package__, "keys.csv")}


def missing(table: dict[str, Any]) -> dict[str, str]:
    """Return the keys that a table does not have, and what counts for them."""
    return {key.name: _LINK.sub(r"\1", key.default).replace("`", "") for key in KEYS.values() if key.name not in table}


def change(words: list[str]) -> dict[str, Any]:
    """Return the change of a table that words such as ``archive=true`` and ``exclude.tag=test`` ask for.

    An empty value removes a key; one that begins with a bracket is a list, as in the file.

    Raises:
        SourcesError: a word is no change of a key.
    """
    changes: dict[str, Any] = {}
    for word in words:
        path, is_change, value = word.partition("=")
        key, *below = path.split(".", 1 if path.startswith(("arguments.", "settings.")) else -1)
        if not is_change or not all((key, *below)):
            raise SourcesError(f"{word[:100]!r} is not KEY=VALUE. The keys are: {', '.join(KEYS)}.")
        if key in KEYS and (KEYS[key].takes == "table") != bool(below):
            example = f"{key}.NAME=VALUE" if not below else f"{key}=VALUE"
            raise SourcesError(f"{word[:100]!r} is not {example}.")
        at = changes
        for above in [key, *below][:-1]:
            at = at.setdefault(above, {})
        at[[key, *below][-1]] = _value(key, value, word)
    return changes


def _value(key: str, text: str, word: str) -> Any:
    if text.startswith("["):
        try:
            return tomllib.loads(f"value = {text}")["value"]
        except ValueError:
            raise SourcesError(f"""{word[:100]!r} is no list. One is written so: '{key}=["a", "b"]'.""") from None
    if key in KEYS and KEYS[key].takes == "boolean" and text in _BOOLEANS:
        return _BOOLEANS[text]
    return text or None


def table() -> str:
    """Return the table of docs/sources.md."""
    rows = (f"| `{key.name}` | {key.meaning} | {key.default} |" for key in KEYS.values())
    return "\n".join(("| Key | Meaning | Default |", "|---|---|---|", *rows))
