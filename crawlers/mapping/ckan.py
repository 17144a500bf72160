"""A package of CKAN's action API, of any version since 2.7, as an item."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from crawlers.items import Agent, Dataset, Period, Place, Resource
from crawlers.mapping import hdx, values
from crawlers.mapping.checksums import checksum
from crawlers.mapping.frequencies import frequency
from crawlers.mapping.languages import languages
from crawlers.mapping.licenses import license as license_of
from crawlers.mapping.periods import period
from crawlers.mapping.places import place
from crawlers.mapping.record import Record

if TYPE_CHECKING:
    from crawlers.items import License

_ACCOUNT = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def dataset(record: dict[str, Any], *, source: str, portal: str) -> Dataset:
    """The item of one package.

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
        keywords=_keywords(fields),
        themes=_themes(fields),
        languages=languages(fields.texts("language")),
        license=_license(fields, "license_id", "license"),
        access_rights=fields.text("access_rights"),
        rights=fields.text("rights"),
        frequency=_frequency(fields),
        temporal=_temporal(fields),
        spatial=_spatial(fields),
        conforms_to=fields.texts("conforms_to"),
        provenance=fields.text("provenance"),
        resources=_resources(fields, record["id"]),
        metadata_modified=_stamp(fields),
        flaws=fields.flaws,
        document=record,
    )
    if hdx.recognised(record):
        hdx.complete(item, fields)
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
    organization = fields.object("organization")
    name = organization.text("name") if organization else None
    title = organization.text("title", "display_name") if organization else None
    if name or title:
        return Agent(name=title or name, uri=_page(portal, "organization", name) if name else None, role="publisher")
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
    """ckanext-dcat's schema for ckanext-scheming has lists of agents, named as their roles."""
    if not isinstance(fields.value(role), list):
        return []
    return [agent for one in fields.objects(role) if (agent := _agent(one, role))]


def _keywords(fields: Record) -> list[str]:
    return _unique(fields.labels("tags", "display_name", "name"), fields.texts("keywords"))


def _themes(fields: Record) -> list[str]:
    return _unique(fields.labels("groups", "title", "display_name", "name"), fields.texts("theme"))


def _unique(first: list[str], second: list[str]) -> list[str]:
    return list(dict.fromkeys((*first, *second))) if second else first


def _license(fields: Record, *ids: str) -> License | None:
    id_, url, title = fields.text(*ids), fields.text("license_url"), fields.text("license_title")
    return license_of(id_, url, title) if id_ or url or title else None


def _frequency(fields: Record) -> str | None:
    names = ("frequency", "accrual_periodicity", "accrualPeriodicity", "update_frequency")
    return fields.read(frequency, *names)


def _temporal(fields: Record) -> Period | None:
    start = fields.date("temporal_start", "temporal_coverage-from", "temporal_coverage_from")
    end = fields.date("temporal_end", "temporal_coverage-to", "temporal_coverage_to")
    if start or end:
        return Period(start=start, end=end)
    if not isinstance(fields.value("temporal_coverage"), list):
        return fields.read(period, "temporal_coverage")
    periods = (Period(start=one.date("start"), end=one.date("end")) for one in fields.objects("temporal_coverage"))
    return next((one for one in periods if one.start or one.end), None)


def _spatial(fields: Record) -> list[Place]:
    """ckanext-dcat's extras describe one place, its schema for ckanext-scheming has a list of them."""
    found = [_place(fields, "spatial", "spatial_")]
    if isinstance(fields.value("spatial_coverage"), list):
        found += [_place(one, "geom") for one in fields.objects("spatial_coverage")]
    named = [Place(name=name) for name in fields.texts("geographic_coverage")]
    return [one for one in (*found, *named) if one]


def _place(fields: Record, geometry: str, prefix: str = "") -> Place | None:
    given = fields.value(geometry)
    found = None if given is None else place(given)
    name, uri = fields.text(f"{prefix}text"), fields.text(f"{prefix}uri")
    if not found and not name and not uri:
        return None
    found = found or Place()
    found.name, found.uri = name or found.name, uri or found.uri
    return found


def _resources(fields: Record, dataset_id: str) -> list[Resource]:
    if not isinstance(fields.data.get("resources"), list):
        fields.flaw("the record has no list of resources")
        return []
    return [_resource(one, dataset_id) for one in fields.objects("resources")]


def _resource(fields: Record, dataset_id: str) -> Resource:
    url = fields.url("url")
    download_url = fields.url("download_url")
    if not download_url and fields.text("url_type") == "upload":
        download_url = url
    return Resource(
        id=_resource_id(fields, dataset_id),
        dataset_id=dataset_id,
        title=fields.text("name", "name_translated"),
        description=fields.text("description", "description_translated"),
        url=url,
        access_url=fields.url("access_url") or url,
        download_url=download_url,
        format=values.file_format(fields.text("format") or ""),
        media_type=values.media_type(fields.text("mimetype", "content_type") or ""),
        size=fields.read(values.size, "size") or None,
        checksum=checksum(fields.text("hash"), fields.text("hash_algorithm")),
        issued=fields.date("issued", "created"),
        modified=fields.date("modified", "last_modified", "metadata_modified"),
        license=_license(fields, "license_id", "license"),
        languages=languages(fields.texts("language")),
        rights=fields.text("rights"),
        conforms_to=fields.texts("conforms_to"),
        document=fields.data,
    )


def _resource_id(fields: Record, dataset_id: str) -> str:
    if found := fields.text("id"):
        return found
    place = fields.path.removesuffix(".")
    fields.flaw(f"{place} has no id")
    return f"{dataset_id}-{place.removeprefix('resources[')[:-1]}"
