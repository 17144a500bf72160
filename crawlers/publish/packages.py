"""A dataset of any kind of catalogue as a package of CKAN."""

from __future__ import annotations

import hashlib
import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from crawlers.publish.record import as_moment, is_nothing
from crawlers.records.tables import toml_table
from crawlers.safety.names import safe, slug

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crawlers.items import Dataset, Resource

Package = dict[str, Any]

_SLUG = 80  # CKAN takes names of 100 characters
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


def origin(source: str, dataset_id: str) -> dict[str, str]:
    """Return the extras that identify a package, named as ckanext-harvest and ckanext-dcat name theirs.

    >>> origin("bern", "https://example.org/d/1")["harvest_object_id"][:16]
    'sha256-e7c3dc9ba'
    """
    return {"harvest_source_id": source, "harvest_object_id": safe(dataset_id), "guid": dataset_id}


def package(dataset: Dataset, organization: str, renamed: Mapping[str, str]) -> Package:
    """Return the package that a dataset is to have.

    Args:
        organization: the name or id of the organisation that owns it.
        renamed: fields of the portal's schema by the facts that go into them instead of into extras.

    Returns:
        ``fields`` and ``extras`` by name, ``tags`` as names, and ``resources``; what is not known is in none of them.
    """
    known = facts(dataset)
    extras = {name: _text(known[fact]) for fact, name in extra_names().items() if fact in known and fact not in renamed}
    fields = _fields(dataset) | {renamed[fact]: _flat(value) for fact, value in known.items() if fact in renamed}
    return {
        "fields": {"owner_org": organization, **fields},
        "extras": extras | origin(dataset.source, dataset.id),
        "tags": tags(dataset.keywords),
        "resources": [_resource(one) for one in dataset.resources],
    }


def created(dataset: Dataset, wanted: Package) -> Package:
    """Return what package_create takes."""
    return {
        "title": dataset.name or dataset.id,
        **wanted["fields"],
        "name": package_name(dataset),
        "extras": [{"key": key, "value": value} for key, value in wanted["extras"].items()],
        "tags": [{"name": name} for name in wanted["tags"]],
        "resources": wanted["resources"],
    }


def package_name(dataset: Dataset) -> str:
    """Return the name of a new package: readable, and that of no other dataset."""
    mark = hashlib.sha256(f"{dataset.source}\0{dataset.id}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
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
