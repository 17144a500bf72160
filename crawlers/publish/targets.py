"""What can be published, by the words of the command; and what goes into records that a portal has already."""

from __future__ import annotations

import re
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from crawlers.exceptions import PublishError
from crawlers.publish.datasets import Datasets
from crawlers.publish.datastore import Series
from crawlers.publish.operations import Change, PackagePatch, ResourcePatch, patch
from crawlers.publish.record import as_moment, placed, rules
from crawlers.safety import strict_json
from crawlers.safety.names import ARCHIVE_OF
from crawlers.safety.redact import one_line
from crawlers.store.index import catch_up
from crawlers.store.index.captures import FIELDS, capture
from crawlers.store.index.database import connect

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Iterator
    from pathlib import Path

    from crawlers.items import Capture, Kind
    from crawlers.publish.portal import Portal
    from crawlers.publish.record import Record, Schema


KEPT = (
    "is_last AND origin IS NULL AND resource_id NOT LIKE '@%' AND sha256 IS NOT NULL AND state IN ('kept', 'unchanged')"
)
"""The files of resources that are held and are there; one that a linked page links is not the resource's own."""
_DATASETS = f"""
SELECT DISTINCT dataset_id FROM captures WHERE source = ? AND {KEPT} AND dataset_id > ? ORDER BY dataset_id LIMIT 100
"""  # noqa: S608
_CAPTURES = f"""
SELECT {", ".join(FIELDS)} FROM captures WHERE source = ? AND dataset_id = ? AND {KEPT} ORDER BY resource_id, time
"""  # noqa: S608


class Captures:
    """What is kept of the files that resources link, for these resources: CKAN's ticket 891.

    The portal must be the one that was harvested.
    """

    def __init__(self, output: Path, source: str) -> None:
        self.output = output
        self.source = source
        self.title = f"files of {source}"

    async def changes(self, portal: Portal) -> AsyncIterator[list[Change]]:
        for dataset_id, looks in self._datasets():
            record = await portal.read("package_show", {"id": dataset_id})
            listed = (record or {}).get("resources") or []
            there = {one.get("id"): one for one in listed if isinstance(one, dict)}
            yield [self._change(look, there.get(resource_id)) for resource_id, look in looks.items()]

    def _datasets(self) -> Iterator[tuple[str, dict[str, Capture]]]:
        last = ""
        with closing(connect(self.output)) as db:
            while ids := [row[0] for row in db.execute(_DATASETS, (self.source, last))]:
                for last in ids:
                    rows = db.execute(_CAPTURES, (self.source, last)).fetchall()
                    yield last, {look.resource_id: look for look in map(capture, rows)}

    def _change(self, look: Capture, resource: Record | None) -> Change:
        if resource is not None and resource.get("url") == look.url:
            return patch(resource, file_facts(look), operation=ResourcePatch.action)
        other = "the resource links another address by now"
        problem = "the portal has no such resource" if resource is None else other
        title = one_line(look.title or look.url)
        return Change(operation=ResourcePatch.action, subject=look.resource_id, title=title, problem=problem)


def file_facts(look: Capture) -> dict[str, Any]:
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


_PROFILES_AT_ONCE = 50  # profiles, whose records are asked for in one search
_ID = re.compile(r"[A-Za-z0-9._-]{1,100}")
_PROFILES = """
SELECT dataset_id, file FROM documents WHERE source = ? AND kind = ? AND status != 'withdrawn' AND dataset_id > ?
ORDER BY dataset_id LIMIT ?
"""


class Profiles:
    """The profiles of a source."""

    def __init__(self, output: Path, source: str, kind: Kind) -> None:
        self.output = output
        self.source = source
        self.kind = kind
        self.title = f"{kind}s of {source}"
        self.rules = rules(kind)

    async def changes(self, portal: Portal) -> AsyncIterator[list[Change]]:
        schema = await portal.schema(self.kind)
        for profiles in self._profiles():
            asked = [key for profile in profiles.values() for key in _ids(profile)]
            records = await _records(portal, asked)
            yield [one for name, profile in profiles.items() for one in self._changes(name, profile, records, schema)]

    def _profiles(self) -> Iterator[dict[str, Record]]:
        last = ""
        with closing(connect(self.output)) as db:
            while rows := db.execute(_PROFILES, (self.source, self.kind, last, _PROFILES_AT_ONCE)).fetchall():
                last = rows[-1][0]
                yield {name: self._document(file) for name, file in rows}

    def _document(self, file: str) -> Record:
        found = strict_json.of_file(self.output / self.source, file)
        return found if isinstance(found, dict) else {}

    def _changes(self, name: str, profile: Record, records: dict[str, Record], schema: Schema) -> Iterator[Change]:
        for key in _ids(profile):
            if key in records:
                yield patch(records[key], *placed(records[key], profile, self.rules, schema))
            else:
                yield self._left_out(key, profile, "the catalogue has no such record")
        if not _ids(profile):
            yield self._left_out(name, profile, "its profile names no record of the catalogue")

    def _left_out(self, subject: str, profile: Record, problem: str) -> Change:
        title = one_line(profile.get("title") or profile.get("name") or subject)
        return Change(operation=PackagePatch.action, subject=subject, title=title, problem=problem)


