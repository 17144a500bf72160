"""Finds two sources that would copy the same thing."""

from __future__ import annotations

from os.path import normpath
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from crawlers.exceptions import SourcesError
from crawlers.kind import registered

if TYPE_CHECKING:
    from crawlers.arguments import Argument
    from crawlers.operate.sources.project_context import Known
    from crawlers.operate.sources.source import Source

Copied = tuple[str, frozenset[tuple[str, str]]]
"""What a source copies: its address, and the arguments that narrow it."""


def copied(source: Source, known: Known) -> Copied:
    """Return what a source copies; the same for two sources that copy the same."""
    spider, own = known.spiders[source.spider], _address_argument(source, known)
    rest = frozenset((name, value) for name, value in source.arguments.items() if name != own)
    return _plain(address(source, known) or "", spider.arguments[own]), rest


def address(source: Source, known: Known) -> str | None:
    """Return where a source's catalogue is: as its table says, else as its spider does."""
    spider = known.spiders[source.spider]
    return source.arguments.get(_address_argument(source, known)) or getattr(spider, spider.address, None)


def misplaced(source: Source, known: Known) -> str:
    """Return why a source's address is hardly one of its kind, as a sentence; empty if it may be one."""
    kind, where = registered().get(known.spiders[source.spider].kind), address(source, known)
    return kind.misplaced(where) if kind and where else ""


def _address_argument(source: Source, known: Known) -> str:
    """Return the name of the argument that says where a source's catalogue is."""
    spider = known.spiders[source.spider]
    return next((name for name in spider.other_addresses if name in source.arguments), spider.address)


def only(source: Source, other: Source) -> None:
    """Check that a source is the only one that copies its catalogue.

    Raises:
        SourcesError: another source does.
    """
    if other is not source:
        raise SourcesError(
            f"[{source.name}] harvests what [{other.name}] does: the same address with the same arguments."
        )


def _plain(where: str, argument: Argument) -> str:
    """Return an address, or a file, as the spider understands it: host names are compared case-insensitively."""
    value = str(argument.parse(where))
    if "://" not in value:
        return normpath(Path.cwd() / value)
    parts = urlsplit(value)
    return parts._replace(netloc=parts.netloc.lower(), path=parts.path or "/").geturl()
