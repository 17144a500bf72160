"""A package of CKAN's action API, of any version since 2.7, as an item."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from crawlers import arguments
from crawlers.items import Agent, Dataset, License, Place, Relation, Resource, Service
from crawlers.kinds.ckan import hdx
from crawlers.records import values
from crawlers.records.languages import languages
from crawlers.records.lazy_dataset import LazyDataset
from crawlers.records.licenses import license as license_of
from crawlers.records.periods import between, frequency, period
from crawlers.records.places import country, places
from crawlers.records.record import Fields, Record, parse
from crawlers.records.values import checksum, code, duration, metres, relation
from crawlers.records.values import relations as relations_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crawlers.items import Document, Period


_RELATIONS = {
    "related_resource": "relation",
    "relation": "relation",
    "source": "source",
    "has_version": "hasVersion",
    "is_version_of": "isVersionOf",
    "in_series": "inSeries",
    "is_referenced_by": "isReferencedBy",
    "dataseries_name": "inSeries",  # HDX
}
"""The role of each field's values."""
_LIFECYCLE = ("active", "draft", "deleted", "inactive")
"""What CKAN itself writes into ``state``."""


def relations(fields: Record, *_: str) -> list[Relation]:
    return [*_named(fields), *_qualified(fields), *_related(fields)]


def _named(fields: Record) -> Iterator[Relation]:
    for name, role in _RELATIONS.items():
        if fields.fields.get(name):
            yield from relations_of(fields.texts(name), role)


def _qualified(fields: Record) -> Iterator[Relation]:
    if isinstance(fields.value("qualified_relation"), list):
        for each in fields.objects("qualified_relation"):
            role = (each.text("role") or "relation").rstrip("/").rpartition("/")[2].rpartition("#")[2]
            if found := relation(each.text("relation", "uri") or "", role):
                yield found


def _related(fields: Record) -> Iterator[Relation]:
    """Yield the packages of the same portal that CKAN's own relationships lead to: by id, as no address is known."""
    if isinstance(fields.value("relationships_as_subject"), list):
        for each in fields.objects("relationships_as_subject"):
            title, role = each.text("object", "comment"), each.text("type")
            if title:
                yield Relation(role=role or "relation", title=title)


def state(fields: Record, *_: str) -> str | None:
    """Return the region; CKAN has a ``state`` of its own, so only another field or an extra says it."""
    found = fields.text("province", "region")
    if found:
        return found
    extras = fields.data.get("extras")
    listed = extras if isinstance(extras, list) else []
    given = (each.get("value") for each in listed if isinstance(each, dict) and each.get("key") == "state")
    text = next((each for each in given if isinstance(each, str)), None) or fields.text("state")
    return text if text and text not in _LIFECYCLE else None


def services(fields: Record, *_: str) -> list[Service]:
    return [service for each in _services(fields) if (service := _service(each))]


def _services(fields: Record) -> Iterator[Record]:
    """Yield the services of a list, or of a list that is written as JSON."""
    given = fields.value("access_services")
    listed = parse(given) if isinstance(given, str) else given
    if isinstance(listed, list):
        yield from type(fields)({"access_services": listed}, fields.flaws, fields.path).objects("access_services")


def _service(fields: Record) -> Service | None:
    found = Service(**_SERVICE.read(fields))
    return found if found.uri or found.title or found.endpoint_url else None


def _license(fields: Record, *_: str) -> License | None:
    id_, url, title = fields.text("license_id", "license"), fields.text("license_url"), fields.text("license_title")
    return license_of(id_, url, title) if id_ or url or title else None


BY_KIND: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("text", "markdown"), Record.text),
    "address": Record.url,
    "moment": Record.date,
    **dict.fromkeys(("iri", "reference"), Record.text),
    **dict.fromkeys(("references", "addresses", "labels"), Record.texts),
    "languages": lambda fields, *names: languages(fields.texts(*names)),
    "code": lambda fields, *names: fields.read(code, *names),
    "frequency": lambda fields, *names: fields.read(frequency, *names),
    "metres": lambda fields, *names: fields.read(metres, *names),
    "license": _license,
    "duration": lambda fields, *names: fields.read(duration, *names),
}
"""What reads a field of each kind."""
_SERVICE = Fields.of(
    Service,
    "ckan",
    BY_KIND,
    {"endpoint_url": lambda fields, *names: next(iter(fields.texts(*names)), None)},  # a list, at ckanext-dcat
)