def _ids(profile: Record) -> list[str]:
    """Return the ids of a profile's records: a portal has one, an extension those of all packages that name it."""
    found = profile.get("catalog_ids", [profile.get("catalog_id")])
    return [one for one in found if isinstance(one, str) and _ID.fullmatch(one)] if isinstance(found, list) else []


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


class Target(Protocol):
    """Something on disk that goes into records of a portal.

    Attributes:
        title: what is published: "sites of ecosystem".
    """

    title: str

    def changes(self, portal: Portal) -> AsyncIterator[list[Change]]:
        """Yield changes, some at a time; one without fields is of a record that needs none.

        Raises:
            AnswerError: the portal's records can't be read.
            PublishError: the portal lacks what is needed.
        """


class Offer(NamedTuple):
    """Something that can be published.

    Args:
        make: makes the target; takes OUTPUT_DIR, a source, and the options that the user gives.
        having: SQL: the sources that have any, in their order.
        lacks: what is said of a source that has none.
        none: what is said if no source has any.
        some: how the sentence begins that names those that have.
        unnamed: what is said if several have, and the user names none.
        prefix: what the name of each source begins with, and the user may leave out.
        options: those that `make` takes.
    """

    make: Callable[..., Target]
    having: str
    lacks: str
    none: str
    some: str = "These have"
    unnamed: str = "Name the source."
    prefix: str = ""
    options: tuple[str, ...] = ()

    def sources(self, output: Path, named: Collection[str] | None = None) -> list[str]:
        """Return the sources that have any.

        Args:
            named: those whose files the index is to be brought up to date with; by default all.

        Raises:
            OutputError: there is no index that can be read.
        """
        catch_up(output, named=named)
        with closing(connect(output)) as db:
            return [row[0] for row in db.execute(self.having)]

    def source_of(self, output: Path, given: str | None) -> str:
        """Return the source that is meant.

        Args:
            given: the source that the user names; without, the only one that has any.

        Raises:
            PublishError: it has none, or several sources have.
            OutputError: there is no index that can be read.
        """
        wanted = given and f"{self.prefix}{given.removeprefix(self.prefix)}"
        found = self.sources(output, [wanted] if wanted else None)
        if wanted in found or (wanted is None and len(found) == 1):
            return wanted or found[0]
        has = f"{self.some}: {', '.join(found)}." if found else self.none
        raise PublishError(f"{self.lacks.format(wanted) if wanted else self.unnamed} {has}")


def _profiles(kind: Kind) -> Offer:
    having = f"SELECT DISTINCT source FROM documents WHERE kind = '{kind}' AND status != 'withdrawn' ORDER BY source"  # noqa: S608
    none = f"None has: run `scrapy crawl ckan_{kind}s` first."
    return Offer(partial(Profiles, kind=kind), having, f"{{}} has no {kind}s.", none)


TARGETS = {
    "sites": _profiles("site"),
    "extensions": _profiles("extension"),
    "archive": Offer(
        Captures,
        having=f"SELECT DISTINCT source FROM captures WHERE {KEPT} ORDER BY source",  # noqa: S608
        lacks="{} holds no files.",
        none="None does: run `scrapy crawl archive -a of=SOURCE` first.",
        some="These do",
        unnamed="Name the archive.",
        prefix=ARCHIVE_OF,
    ),
    "datasets": Offer(
        Datasets,
        having="SELECT DISTINCT source FROM documents WHERE kind = 'dataset' ORDER BY source",
        lacks="{} has no datasets.",
        none="None has: crawl one first.",
        options=("organization", "fields", "harvest_source", "max_deleted"),
    ),
    "timeseries": Offer(
        Series,
        having=(
            "SELECT source FROM sources WHERE EXISTS (SELECT 1 FROM observations o WHERE o.source = sources.source) "
            "ORDER BY source"
        ),
        lacks="{} has no time series.",
        none="None has: the next complete run of a source begins its own.",
        options=("dataset", "resource", "since"),
    ),
}


def target(output: Path, given: dict[str, Any]) -> Target:
    """Return the target of a publish.

    Args:
        given: the spider's arguments: ``what``, ``of``, and options.

    Raises:
        PublishError: it needs to know more.
    """
    offer = TARGETS[given["what"]]
    options = {name: given[name] for name in offer.options if given.get(name) is not None}
    return offer.make(output, given["of"], **options)
