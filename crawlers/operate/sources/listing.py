"""``scrapy sources`` and ``scrapy sources known``: the sources as a table, and the portals of the registry."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from crawlers.operate.console import MISTAKE
from crawlers.operate.harvest import selection
from crawlers.operate.sources import registry
from crawlers.operate.sources.command import report
from crawlers.operate.sources.duplicates import address
from crawlers.operate.sources.source import Listed, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crawlers.operate.sources.command import Call
    from crawlers.operate.sources.source import Source


def print_list(call: Call) -> int:
    """Print the sources, and what is wrong with other tables."""
    found, mistakes = call.file.read()
    sources = listed(call, found)
    if call.opts.json:
        print(json.dumps([source.plain() for source in sources], indent=2))
    elif sources:
        print("\n".join(table(sources)))
    elif not mistakes:
        print(f"{call.file.path} has no source yet: scrapy sources add NAME URL adds one.")
    return report(mistakes)


def listed(call: Call, sources: Mapping[str, Source]) -> list[Listed]:
    """Return sources with their last and next run."""
    now = datetime.now(UTC)
    return [
        Listed(
            one.source, address(one.source, call.file.known), one.last, now if one.is_taken else one.time, one.is_taken
        )
        for one in selection.due(sources, call.output, call.jobs, now)
    ]


def print_known(call: Call) -> int:
    """Print the portals of the registry that contain a text."""
    found = registry.search("".join(call.names), call.opts.country, call.opts.kind)
    if call.opts.json:
        print(registry.as_json(found))
    elif found:
        print("\n".join(registry.lines(found)))
    else:
        print("No portal of the registry matches: scrapy sources known lists all of them.")
    return 0 if found else MISTAKE
