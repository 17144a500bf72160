"""The target datasets: datasets of any kind of catalogue as packages of a CKAN portal."""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import closing
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlers.exceptions import AnswerError, PublishError
from crawlers.publish.operations import Change, Field, PackageCreate, PackageRetire, sync
from crawlers.publish.record import as_moment, extras, is_nothing
from crawlers.records.tables import toml_table
from crawlers.safety.names import slug
from crawlers.safety.redact import one_line
from crawlers.store.index.database import connect
from crawlers.store.index.documents import UNREADABLE, item
from crawlers.store.index.known import Held

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping
    from pathlib import Path

    from crawlers.items import Dataset, Resource
    from crawlers.publish.portal import Portal
    from crawlers.publish.record import Record


Package = dict[str, Any]

_SLUG = 80  # CKAN takes names of 100 characters
_REFUSED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""What PostgreSQL (NUL, halves of surrogates) or the XML that goes to Solr can't hold."""
_NO_TAG = re.compile(r"[^\w\-. ]+")
_TAG = (2, 100)
_VERSION = 100
_EMAIL = re.compile(
    r"[\w.!#$%&'*+/=?^`{|}~-]+@[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*",
    re.ASCII | re.IGNORECASE,
)
"""What CKAN takes as an address; one of another form would undo the whole publish."""


@cache
def extra_names() -> dict[str, str]:
    """Return the extras by the facts that go into them."""
    return {fact: str(name) for fact, name in toml_table(__package__, "packages.toml").items()}


_SOURCE = "crawl_source"
"""The extra with the name of the source here. ``harvest_source_id`` had it once."""
_CLAIMED_ONCE = ("harvest_source_id", "harvest_source_title", "harvest_object_id")


class HarvestSource(NamedTuple):
    """A harvest source of the portal: in ckanext-harvest, a package of the type harvest.

    Args:
        id: of this package, which is that of its row in the table harvest_source.
    """

    id: str
    title: str


def origin(source: str, dataset_id: str, harvest_source: HarvestSource | None = None) -> dict[str, str]:
    """Return the extras that say where a package comes from.

    ``guid`` is what the source knows the dataset by, as in ckanext-harvest and ckanext-dcat. ``harvest_source_id``
    and ``harvest_source_title`` are those of a harvest source of the portal, whose page lists the package by them.
    ``harvest_object_id`` names a row of the table harvest_object, which only a harvest inside the portal makes current.

    >>> origin("bern", "https://example.org/d/1")
    {'crawl_source': 'bern', 'guid': 'https://example.org/d/1'}
    """
    own = {_SOURCE: source, "guid": _guid(dataset_id)}
    if harvest_source is None:
        return own
    return own | {"harvest_source_id": harvest_source.id, "harvest_source_title": harvest_source.title}


def _guid(dataset_id: str) -> str:
    r"""Return a dataset's id as the portal can hold it; no two have the same.

    >>> _guid("ab"), _guid("a\0b")
    ('ab', 'ab-59b271ae')
    """
    kept = str(_plain(dataset_id))
    return kept if kept == dataset_id else f"{kept}-{_hash(dataset_id)}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _plain(value: Any) -> Any:
    r"""Return a value without the characters that CKAN's database or its search engine refuses.

    >>> _plain({"notes": "a\0b", "tags": ["\ud800c"], "size": 1})
    {'notes': 'ab', 'tags': ['c'], 'size': 1}
    """
    if isinstance(value, str):
        return _REFUSED.sub("", value)
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return {name: _plain(one) for name, one in value.items()} if isinstance(value, dict) else value


def package(
    dataset: Dataset, organization: str, renamed: Mapping[str, str], harvest_source: HarvestSource | None = None
) -> Package:
    """Return the package that a dataset is to have.

    Args:
        organization: the name or id of the organisation that owns it.
        renamed: fields of the portal's schema by the facts that go into them instead of into extras.
        harvest_source: that of the portal which the package is to be listed under.

    Returns:
        ``fields`` and ``extras`` by name, ``tags`` as names, and ``resources``; what is not known is in none of them.
    """
    known = facts(dataset)
    extras = {name: _text(known[fact]) for fact, name in extra_names().items() if fact in known and fact not in renamed}
    fields = _fields(dataset) | {renamed[fact]: _flat(value) for fact, value in known.items() if fact in renamed}
    made = {
        "fields": {"owner_org": organization, **fields},
        "extras": extras | origin(dataset.source, dataset.id, harvest_source),
        "tags": tags(dataset.keywords),
        "resources": [_resource(one) for one in dataset.resources],
    }
    return {name: _plain(value) for name, value in made.items()}


def created(dataset: Dataset, wanted: Package) -> Package:
    return {
        "title": _plain(dataset.name or dataset.id),
        **wanted["fields"],
        "name": package_name(dataset),
        "extras": [{"key": key, "value": value} for key, value in wanted["extras"].items()],
        "tags": [{"name": name} for name in wanted["tags"]],
        "resources": wanted["resources"],
    }


