"""A package of CKAN's action API, of any version since 2.7, as an item."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from crawlers import arguments, values
from crawlers.items import Agent, Dataset, Place, Resource
from crawlers.kinds.ckan import details, hdx
from crawlers.values.checksums import checksum
from crawlers.values.frequencies import frequency
from crawlers.values.languages import languages
from crawlers.values.lazy_dataset import LazyDataset
from crawlers.values.licenses import license as license_of
from crawlers.values.periods import between, period
from crawlers.values.places import place as place_of
from crawlers.values.record import Record

if TYPE_CHECKING:
    from crawlers.items import Document, License, Period

_FREQUENCIES = ("frequency", "accrual_periodicity", "accrualPeriodicity", "update_frequency")
_OPTIONAL = ("license_id", "license", "license_url", "license_title", "language", "rights", "conforms_to")
"""Fields that few portals have for a resource: where none is there, none is read."""
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
    item = Dataset(
        source=source,
        id=record["id"],
        identifier=fields.text("identifier", "guid") or record["id"],
        uri=fields.text("uri") or _page(portal, "dataset", record["id"]),
        name=fields.text("name"),
        title=fields.text("title", "title_translated"),
        description=fields.text("notes", "notes_translated"),
        landing_page=_landing_page(fields, portal),
        issued=fields.date("issued", "metadata_created"),
        modified=fields.date("modified", "metadata_modified"),
        version=fields.text("version"),
        publisher=_publisher(fields, portal),
        contacts=_contacts(fields),
        keywords=values.keywords(_labels(fields, "tags", ("display_name", "name"), "keywords")),
        themes=_labels(fields, "groups", ("title", "display_name", "name"), "theme"),
        languages=languages(fields.texts("language")),
        license=_license(fields),
        access_rights=fields.text("access_rights"),
        rights=fields.text("rights"),
        frequency=fields.read(frequency, *_FREQUENCIES),
        temporal=_temporal(fields),
        spatial=_spatial(fields),
        conforms_to=fields.texts("conforms_to"),
        provenance=fields.text("provenance"),
        resources=_resources(fields, record["id"]),
        metadata_modified=_stamp(fields),
        flaws=fields.flaws,
        document=record,
    )
    details.complete(item, fields)
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


def _license(fields: Record) -> License | None:
    id_, url, title = fields.text("license_id", "license"), fields.text("license_url"), fields.text("license_title")
    return license_of(id_, url, title) if id_ or url or title else None


def _temporal(fields: Record) -> Period | None:
    start = fields.date("temporal_start", "temporal_coverage-from", "temporal_coverage_from")
    end = fields.date("temporal_end", "temporal_coverage-to", "temporal_coverage_to")
    if found := between(start, end):
        return found
    if not isinstance(fields.value("temporal_coverage"), list):
        return fields.read(period, "temporal_coverage")
    periods = (between(each.date("start"), each.date("end")) for each in fields.objects("temporal_coverage"))
    return next(filter(None, periods), None)


def _spatial(fields: Record) -> list[Place]:
    """Return the place that ckanext-dcat's extras describe, and those that its schema for ckanext-scheming lists."""
    found = [_place(fields, "spatial", "spatial_")]
    if isinstance(fields.value("spatial_coverage"), list):
        found += [_place(each, "geom") for each in fields.objects("spatial_coverage")]
    named = [Place(name=name) for name in fields.texts("geographic_coverage")]
    return [each for each in (*found, *named) if each]


def _place(fields: Record, geometry: str, prefix: str = "") -> Place | None:
    given = fields.value(geometry)
    found = None if given is None else place_of(given)
    name, uri = fields.text(f"{prefix}text"), fields.text(f"{prefix}uri")
    if not found and not name and not uri:
        return None
    found = found or Place()
    found.name, found.uri = name or found.name, uri or found.uri
    return found


def _resources(fields: Record, dataset_id: str) -> list[Resource]:
    if not isinstance(fields.data.get("resources"), list):
        fields.flaw("the record has no list of resources", "resources", "missing_value")
        return []
    return [_resource(each, dataset_id) for each in fields.objects("resources")]


def _resource(fields: Record, dataset_id: str) -> Resource:
    url = fields.url("url")
    download_url = fields.url("download_url")
    if not download_url and fields.text("url_type") == "upload":
        download_url = url
    resource = Resource(
        id=_resource_id(fields, dataset_id),
        dataset_id=dataset_id,
        title=fields.text("name", "name_translated"),
        description=fields.text("description", "description_translated"),
        url=url,
        access_url=fields.url("access_url") or url,
        download_url=download_url,
        format=values.file_format(fields.text("format") or ""),
        media_type=values.media_type(fields.text("mimetype", "content_type") or ""),
        size=_size(fields),
        checksum=checksum(fields.text("hash"), fields.text("hash_algorithm")),
        issued=fields.date("issued", "created"),
        modified=fields.date("modified", "last_modified", "metadata_modified"),
        document=fields.data,
    )
    if not fields.fields.keys().isdisjoint(_OPTIONAL):
        resource.license = _license(fields)
        resource.languages = languages(fields.texts("language"))
        resource.rights = fields.text("rights")
        resource.conforms_to = fields.texts("conforms_to")
    details.complete_file(resource, fields)
    return resource


def _size(fields: Record) -> int | None:
    given = fields.fields.get("size")
    return (given if type(given) is int and 0 <= given < _ENORMOUS else fields.read(values.size, "size")) or None


def _resource_id(fields: Record, dataset_id: str) -> str:
    if found := fields.text("id"):
        return found
    place = fields.path.removesuffix(".")
    fields.flaw(f"{place} has no id", "id", "missing_value")
    return f"{dataset_id}-{place.removeprefix('resources[')[:-1]}"


def read(document: Document, source: str, dataset_id: str, metadata_url: str) -> Dataset:
    """Return the item of a document on disk, which is a package dict.

    Raises:
        ValueError: it is another dataset's.
    """
    if document.get("id") != dataset_id:
        raise ValueError(f"it is not the record of {dataset_id}")
    return dataset(document, source=source, portal=arguments.portal(metadata_url.partition("?")[0]))
