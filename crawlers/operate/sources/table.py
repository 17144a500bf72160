"""Reads one table of sources.toml as a source, or says what is wrong with it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar, cast

from crawlers import arguments
from crawlers.exceptions import ArgumentError, RulesError, SourcesError, hint
from crawlers.kind import registered
from crawlers.listing.spider import source_name
from crawlers.operate.sources import schedule
from crawlers.operate.sources.options import settings, texts
from crawlers.operate.sources.source import REVIEWS, Source
from crawlers.publish.datasets import extra_names
from crawlers.records import curation
from crawlers.records.toml import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from crawlers.listing.spider import CatalogueSpider
    from crawlers.operate.sources.project_context import Known
    from crawlers.operate.sources.schedule import Schedule
    from crawlers.operate.sources.source import Review

_LONGEST = 200  # characters of a contact, or a comment
T = TypeVar("T")


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
    if before := table.text("renamed_from"):
        finishes = f"scrapy sources rename {before} {name}"
        raise SourcesError(f"[{name}]: its rename from {before[:100]} is not finished; this finishes it: {finishes}")
    spider = _spider(name, table, known)
    given, chosen = table.table("arguments"), table.table("settings")
    spelled = texts(given.left, given.path) if given else {}
    found = Source(
        name=name,
        spider=spider.name,
        arguments={**spelled, **_curation(table, spelled)},
        settings=settings(chosen.left, chosen.path, known) if chosen else {},
        schedule=_schedule(name, table),
        contact=_line(name, "contact", table.text("contact")),
        enabled=table.typed("enabled", bool, True),
        archive=table.typed("archive", bool, False),
        review=_review(name, table.text("review")),
        review_comment=_line(name, "review_comment", table.text("review_comment")),
        publish=_publish(table.table("publish")),
    )
    table.end()
    _check(spider, found)
    return found


def _curation(table: Table, given: Mapping[str, str]) -> dict[str, str]:
    """Return the arguments that the tables ``exclude``, ``defaults`` and ``overrides`` are.

    Raises:
        RulesError: one is invalid, or is an argument, too.
    """
    found = {}
    for key in curation.KEYS:
        content = table.table(key)
        if content and key in given:
            raise RulesError(f"{table.name(key)} is also in arguments: leave it out there.")
        if content and content.left:
            found[key] = curation.argument(key, content.left)
    return found


def _publish(table: Table | None) -> dict[str, str]:
    """
    Raises:
        RulesError: a key is unknown, or its value is not what it takes.
    """
    if table is None:
        return {}
    organization, fields = table.text("organization"), table.table("fields")
    renamed = texts(fields.left, fields.path) if fields else {}
    for name in renamed:
        if name not in extra_names():
            known, meant = ", ".join(extra_names()), hint(name, extra_names())
            raise RulesError(f"{table.name('fields')}: there is no {name[:100]}.{meant} There are: {known}.")
    table.end()
    found = {"organization": organization, "fields": json.dumps(renamed) if renamed else None}
    return {name: value for name, value in found.items() if value is not None}


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
    if spider.address == "of" and found.name != f"archive-of-{found.arguments.get('of')}":
        raise SourcesError(f'[{found.name}]: an archive is named after its source: [archive-of-NAME], of = "NAME".')
    places = {spider.address, *spider.other_addresses}
    if not places & found.arguments.keys() and getattr(spider, spider.address, None) is None:
        kind = registered().get(spider.kind)
        example = f', {spider.address} = "{kind.example}"' if kind else ""
        raise SourcesError(
            f"[{found.name}.arguments]: {spider.address} is missing{example}: spider {spider.name} needs it."
        )


def _schedule(name: str, table: Table) -> Schedule | None:
    text = table.text("schedule")
    timezone = _parsed(name, "timezone", schedule.zone, table.text("timezone") or "UTC")
    retry = _parsed(name, "retry", schedule.delays, table.texts("retry"))
    return _parsed(name, "schedule", schedule.parse, text, name, timezone, retry) if text else None


def _parsed(name: str, key: str, parse: Callable[..., T], *values: Any) -> T:
    """
    Raises:
        SourcesError: the key's value is invalid.
    """
    try:
        return parse(*values)
    except ValueError as error:
        raise SourcesError(f"[{name}]: {key}: {error}.") from None


def _review(name: str, text: str | None) -> Review:
    if text is not None and text not in REVIEWS:
        raise SourcesError(f"[{name}]: review is not one of {', '.join(REVIEWS)}.{hint(text, REVIEWS)}")
    return cast("Review", text or "approved")


def _line(name: str, key: str, text: str | None) -> str | None:
    if text and (len(text) > _LONGEST or not text.isprintable()):
        raise SourcesError(f"[{name}]: {key} is no single line of at most {_LONGEST} characters.")
    return text