def package_name(dataset: Dataset) -> str:
    """Return the name of a new package: readable, and that of no other dataset."""
    mark = _hash(f"{dataset.source}\0{dataset.id}")
    readable = slug((dataset.name or dataset.title or "")[:1000], _SLUG)
    return f"{readable}-{mark}" if readable else f"dataset-{mark}"


def facts(dataset: Dataset) -> dict[str, Any]:
    """Return what is known of a dataset beyond the fields that every CKAN has."""
    period, places = dataset.temporal, dataset.spatial
    found = {
        **{name: getattr(dataset, name) for name in ("issued", "modified", "identifier", "uri", "frequency")},
        **{name: getattr(dataset, name) for name in ("languages", "themes", "access_rights", "provenance")},
        "conforms_to": dataset.conforms_to,
        "publisher": dataset.publisher and dataset.publisher.name,
        "places": [place.name for place in places if place.name],
        "geometry": next((place.geometry for place in places if place.geometry), None),
        "temporal_start": period and period.start,
        "temporal_end": period and period.end,
    }
    return {name: value for name, value in found.items() if not is_nothing(value)}


def tags(keywords: list[str]) -> list[str]:
    """Return keywords as CKAN takes tags: letters, digits, blanks, hyphens, underscores and dots, 2 to 100 of them.

    >>> tags(["Water/levels ", "É", "water levels", "Water levels"])
    ['Water levels', 'water levels']
    """
    shortest, longest = _TAG
    found = (" ".join(_NO_TAG.sub(" ", word).split())[:longest].strip() for word in keywords)
    return sorted({tag for tag in found if len(tag) >= shortest})


def _fields(dataset: Dataset) -> dict[str, Any]:
    contact = next(iter(dataset.contacts), None)
    email, version = (contact and contact.email) or "", dataset.version or ""
    found = {
        "title": dataset.title,
        "notes": dataset.description,
        "url": dataset.landing_page,
        "version": version if len(version) <= _VERSION else None,
        "license_id": dataset.license and (dataset.license.id or dataset.license.title),
        "author": dataset.publisher and dataset.publisher.name,
        "maintainer": contact and contact.name,
        "maintainer_email": email if _EMAIL.fullmatch(email) else None,
    }
    return {name: value for name, value in found.items() if not is_nothing(value)}


def _resource(resource: Resource) -> dict[str, Any]:
    checksum = resource.checksum
    found = {
        "url": resource.download_url or resource.access_url or resource.url or "",
        "name": resource.title,
        "description": resource.description,
        "format": resource.format,
        "mimetype": resource.media_type,
        "size": resource.size,
        "hash": checksum and checksum.value,
        "hash_algorithm": checksum and checksum.algorithm,
        "created": as_moment(resource.issued),
        "last_modified": as_moment(resource.modified),
    }
    return {"url": found["url"]} | {name: value for name, value in found.items() if not is_nothing(value)}


def _flat(value: Any) -> Any:
    return _text(value) if isinstance(value, dict) else value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_PAGE = 50  # datasets, whose packages are asked for in one search
