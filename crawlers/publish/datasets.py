"""The target datasets: a source's datasets as packages of a CKAN portal, as ckanext-harvest has them."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import AnswerError, PublishError
from crawlers.publish.change import Change, Field
from crawlers.publish.fields import read_schema
from crawlers.publish.package_sync import PackageCreate, PackageRetire, sync
from crawlers.publish.packages import created, extra_names, package
from crawlers.publish.record import extras
from crawlers.safety.line import one_line
from crawlers.safety.names import safe
from crawlers.store.index import catch_up
from crawlers.store.index.documents import Held
from crawlers.store.index.reader import connect
from crawlers.store.index.stored_dataset import UNREADABLE, item

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping
    from pathlib import Path

    from crawlers.items import Dataset
    from crawlers.publish.portal import Portal
    from crawlers.publish.record import Record

_PAGE = 50  # datasets, whose packages are asked for in one search
_SOURCES = "SELECT DISTINCT source FROM documents WHERE kind = 'dataset' ORDER BY source"
_DOCUMENTS = """
SELECT status, dataset_id, file, last_seen, metadata_source, metadata_url, metadata_modified, renamed_from
FROM documents
WHERE source = ? AND kind = 'dataset' AND dataset_id > ? ORDER BY dataset_id LIMIT ?
"""


def source_of(output: Path, given: str | None) -> str:
    """Return the source whose datasets are meant.

    Args:
        given: the source that the user names; without, the only one that has any.

    Raises:
        PublishError: it has none, or several sources have.
        OutputError: there is no index that can be read.
    """
    catch_up(output, named=[given] if given else None)
    with closing(connect(output)) as db:
        found = [row[0] for row in db.execute(_SOURCES)]
    if given in found or (given is None and len(found) == 1):
        return given or found[0]
    has = f"These have: {', '.join(found)}." if found else "None has: crawl one first."
    raise PublishError(f"{f'{given} has no datasets.' if given else 'Name the source.'} {has}")


def check_options(source: str, options: Mapping[str, str]) -> None:
    """
    Raises:
        PublishError: no organization is named.
    """
    if not options.get("organization"):
        where = f'--organization NAME, or [{source}.publish] organization = "NAME" in sources.toml'
        raise PublishError(f"The packages of {source} need an organization that owns them: {where}.")


class Datasets:
    """The datasets of a source; withdrawn ones are deleted at the portal.

    Args:
        organization: the name or id of the organisation that owns the packages.
        fields: a JSON object: fields of the portal's schema by the facts that go into them instead of into extras.
        max_deleted: how many of the source's packages may be deleted at once, in percent.
    """

    def __init__(
        self, output: Path, source: str, *, organization: str, fields: str = "{}", max_deleted: int = 50
    ) -> None:
        self.output = output
        self.source = source
        self.organization = organization
        self.renamed: dict[str, str] = json.loads(fields)
        self.max_deleted = max_deleted
        self.title = f"datasets of {source}"

    async def changes(self, portal: Portal) -> AsyncIterator[list[Change]]:
        """Yield a change for each dataset.

        Raises:
            AnswerError: the portal's packages can't be read, it has no such organization, or too much is withdrawn.
        """
        there = deleted = 0
        owner, schema = await self._owner(portal), await read_schema(portal, "dataset")
        declared = {fact: name for fact, name in extra_names().items() if name in schema}
        self.renamed = declared | self.renamed
        for held in self._documents():
            packages = await self._packages(portal, [one.dataset_id for _, one in held])
            found = [self._change(status, one, packages.get(safe(one.dataset_id)), owner) for status, one in held]
            there += len(packages)
            deleted += sum(one is not None and one.operation == PackageRetire.name for one in found)
            yield [one for one in found if one]
        if 100 * deleted > self.max_deleted * there:
            share = f"{deleted} of {there} packages of {self.source} would be deleted, more than {self.max_deleted} %"
            message = f"{share}: nothing is published. If they are gone indeed, add --max-deleted 100"
            raise AnswerError("shrink", message)

    async def _owner(self, portal: Portal) -> str:
        found = await portal.read("organization_show", {"id": self.organization})
        if not found or not isinstance(found.get("id"), str):
            message = f"the portal has no organization {self.organization!r}, which is to own the packages"
            raise AnswerError("refused", message)
        return str(found["id"])

    def _documents(self) -> Iterator[list[tuple[str, Held]]]:
        """Yield the documents with their status, some at a time."""
        last = ""
        with closing(connect(self.output)) as db:
            while rows := db.execute(_DOCUMENTS, (self.source, last, _PAGE)).fetchall():
                last = rows[-1][1]
                yield [(row[0], Held(*row[1:])) for row in rows]

    async def _packages(self, portal: Portal, ids: list[str]) -> dict[str, Record]:
        """Return the packages of some datasets by their ``harvest_object_id``."""
        among = " OR ".join(f'"{safe(one)}"' for one in ids)
        query = f'harvest_source_id:"{self.source}" AND harvest_object_id:({among})'
        asked = {"fq": query, "sort": "id asc", "rows": 2 * len(ids), "include_private": "true"}
        found: list[Any] = []
        for _ in ids:  # a portal may give fewer rows at once than it is asked for
            answer = await portal.read("package_search", {**asked, "start": len(found)}) or {}
            page: Any = answer.get("results")
            if not page or not isinstance(page, list):
                break
            found += page
            if len(found) == answer.get("count"):
                break
        return {extras(one)["harvest_object_id"]: one for one in reversed(found) if self._is_own(one)}

    def _is_own(self, found: Any) -> bool:
        """Return whether what a search has found is a package of this source."""
        if not isinstance(found, dict) or not isinstance(found.get("id"), str):
            return False
        known = extras(found)
        return known.get("harvest_source_id") == self.source and isinstance(known.get("harvest_object_id"), str)

    def _change(self, status: str, held: Held, record: Record | None, owner: str) -> Change | None:
        """Return what is to be done for a dataset; ``None`` for one that is neither here nor there."""
        if status == "withdrawn":
            return _retired(record) if record else None
        try:
            dataset = item(self.output / self.source, held.dataset_id, held)
        except UNREADABLE as error:
            problem = f"{held.file} can't be read: {one_line(str(error))}"
            return Change(
                operation=PackageCreate.action, subject=held.dataset_id, title=held.dataset_id, problem=problem
            )
        wanted = package(dataset, owner, self.renamed)
        return sync(record, wanted) if record else _new(dataset, created(dataset, wanted))


def _retired(record: Record) -> Change:
    title = str(record.get("title") or record.get("name"))
    wanted = {"name": str(record.get("name"))}
    fields = [Field("state", record.get("state"), "deleted")]
    return Change(operation=PackageRetire.name, subject=str(record["id"]), title=title, wanted=wanted, fields=fields)


def _new(dataset: Dataset, body: Record) -> Change:
    fields = [Field(name, None, value) for name, value in body.items() if name not in ("extras", "tags", "resources")]
    fields += [Field(name, None, len(body[name])) for name in ("extras", "tags", "resources") if body[name]]
    title = dataset.title or dataset.id
    return Change(
        operation=PackageCreate.action, subject=body["name"], title=title, wanted={"package": body}, fields=fields
    )
