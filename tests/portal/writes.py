"""CKAN's write actions: what an editor's token may do with packages and resources."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from tests.portal import data
from tests.portal.actions import (
    InvalidParameterError,
    NotAuthorizedError,
    NotFoundError,
    Portal,
    action,
    asked,
    success,
)
from tests.portal.catalogue import Dataset
from tests.portal.data import Package, Resource
from tests.portal.message import Answer, Request
from tests.portal.vocabulary import ORGANIZATIONS

WRITE_TOKEN = "a-token-that-may-write"
CORE = frozenset(
    "author author_email creator_user_id extras groups id isopen license_id license_title license_url maintainer "
    "maintainer_email metadata_created metadata_modified name notes num_resources num_tags organization owner_org "
    "private relationships_as_object relationships_as_subject resources state tags title type url version".split()
)
"""The fields of a package without a schema of its own; others are dropped without a word, as CKAN does."""
INTEGERS = re.compile(r"num_|stars|_count$|total_releases|open_issues")
"""The fields that a schema of the ecosystem's catalogue checks with int_validator."""
DATES = ("created", "last_modified", "cache_last_updated")
"""The fields of a resource that CKAN checks with isodate, which takes no zone and no month alone."""
COLUMNS = ("name", "description", "size", "mimetype", "hash", "cache_url", *DATES)
"""The fields of a resource that CKAN keeps when it gets null or nothing; an empty text empties them."""
FORMATS = {"csv": "CSV", "geojson": "GeoJSON", "jpg": "JPEG", "shapefile": "SHP", "excel": "XLS", "our own": "OURS"}
"""What CKAN makes of a resource's format; each portal may have names of its own."""
DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{6})?)?)?")


class MayNotWriteError(NotAuthorizedError):
    """The token is none, or may not do this."""

    answer = (403, "Authorization Error", "Access denied: User not authorized to edit")


def authorise(request: Request) -> None:
    if request.token != WRITE_TOKEN or request.method != "POST":
        raise MayNotWriteError


@contextmanager
def writing(portal: Portal, request: Request) -> Iterator[None]:
    """One write at a time, by a token that may."""
    authorise(request)
    with portal.catalogue.lock:
        yield


def existing(portal: Portal, key: str) -> Dataset:
    """A dataset that an editor may change, a deleted one too."""
    deleted = portal.catalogue.deleted
    found = portal.catalogue.get(key) or deleted.get(key)
    found = found or next((one for one in deleted.values() if one.term("name") == key), None)
    if not found:
        raise NotFoundError
    return found


@action
def package_patch(portal: Portal, request: Request) -> Answer:
    with writing(portal, request):
        given = dict(request.parameters)
        before = existing(portal, asked(request, "id", "id")).package
        return answered(request, "package_patch", kept(portal, {**before, **given, "id": before["id"]}, before))


@action
def package_update(portal: Portal, request: Request) -> Answer:
    """What is not given is gone, but for what CKAN itself sets."""
    with writing(portal, request):
        before = existing(portal, asked(request, "id", "id", "name")).package
        own: Package = {
            name: before[name] for name in ("id", "metadata_created", "creator_user_id", "type") if name in before
        }
        return answered(request, "package_update", kept(portal, {**request.parameters, **own}, before))


@action
def package_create(portal: Portal, request: Request) -> Answer:
    with writing(portal, request):
        given = {"type": "dataset", "state": "active", "private": False, **request.parameters}
        if "id" in given:
            raise InvalidParameterError("id", "The input field id was not expected.")
        if not given.get("owner_org"):
            raise InvalidParameterError("owner_org", "Missing value")
        package = {"id": str(uuid4()), **given, "metadata_created": now()}
        return answered(request, "package_create", kept(portal, package, {}))


@action
def package_delete(portal: Portal, request: Request) -> Answer:
    with writing(portal, request):
        portal.catalogue.remove(existing(portal, asked(request, "id", "id")).id)
        return success(request, "package_delete", b"null")


def kept(portal: Portal, package: Package, before: Package) -> Package:
    """The package as it is kept after a write; one that did not change keeps its stamp."""
    check(portal, package)
    package = normalised(portal, package, before)
    if {**package, "metadata_modified": ""} == {**before, "metadata_modified": ""}:
        return before
    if "still_stamps" not in portal.faults.on or not before:
        package["metadata_modified"] = now()
    portal.catalogue.put(package)
    if package["state"] == "deleted":
        portal.catalogue.remove(package["id"])
    return package