_LONGEST = 3_000  # characters of their ids, in an address
_DOCUMENTS = """
SELECT status, dataset_id, file, last_seen, metadata_source, metadata_url, metadata_modified, renamed_from
FROM documents
WHERE source = ? AND kind = 'dataset' AND dataset_id > ? ORDER BY dataset_id LIMIT ?
"""


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
        fields: a JSON object: fields of the portal's schema by the facts that go into them instead of into extras.
        harvest_source: the portal's harvest source that the packages are to be listed under: its id, name or address.
        max_deleted: how many of the source's packages may be deleted at once, in percent.
    """

    def __init__(
        self,
        output: Path,
        source: str,
        *,
        organization: str,
        fields: str = "{}",
        harvest_source: str | None = None,
        max_deleted: int = 50,
    ) -> None:
        self.output = output
        self.source = source
        self.organization = organization
        self.renamed: dict[str, str] = json.loads(fields)
        self.harvest_source = harvest_source
        self.max_deleted = max_deleted
        self.title = f"datasets of {source}"

    async def changes(self, portal: Portal) -> AsyncIterator[list[Change]]:
        """Yield a change for each dataset.

        Raises:
            AnswerError: the portal's packages can't be read, it has no such organization or harvest source, or too
                much is withdrawn.
        """
        there = deleted = 0
        owner = (await portal.read("organization_show", {"id": self.organization}) or {}).get("id")
        if not isinstance(owner, str):
            message = f"the portal has no organization {self.organization!r}, which is to own the packages"
            raise AnswerError("refused", message)
        listed_under = await _harvest_source(portal, self.harvest_source) if self.harvest_source else None
        schema = await portal.schema("dataset")
        declared = {fact: name for fact, name in extra_names().items() if name in schema}
        self.renamed = declared | self.renamed
        for held in self._documents():
            packages = await self._packages(portal, [one.dataset_id for _, one in held])
            found = [self._change(*one, packages.get(_guid(one[1].dataset_id)), owner, listed_under) for one in held]
            there += len(packages)
            deleted += sum(one is not None and one.operation == PackageRetire.name for one in found)
            yield [one for one in found if one]
        if 100 * deleted > self.max_deleted * there:
            share = f"{deleted} of {there} packages of {self.source} would be deleted, more than {self.max_deleted} %"
            message = f"{share}: nothing is published. If they are gone indeed, add --max-deleted 100"
            raise AnswerError("shrink", message)

    def _documents(self) -> Iterator[list[tuple[str, Held]]]:
        """Yield the status and what is known of some documents at a time."""
        last = ""
        with closing(connect(self.output)) as db:
            while rows := db.execute(_DOCUMENTS, (self.source, last, _PAGE)).fetchall():
                last = rows[-1]["dataset_id"]
                length = 0
                some: list[tuple[str, Held]] = []
                for row in rows:
                    length += len(row["dataset_id"])
                    if some and length > _LONGEST:
                        yield some
                        some, length = [], len(row["dataset_id"])
                    some.append((row["status"], Held(*row[1:])))
                yield some

    async def _packages(self, portal: Portal, ids: list[str]) -> dict[str, Record]:
        """Return the packages of some datasets, by their guid."""
        among, source = " OR ".join(_quoted(_guid(one)) for one in ids), _quoted(self.source)
        query = f"({_SOURCE}:{source} OR harvest_source_id:{source}) AND guid:({among})"
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
        packages: dict[str, Record] = {}
        for one in reversed(found):
            if isinstance(one, dict) and isinstance(one.get("id"), str):
                known = extras(one)
                if self._is_own(known) and isinstance(known.get("guid"), str):
                    packages[known["guid"]] = one
        return packages

    def _is_own(self, known: Record) -> bool:
        """Return whether a package is of this source, by its extras; those of earlier versions count."""
        return self.source == known.get(_SOURCE, known.get("harvest_source_id"))

    def _change(
        self, status: str, held: Held, record: Record | None, owner: str, listed_under: HarvestSource | None
    ) -> Change | None:
        """Return what is to be done for a dataset; ``None`` for one that is neither here nor there."""
        if status == "withdrawn":
            if record is None:
                return None
            about = {"subject": str(record["id"]), "title": str(record.get("title") or record.get("name"))}
            fields = [Field("state", record.get("state"), "deleted")]
            return Change(
                operation=PackageRetire.name, wanted={"name": str(record.get("name"))}, fields=fields, **about
            )
        try:
            dataset = item(self.output / self.source, held.dataset_id, held)
        except UNREADABLE as error:
            problem = f"{held.file} can't be read: {one_line(str(error))}"
            return Change(
                operation=PackageCreate.action, subject=held.dataset_id, title=held.dataset_id, problem=problem
            )
        wanted = package(dataset, owner, self.renamed, listed_under)
        if record is None:
            return _new(dataset, created(dataset, wanted))
        if extras(record).get("harvest_source_id") == self.source:
            wanted["extras"] = dict.fromkeys(_CLAIMED_ONCE) | wanted["extras"]
        return sync(record, wanted)


async def _harvest_source(portal: Portal, meant: str) -> HarvestSource:
    """Return the portal's harvest source of an id, name or address.

    Raises:
        AnswerError: there is none, or several have the address.
    """
    among = " OR ".join(f"{field}:{_quoted(meant)}" for field in ("id", "name", "url"))
    asked = {"fq": f"dataset_type:harvest AND ({among})", "rows": 100, "include_private": "true"}
    answer = await portal.read("package_search", asked) or {}
    listed: Any = answer.get("results")
    there = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    found = [one for one in there if one.get("type") == "harvest" and isinstance(one.get("id"), str)]
    found = [one for one in found if meant in (one["id"], one.get("name"), one.get("url"))]
    if len(found) != 1:
        lacks = f"no harvest source has the id, name or address {meant!r}: see {portal.url}/harvest, or leave it out"
        many = f"{len(found)} harvest sources have the address {meant!r}: give the name of the one that is meant"
        raise AnswerError("refused", many if found else lacks)
    return HarvestSource(found[0]["id"], str(found[0].get("title") or found[0].get("name")))


def _quoted(text: str) -> str:
    """Return a text as a phrase of a search."""
    return '"{}"'.format(re.sub(r'(["\\])', r"\\\1", text))


def _new(dataset: Dataset, body: Record) -> Change:
    fields = [Field(name, None, value) for name, value in body.items() if name not in ("extras", "tags", "resources")]
    fields += [Field(name, None, len(body[name])) for name in ("extras", "tags", "resources") if body[name]]
    title = dataset.title or dataset.id
    return Change(
        operation=PackageCreate.action, subject=body["name"], title=title, wanted={"package": body}, fields=fields
    )
