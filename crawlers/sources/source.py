"""A source: a catalogue that is harvested under a name of yours; a table of sources.toml."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from crawlers.sources.schedule import Schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """
    Args:
        name: the table's name, and the folder's in OUTPUT_DIR.
        arguments: the spider's ``-a``, as text; ``source`` is the name.
        settings: Scrapy's ``-s``, as text or lists of texts.
        schedule: when it is due; ``None``: when it is named.
        contact: whom to ask at the catalogue when something is wrong; for people, it goes nowhere.
        enabled: whether ``--all`` and ``--due`` take it.
    """

    name: str
    spider: str
    arguments: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    schedule: Schedule | None = None
    contact: str | None = None
    enabled: bool = True
