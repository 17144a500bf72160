"""The target archive: what is kept of the files that resources link, for these resources: CKAN's ticket 891."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import PublishError
from crawlers.publish.change import Change
from crawlers.publish.operations import ResourcePatch, patch
from crawlers.publish.record import as_moment
from crawlers.safety.line import one_line
from crawlers.store.index import catch_up
from crawlers.store.index.captures import FIELDS, capture
from crawlers.store.index.reader import connect

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from crawlers.items import Capture
    from crawlers.publish.portal import Portal
    from crawlers.publish.record import Record

PREFIX = "archive-of-"
_KEPT = "is_last AND origin IS NULL AND sha256 IS NOT NULL AND state IN ('kept', 'unchanged')"
"""The files that are held and are there; one that a linked page links is not the resource's own."""
_SOURCES = f"SELECT DISTINCT source FROM captures WHERE {_KEPT} ORDER BY source"  # noqa: S608
_DATASETS = f"""
SELECT DISTINCT dataset_id FROM captures WHERE source = ? AND {_KEPT} AND dataset_id > ? ORDER BY dataset_id LIMIT 100
"""  # noqa: S608
_CAPTURES = f"""
SELECT {", ".join(FIELDS)} FROM captures WHERE source = ? AND dataset_id = ? AND {_KEPT} ORDER BY resource_id, time
"""  # noqa: S608


def source_of(output: Path, given: str | None) -> str:
    """Return the archive that is meant.

    Args:
        given: its name, or that of the source whose files it holds; without, the only one that holds any.

    Raises:
        PublishError: it holds nothing, or several archives do.
        OutputError: there is no index that can be read.
    """
    wanted = given and f"{PREFIX}{given.removeprefix(PREFIX)}"
    catch_up(output, named=[wanted] if wanted else None)
    with closing(connect(output)) as db:
        found = [row[0] for row in db.execute(_SOURCES)]
    if wanted in found or (wanted is None and len(found) == 1):
        return wanted or found[0]
    has = f"These do: {', '.join(found)}." if found else "None does: run `scrapy crawl archive -a of=SOURCE` first."
    raise PublishError(f"{f'{wanted} holds no files.' if wanted else 'Name the archive.'} {has}")


class Captures:
    """The files of an archive, for the resources that link them: the portal must be the one that was harvested."""

    def __init__(self, output: Path, source: str) -> None:
        self.output = output
        self.source = source
        self.title = f"files of {source}"

    async def changes(self, portal: Portal) -> AsyncIterator[list[Change]]:
        """Yield the changes of a dataset's resources.

        Raises:
            AnswerError: the portal's records can't be read.
        """
        for dataset_id, looks in self._datasets():
            record = await portal.read("package_show", {"id": dataset_id})
            listed = (record or {}).get("resources") or []
            there = {one.get("id"): one for one in listed if isinstance(one, dict)}
            yield [_change(look, there.get(resource_id)) for resource_id, look in looks.items()]

    def _datasets(self) -> Iterator[tuple[str, dict[str, Capture]]]:
        """Yield the newest capture of each resource, a dataset at a time."""
        last = ""
        with closing(connect(self.output)) as db:
            while ids := [row[0] for row in db.execute(_DATASETS, (self.source, last))]:
                for last in ids:
                    rows = db.execute(_CAPTURES, (self.source, last)).fetchall()
                    yield last, {look.resource_id: look for look in map(capture, rows)}


def _change(look: Capture, resource: Record | None) -> Change:
    if resource is None:
        return _left_out(look, "the portal has no such resource")
    if resource.get("url") != look.url:
        return _left_out(look, "the resource links another address by now")
    return patch(resource, facts(look), operation=ResourcePatch.action)


def facts(look: Capture) -> dict[str, Any]:
    """Return the fields of a resource that say what is kept of its file; what is not known has none.

    The names are those of ckanext-archiver, and of ckanext-dcat for the kind of hash.
    """
    found = {
        "cache_url": look.cache_url,
        "cache_last_updated": as_moment(look.kept_at),
        "size": look.size,
        "mimetype": look.found_type or look.media_type,
        "hash": look.sha256,
        "hash_algorithm": look.sha256 and "sha256",
    }
    return {name: value for name, value in found.items() if value is not None}


def _left_out(look: Capture, problem: str) -> Change:
    title = one_line(look.title or look.url)
    return Change(operation=ResourcePatch.action, subject=look.resource_id, title=title, problem=problem)