_ENORMOUS = 10**18  # bytes: a typing error
_ACCOUNT = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def lazily(record: dict[str, Any], *, source: str, portal: str, **given: Any) -> LazyDataset:
    """Return the item of one package as `dataset` does, mapped when a field is read that is not known at once.

    Args:
        given: fields that the record has not: where it came from.
    """
    fields = Record(record)
    return LazyDataset(
        partial(dataset, record, source=source, portal=portal),
        source=source,
        id=record["id"],
        name=fields.text("name"),
        title=fields.text("title", "title_translated"),
        metadata_modified=_stamp(fields),
        document=record,
        **given,
    )


def dataset(record: dict[str, Any], *, source: str, portal: str) -> Dataset:
    """Return the item of one package.

    ``record`` is what ``package_show`` and ``package_search`` give, with a text as ``id``; the rest may be anything. An
    extra counts as a field of its key (ckanext-dcat's, ckanext-scheming's and data.gov.uk's names are known).
    ``portal`` is the address under which the portal has ``/dataset/{name}``. What cannot be read is in ``flaws``.
    """
    fields, portal = Record(record), portal.rstrip("/")
    item = Dataset(source=source, id=record["id"], flaws=fields.flaws, document=record, **_PACKAGE.read(fields))
    item.identifier = fields.text("identifier", "guid") or record["id"]
    item.uri = fields.text("uri") or _page(portal, "dataset", record["id"])
    item.landing_page = _landing_page(fields, portal)
    item.publisher, item.contacts = _publisher(fields, portal), _contacts(fields)
    item.resources = _resources(fields, record["id"])
    item.metadata_modified = _stamp(fields)
    if hdx.recognised(record):
        hdx.complete(item, fields)
    item.derive()
    return item


def _page(portal: str, kind: str, name: str) -> str:
    return f"{portal}/{kind}/{quote(name, safe='', errors='replace')}"


def _landing_page(fields: Record, portal: str) -> str:
    given = values.url(fields.text("url") or "")
    if given and not given.lower().startswith("ftp:"):
        return given
    return _page(portal, "dataset", fields.text("name") or fields.data["id"])


def _stamp(fields: Record) -> str | None:
    stamp = fields.data.get("metadata_modified")
    return stamp if isinstance(stamp, str) and stamp.isascii() and stamp else fields.text("metadata_modified")


def _publisher(fields: Record, portal: str) -> Agent | None:
    organization = fields.value("organization")
    if isinstance(organization, dict):
        given = Record(organization, fields.flaws, f"{fields.path}organization.")
        name, title = given.text("name"), given.text("title", "display_name")
        if name or title:
            uri = _page(portal, "organization", name) if name else None
            return Agent(name=title or name, uri=uri, role="publisher")
    elif organization is not None:
        fields.mistyped("organization", organization, "an object")
    return _agent(fields, "publisher", "publisher_") or next(iter(_agents(fields, "publisher")), None)


def _contacts(fields: Record) -> list[Agent]:
    found = [
        _person(fields, "author", "creator"),
        _person(fields, "maintainer", "maintainer"),
        _agent(fields, "contact", "contact_"),
        *_agents(fields, "creator"),
        *_agents(fields, "contact"),
    ]
    return [agent for agent in found if agent]


def _person(fields: Record, field: str, role: str) -> Agent | None:
    name, email = fields.text(field), fields.email(f"{field}_email")
    if name and _ACCOUNT.fullmatch(name):
        name = None
    return Agent(name=name, email=email, role=role) if name or email else None


def _agent(fields: Record, role: str, prefix: str = "") -> Agent | None:
    agent = Agent(
        name=fields.text(f"{prefix}name"),
        uri=fields.text(f"{prefix}uri"),
        email=fields.email(f"{prefix}email"),
        url=fields.url(f"{prefix}url"),
        role=role,
    )
    return agent if agent.name or agent.uri or agent.email or agent.url else None


def _agents(fields: Record, role: str) -> list[Agent]:
    """Return the agents of the lists, named as their roles, that ckanext-dcat's schema for ckanext-scheming has."""
    if not isinstance(fields.value(role), list):
        return []
    return [agent for each in fields.objects(role) if (agent := _agent(each, role))]


def _labels(fields: Record, name: str, keys: tuple[str, ...], other: str) -> list[str]:
    """Return a text for each object of a list, from the first of ``keys`` it has, then those of another field."""
    found = [_label(fields, *given, keys) for given in fields.items(name)]
    return list(dict.fromkeys(filter(None, (*found, *fields.texts(other)))))