def check(portal: Portal, package: Package) -> None:
    name = package.get("name")
    if not isinstance(name, str) or not re.fullmatch(r"[a-z0-9_-]{2,100}", name.lower()):
        raise InvalidParameterError("name", "Must be purely lowercase alphanumeric (ascii) characters and these: -_")
    taken = {one.term("name"): one.id for one in [*portal.catalogue.deleted.values(), *portal.catalogue.ordered("")]}
    if taken.get(name, package["id"]) != package["id"]:
        raise InvalidParameterError("name", "That URL is already in use.")
    invalid = portal.faults.on.get("invalid")
    if invalid and invalid.value in {package["id"], name}:
        raise InvalidParameterError("num_datasets", "Invalid integer")
    for key, value in package.items():
        if INTEGERS.search(key) and value not in (None, "") and not re.fullmatch(r"-?\d+", str(value)):
            raise InvalidParameterError(key, "Invalid integer")
    if package.get("owner_org") and organization(package["owner_org"]) is None:
        raise InvalidParameterError("owner_org", "Organization does not exist")
    if any(one.get(name) and not DATE.fullmatch(one[name]) for one in package.get("resources") or [] for name in DATES):
        raise InvalidParameterError("resources", "Date format incorrect")
    check_extras(portal, package)


def check_extras(portal: Portal, package: Package) -> None:
    keys = [one.get("key") for one in package.get("extras") or []]
    if len(set(keys)) != len(keys):
        raise InvalidParameterError("extras", "Duplicate key")
    if set(keys) & known_fields(portal, package):
        raise InvalidParameterError("extras", "There is a schema field with the same name")


def known_fields(portal: Portal, package: Package) -> frozenset[str]:
    return CORE | set(portal.schemas.get(str(package.get("type")), ()))


def normalised(portal: Portal, package: Package, before: Package) -> Package:
    """As package_show gives it: fields without a value or a schema are gone, extras are texts in the order of keys."""
    forgotten = portal.faults.on.get("forgets")
    known = known_fields(portal, package) - {forgotten.value if forgotten else ""}
    made = {
        name: value for name, value in package.items() if name in known and (name in CORE or value not in ("", None))
    }
    extras = [{"key": one["key"], "value": str(one["value"])} for one in package.get("extras") or []]
    known_resources = {one["id"]: one for one in before.get("resources") or []}
    resources = [
        resource(one, made["id"], position, known_resources.get(one.get("id"), {}))
        for position, one in enumerate(made.get("resources") or [])
    ]
    return {
        **made,
        "extras": sorted(extras, key=lambda one: one["key"]),
        "resources": resources,
        "num_resources": len(resources),
        "tags": [tag if "id" in tag else {**tag, "display_name": tag["name"]} for tag in package.get("tags") or []],
        "groups": package.get("groups") or [],
        "organization": organization(str(package.get("owner_org"))),
        "metadata_modified": package.get("metadata_modified", ""),
    }


def resource(given: Resource, package_id: str, position: int, before: Resource) -> Resource:
    kept = {name: before[name] for name in COLUMNS if given.get(name) is None and name in before}
    if format_ := FORMATS.get(str(given.get("format")).lower()):
        given = {**given, "format": format_}
    emptied = {name: None for name in ("size", *DATES) if given.get(name) == ""}
    return {"id": str(uuid4()), **given, **kept, **emptied, "package_id": package_id, "position": position}


def organization(key: str) -> Package | None:
    """By id or by name."""
    return next(
        (one for one in map(data.organization, range(len(ORGANIZATIONS))) if key in (one["id"], one["name"])), None
    )


@action
def organization_show(_portal: Portal, request: Request) -> Answer:
    found = organization(asked(request, "id", "id"))
    if not found:
        raise NotFoundError
    return answered(request, "organization_show", found)


@action
def scheming_dataset_schema_show(portal: Portal, request: Request) -> Answer:
    """The schema of a type, where ckanext-scheming is installed."""
    fields = portal.schemas.get(asked(request, "type", "type"))
    if fields is None:
        raise NotFoundError
    schema = {"dataset_type": request.text("type"), "dataset_fields": [{"field_name": name} for name in fields]}
    return answered(request, "scheming_dataset_schema_show", schema)


@action
def resource_patch(portal: Portal, request: Request) -> Answer:
    with writing(portal, request):
        package, before = found_resource(portal, asked(request, "id", "id"))
        after = {**before, **request.parameters, "id": before["id"]}
        resources = [after if one["id"] == before["id"] else one for one in package["resources"]]
        kept(portal, {**package, "resources": resources}, package)
        return answered(request, "resource_patch", found_resource(portal, before["id"])[1])


@action
def resource_delete(portal: Portal, request: Request) -> Answer:
    with writing(portal, request):
        package, gone = found_resource(portal, asked(request, "id", "id"))
        kept(portal, {**package, "resources": [one for one in package["resources"] if one is not gone]}, package)
        portal.tables.pop(gone["id"], None)
        return success(request, "resource_delete", b"null")


def found_resource(portal: Portal, resource_id: str) -> tuple[Package, Resource]:
    found = portal.catalogue.resource(resource_id)
    if not found:
        raise NotFoundError
    return found


def answered(request: Request, name: str, result: Any) -> Answer:
    return success(request, name, json.dumps(result).encode())


def now() -> str:
    return datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="microseconds")
