"""Reads one table of sources.toml as a source, or says what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlers import arguments
from crawlers.exceptions import ArgumentError, RulesError, SourcesError, hint
from crawlers.kind import registered
from crawlers.kinds.html.rules.table import Table
from crawlers.listing.spider import source_name
from crawlers.operate.sources import schedule
from crawlers.operate.sources.options import settings, texts
from crawlers.operate.sources.source import Source

if TYPE_CHECKING:
    from crawlers.listing.spider import CatalogueSpider
    from crawlers.operate.sources.project_context import Known
    from crawlers.operate.sources.schedule import Schedule

_LONGEST = 200  # characters of a contact


def source(name: str, content: Any, known: Known) -> Source:
    """Return the source that a table describes.

    Raises:
        SourcesError: a sentence that names the table, the key and what it takes.
    """
    if not isinstance(content, dict):
        raise SourcesError(f"{name[:100]!r} is not a table: each source is one, as in [{name[:100]}].")
    try:
        source_name(name)
    except ValueError as error:
        raise SourcesError(f"[{name[:100]}]: the name is not {error}.") from None
    for inner, value in content.items():
        if isinstance(value, dict) and "spider" in value:
            raise SourcesError(f'[{name}.{inner}]: a name with a dot stands in quotes: ["{name}.{inner}"].')
    try:
        return _source(name, Table(content, name), known)
    except (RulesError, ArgumentError) as error:
        raise SourcesError(f"[{name}]: {str(error).removeprefix(f'{name}.')}") from None


def _source(name: str, table: Table, known: Known) -> Source:
    spider = _spider(name, table, known)
    given, chosen = table.table("arguments"), table.table("settings")
    found = Source(
        name=name,
        spider=spider.name,
        arguments=texts(given.left, given.path) if given else {},
        settings=settings(chosen.left, chosen.path, known) if chosen else {},
        schedule=_schedule(name, table.text("schedule")),
        contact=_contact(name, table.text("contact")),
        enabled=table.typed("enabled", bool, True),
        archive=table.typed("archive", bool, False),
    )
    table.end()
    _check(spider, found)
    return found


def _spider(name: str, table: Table, known: Known) -> type[CatalogueSpider]:
    spider = table.text("spider")
    if spider is None:
        example = f'spider = "{_example(known)}"'
        raise SourcesError(f"[{name}]: spider is missing, {example}. There are: {', '.join(known.spiders)}.")
    if spider not in known.spiders:
        meant = hint(spider, known.spiders)
        there = ", ".join(known.spiders)
        raise SourcesError(f"[{name}]: spider: there is no spider {spider[:100]!r}.{meant} There are: {there}.")
    return known.spiders[spider]


def _example(known: Known) -> str:
    """Return a spider's name for a message: a generic one if there is one."""
    return next((name for name in known.kinds if name in known.spiders), next(iter(known.spiders), "NAME"))


def _check(spider: type[CatalogueSpider], found: Source) -> None:
    """Check the arguments.

    Raises:
        SourcesError: the arguments are not the spider's, or don't say where the catalogue is.
        ArgumentError: one is unknown, or its value malformed.
    """
    if "source" in found.arguments:
        raise SourcesError(f"[{found.name}.arguments]: source is the table's name, {found.name}: leave it out.")
    arguments.parse(spider.name, spider.arguments, found.arguments)
    if spider.crosses_hosts and found.name != f"archive-of-{found.arguments.get('of')}":
        raise SourcesError(f'[{found.name}]: an archive is named after its source: [archive-of-NAME], of = "NAME".')
    if spider.address not in found.arguments and getattr(spider, spider.address, None) is None:
        kind = registered().get(spider.kind)
        example = f', {spider.address} = "{kind.example}"' if kind else ""
        raise SourcesError(
            f"[{found.name}.arguments]: {spider.address} is missing{example}: spider {spider.name} needs it."
        )


def _schedule(name: str, text: str | None) -> Schedule | None:
    try:
        return schedule.parse(text, name) if text else None
    except ValueError as error:
        raise SourcesError(f"[{name}]: schedule: {error}.") from None


def _contact(name: str, text: str | None) -> str | None:
    if text and (len(text) > _LONGEST or not text.isprintable()):
        raise SourcesError(f"[{name}]: contact is no single line of at most {_LONGEST} characters.")
    return text