def _label(fields: Record, place: str, value: Any, keys: tuple[str, ...]) -> str | None:
    if not isinstance(value, dict):  # old CKANs list bare texts
        return fields.as_text(place, value)
    for key in keys:
        inner = value.get(key)
        if inner and (
            text := values.text(inner) if isinstance(inner, str) else fields.as_text(f"{place}.{key}", inner)
        ):
            return text
    if not any(value.get(key) for key in keys):
        fields.flaw(f"{fields.path}{place} has no {keys[-1]}", place, "missing_value")
    return None


def _temporal(fields: Record, *_: str) -> Period | None:
    start = fields.date("temporal_start", "temporal_coverage-from", "temporal_coverage_from")
    end = fields.date("temporal_end", "temporal_coverage-to", "temporal_coverage_to")
    if found := between(start, end):
        return found
    if not isinstance(fields.value("temporal_coverage"), list):
        return fields.read(period, "temporal_coverage")
    periods = (between(each.date("start"), each.date("end")) for each in fields.objects("temporal_coverage"))
    return next(filter(None, periods), None)


def _spatial(fields: Record, *_: str) -> list[Place]:
    """Return the place that ckanext-dcat's extras describe, and those that its schema for ckanext-scheming lists."""
    found = places(fields, "spatial")
    name, uri = fields.text("spatial_text"), fields.text("spatial_uri")
    if name or uri:
        if len(found) != 1:
            found.insert(0, Place())
        found[0].name, found[0].uri = name or found[0].name, uri or found[0].uri
        found[0].code = found[0].code or country(uri)
    named = [Place(name=name) for name in fields.texts("geographic_coverage")]
    return [*found, *places(fields, "spatial_coverage"), *named]


def _resources(fields: Record, dataset_id: str) -> list[Resource]:
    if not isinstance(fields.data.get("resources"), list):
        fields.flaw("the record has no list of resources", "resources", "missing_value")
        return []
    return [_resource(each, dataset_id) for each in fields.objects("resources")]


def _resource(fields: Record, dataset_id: str) -> Resource:
    url = fields.url("url")
    resource = Resource(
        id=_resource_id(fields, dataset_id), dataset_id=dataset_id, document=fields.data, **_RESOURCE.read(fields)
    )
    resource.url, resource.access_url = url, resource.access_url or url
    resource.stated_url = None if url else fields.text("url")
    resource.download_url = resource.download_url or (url if fields.text("url_type") == "upload" else None)
    return resource


def _size(fields: Record, *_: str) -> int | None:
    given = fields.fields.get("size")
    return (given if type(given) is int and 0 <= given < _ENORMOUS else fields.read(values.size, "size")) or None


def _resource_id(fields: Record, dataset_id: str) -> str:
    if found := fields.text("id"):
        return found
    place = fields.path.removesuffix(".")
    fields.flaw(f"{place} has no id", "id", "missing_value")
    return f"{dataset_id}-{place.removeprefix('resources[')[:-1]}"


_PACKAGE = Fields.of(
    Dataset,
    "ckan",
    BY_KIND,
    {
        "keywords": lambda fields, *_: values.keywords(_labels(fields, "tags", ("display_name", "name"), "keywords")),
        "themes": lambda fields, *_: _labels(fields, "groups", ("title", "display_name", "name"), "theme"),
        "temporal": _temporal,
        "spatial": _spatial,
        "state": state,
        "relations": relations,
    },
    without=("identifier", "uri", "landing_page", "caveats", "data_modified", "metadata_modified"),
)
_RESOURCE = Fields.of(
    Resource,
    "ckan",
    BY_KIND,
    {
        "format": lambda fields, *names: values.file_format(fields.text(*names) or ""),
        "media_type": lambda fields, *names: values.media_type(fields.text(*names) or ""),
        "size": _size,
        "checksum": lambda fields, *_: checksum(fields.text("hash"), fields.text("hash_algorithm")),
        "access_url": lambda fields, *_: fields.url("access_url"),
        "access_services": services,
    },
    without=("url",),
)


def read(document: Document, source: str, dataset_id: str, metadata_url: str) -> Dataset:
    """Return the item of a document on disk, which is a package dict.

    Raises:
        ValueError: it is another dataset's.
    """
    if document.get("id") != dataset_id:
        raise ValueError(f"it is not the record of {dataset_id}")
    return dataset(document, source=source, portal=arguments.portal(metadata_url.partition("?")[0]))
