"""The targets sites and extensions: the figures of profiles, for the records of the catalogue that lists them."""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import PublishError
from crawlers.publish import fields
from crawlers.publish.change import Change
from crawlers.publish.operations import PackagePatch, patch
from crawlers.safety import strict_json
from crawlers.safety.line import one_line
from crawlers.store.index import catch_up
from crawlers.store.index.reader import connect

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Iterator
    from pathlib import Path

    from crawlers.items import Kind
    from crawlers.publish.fields import Schema
    from crawlers.publish.portal import Portal
    from crawlers.publish.record import Record

_PAGE = 50  # profiles, whose records are asked for in one search
_ID = re.compile(r"[A-Za-z0-9._-]{1,100}")
_SOURCES = "SELECT DISTINCT source FROM documents WHERE kind = ? AND status != 'withdrawn' ORDER BY source"
_PROFILES = """
SELECT dataset_id, file FROM documents WHERE source = ? AND kind = ? AND status != 'withdrawn' AND dataset_id > ?
ORDER BY dataset_id LIMIT ?
"""


def sources(output: Path, kind: Kind, named: Collection[str] | None = None) -> list[str]:
    """Return the sources that have profiles of a kind.

    Args:
        named: those whose files the index is to be brought up to date with; by default all.

    Raises:
        OutputError: there is no index that can be read.
    """
    catch_up(output, named=named)
    with closing(connect(output)) as db:
        return [row[0] for row in db.execute(_SOURCES, (kind,))]


def source_of(output: Path, given: str | None, kind: Kind) -> str:
    """Return the source whose profiles are meant.

    Args:
        given: the source that the user names; without, the only one that has any.
        kind: site or extension.

    Raises:
        PublishError: it has none, or several sources have.
        OutputError: there is no index that can be read.
    """
    found = sources(output, kind, [given] if given else None)
    if given in found or (given is None and len(found) == 1):
        return given or found[0]
    has = f"These have: {', '.join(found)}." if found else f"None has: run `scrapy crawl ckan_{kind}s` first."
    wanted = f"{given} has no {kind}s." if given else "Name the source."
    raise PublishError(f"{wanted} {has}")


class Profiles:
    """The profiles of a source.

    Args:
        kind: site or extension.
    """

    def __init__(self, output: Path, source: str, kind: Kind) -> None:
        self.output = output
        self.source = source
        self.kind = kind
        self.title = f"{kind}s of {source}"
        self.rules = fields.rules(kind)

    async def changes(self, portal: Portal) -> AsyncIterator[list[Change]]:
        """Yield a change for each record of a profile.

        Raises:
            AnswerError: the portal's records can't be read.
        """
        schema = await fields.read_schema(portal, self.kind)
        for profiles in self._profiles():
            asked = [key for profile in profiles.values() for key in _ids(profile)]
            records = await _records(portal, asked)
            yield [one for name, profile in profiles.items() for one in self._changes(name, profile, records, schema)]

    def _profiles(self) -> Iterator[dict[str, Record]]:
        """Yield the documents, some at a time, by their ids; those that can't be read are empty."""
        last = ""
        with closing(connect(self.output)) as db:
            while rows := db.execute(_PROFILES, (self.source, self.kind, last, _PAGE)).fetchall():
                last = rows[-1][0]
                yield {name: self._document(file) for name, file in rows}

    def _document(self, file: str) -> Record:
        found = strict_json.of_file(self.output / self.source, file)
        return found if isinstance(found, dict) else {}

    def _changes(self, name: str, profile: Record, records: dict[str, Record], schema: Schema) -> Iterator[Change]:
        for key in _ids(profile):
            if key in records:
                yield patch(records[key], *fields.placed(records[key], profile, self.rules, schema))
            else:
                yield _left_out(key, profile, "the catalogue has no such record")
        if not _ids(profile):
            yield _left_out(name, profile, "its profile names no record of the catalogue")


def _ids(profile: Record) -> list[str]:
    """Return the ids of a profile's records: a portal has one, an extension those of all packages that name it."""
    found = profile.get("catalog_ids", [profile.get("catalog_id")])
    return [one for one in found if isinstance(one, str) and _ID.fullmatch(one)] if isinstance(found, list) else []


def _left_out(subject: str, profile: Record, problem: str) -> Change:
    title = one_line(profile.get("title") or profile.get("name") or subject)
    return Change(operation=PackagePatch.action, subject=subject, title=title, problem=problem)


async def _records(portal: Portal, ids: Collection[str]) -> dict[str, Record]:
    """Return the records that there are, by the ids that were asked for: in one request, as far as the index goes."""
    found = {record["id"]: record for record in await _search(portal, ids)}
    for key in ids:
        if key not in found and (record := await portal.read("package_show", {"id": key})):
            found[key] = record
    return {key: found[key] for key in ids if key in found and found[key].get("state") != "deleted"}


async def _search(portal: Portal, ids: Collection[str]) -> list[Record]:
    if not ids:
        return []
    query = " OR ".join(f'"{key}"' for key in ids)
    answer = await portal.read("package_search", {"fq": f"id:({query})", "rows": len(ids)})
    listed: Any = (answer or {}).get("results")
    return [one for one in listed if isinstance(one, dict) and one.get("id") in ids] if isinstance(listed, list) else []
