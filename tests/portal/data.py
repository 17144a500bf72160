"""The portal's datasets: invented, the same on every run, shaped like those of the Humanitarian Data Exchange."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import md5
from html import escape
from typing import Any
from uuid import NAMESPACE_DNS, UUID, uuid5

from tests.portal.vocabulary import (
    CAVEATS,
    COUNTRIES,
    FORMATS,
    FREQUENCIES,
    LICENSES,
    METHODOLOGIES,
    ORGANIZATIONS,
    SENTENCES,
    TITLES,
    TOPICS,
)

Package = dict[str, Any]
Resource = dict[str, Any]

FILES = "https://files.example.org"
LOWEST_ID = "00000000-0000-4000-8000-000000000001"
HIGHEST_ID = "ffffffff-ffff-4fff-bfff-fffffffffffe"

NAMESPACE = uuid5(NAMESPACE_DNS, "portal.example.org")
VOCABULARY_ID = str(UUID(int=uuid5(NAMESPACE, "vocabulary").int, version=4))
FIRST_DAY = datetime(2019, 3, 1, 6, 30, tzinfo=UTC)
DAYS = 2_700
NAME_LENGTH = 100


def packages(count: int, resources: int = 3) -> Iterator[Package]:
    """`count` datasets as CKAN's package_show gives them; `cod-ab-global` is the first."""
    return (package(index, resources) for index in range(count))


def package(index: int, resources: int = 3, dataset_id: str = "") -> Package:
    dataset_id = dataset_id or identifier("dataset", index)
    country, topic = COUNTRIES[index % len(COUNTRIES)], _topic(index)
    tags = [] if index % 23 == 11 else [{**_tag(name)} for name in topic[1]]
    return {
        "id": dataset_id,
        **_words(index, country[1], topic[0]),
        **_times(index),
        **_flags(index, tags),
        **_license(index),
        "groups": [] if index % 31 == 30 else [_group(*country)],
        "num_resources": resources,
        "num_tags": len(tags),
        "organization": {**organization(index % len(ORGANIZATIONS))},
        "owner_org": identifier("organization", index % len(ORGANIZATIONS)),
        "maintainer": identifier("user", index % 50),
        "creator_user_id": identifier("user", index % 7),
        "package_creator": f"editor_{index % 7}",
        "solr_additions": json.dumps({"countries": [country[1]]}),
        "resources": [_resource(index, position, dataset_id) for position in range(resources)],
        "tags": tags,
        "relationships_as_subject": [],
        "relationships_as_object": [],
    }


def evil_packages() -> Iterator[Package]:
    """Datasets whose ids name other folders when a careless reader makes file names of them."""
    for index, dataset_id in enumerate(("../../evil", 'a/b c"d', ".."), start=9_000_000):
        evil = package(index, 1, dataset_id)
        evil["title"] = f"\x1b[31mred alert\x1b[0m\nsecond line\r\n\tof {index}\x00"
        evil["resources"][0]["id"] = "../x" if dataset_id == ".." else f"{dataset_id}-file"
        yield evil


def identifier(*parts: object) -> str:
    """Looks random like CKAN's own ids, but is the same on every run and in another order than the index."""
    return str(UUID(int=uuid5(NAMESPACE, " ".join(map(str, parts))).int, version=4))


def moment(days: float, microsecond: int) -> str:
    """UTC without a zone, as CKAN writes it."""
    time = FIRST_DAY + timedelta(days=days, microseconds=microsecond)
    return time.replace(tzinfo=None).isoformat(timespec="microseconds")


def later(time: str, days: int = 1) -> str:
    return (datetime.fromisoformat(time) + timedelta(days=days)).isoformat(timespec="microseconds")


def _topic(index: int) -> tuple[str, tuple[str, ...]]:
    """Every country comes to have every topic."""
    return TOPICS[(index + index // len(COUNTRIES)) % len(TOPICS)]


def _words(index: int, country: str, topic: str) -> Package:
    notes = " ".join(SENTENCES[(index + step) % len(SENTENCES)] for step in range(2 + index % 2))
    methodology = METHODOLOGIES[index % len(METHODOLOGIES)]
    words = {
        "name": _name(index, country, topic),
        "title": TITLES[index % len(TITLES)].format(country=country, topic=topic),
        "notes": f"{notes}\n\n# Scope\n* by district\n".format(country=country, topic=topic),
        "dataset_source": f"Field offices, {ORGANIZATIONS[index // 2 % len(ORGANIZATIONS)][1]}",
        "methodology": methodology,
        "caveats": CAVEATS[index % len(CAVEATS)],
    }
    if methodology == "Other":
        words["methodology_other"] = "Phone calls.\r\nThen a second visit."
    if index == 0:
        words |= {"name": "cod-ab-global", "title": "Administrative boundaries of the whole world, joined at the edges"}
    return words


def _name(index: int, country: str, topic: str) -> str:
    name = f"{_slug(country)}-{_slug(topic)}-{index}"
    if index % 17 == 5:
        return f"{name}-{'with-a-very-long-name' * 5}"[:NAME_LENGTH].rstrip("-")
    if index % 17 == 9:
        return name.replace("-", "--", 2)
    return name.upper() if index % 17 == 13 else name


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _times(index: int) -> Package:
    created = index * 37 % DAYS
    modified = created + 1 + index * 101 % (DAYS + 80 - created)
    end = "*" if index % 4 == 1 else moment(created, 0)[:10] + "T23:59:59"
    return {
        "metadata_created": moment(created, 568_190 + index % 1000),
        "metadata_modified": moment(modified + index % 977 / 1000, 925_376 + index % 1000),
        "last_modified": moment((created + modified) / 2, 41_206 + index % 1000),
        "dataset_date": f"[2010-06-30T00:00:00 TO {end}]",
        "data_update_frequency": list(FREQUENCIES)[index % len(FREQUENCIES)],
    }


def _flags(index: int, tags: list[Package]) -> Package:
    return {
        "archived": index % 40 == 7,
        "batch": identifier("batch", index // 10),
        "cod_level": "cod-standard" if index % 10 == 0 else "not-cod",
        "dataset_preview": "no_preview",
        "has_geodata": any(tag["name"] == "geodata" for tag in tags) and index % 5 != 0,
        "has_quickcharts": False,
        "has_showcases": index % 6 == 0,
        "is_requestdata_type": False,
        "isopen": index % 6 < 3,
        "pageviews_last_14_days": index % 90,
        "private": False,
        "qa_completed": False,
        "state": "active",
        "subnational": str(index % 2),
        "total_res_downloads": index * 13 % 4_000,
        "type": "dataset",
        "updated_by_script": f"Field Scraper: {index % 5} (2026-01-01T00:00:00.000001)",
        "url": None,
        "version": None,
    }


def _license(index: int) -> Package:
    key, title, url = LICENSES[index % len(LICENSES)]
    license_ = {"license_id": key, "license_title": title}
    if url is not None:
        license_["license_url"] = url
    if key == "hdx-other":
        license_["license_other"] = "Free for anybody who says where it is from.\r\nNo warranty."
    return license_


def _group(code: str, name: str) -> Package:
    return {"description": "", "display_name": name, "id": code, "image_display_url": "", "name": code, "title": name}


@cache
def _tag(name: str) -> Package:
    return {
        "display_name": name,
        "id": identifier("tag", name),
        "name": name,
        "state": "active",
        "vocabulary_id": VOCABULARY_ID,
    }


@cache
def organization(index: int) -> Package:
    name, title = ORGANIZATIONS[index]
    return {
        "id": identifier("organization", index),
        "name": name,
        "title": title,
        "type": "organization",
        "description": f"{title} collects, checks and gives away what it measures.",
        "image_url": "",
        "created": moment(-300 - index, 542_670),
        "is_organization": True,
        "approval_status": "approved",
        "state": "active",
    }


def _resource(index: int, position: int, dataset_id: str) -> Resource:
    resource_id = identifier("resource", index, position)
    kind, extension, media_type = FORMATS[(index + position) % len(FORMATS)]
    linked = (index + position) % 9 == 4
    name = f"{dataset_id[:8]}_{_slug(_topic(index)[0])}_{position}.{extension}"
    return {
        **_places(dataset_id, resource_id, name, linked=linked),
        **_resource_times(index, position),
        **_checks(index, position, kind, linked=linked),
        "id": resource_id,
        "package_id": dataset_id,
        "position": position,
        "name": name if position % 3 else f"Data, part {position + 1} — région «{index}»",
        "description": _description(index, position, kind),
        "format": kind,
        "mimetype": None if linked else media_type,
        "mimetype_inner": None,
        "size": _size(index, position, linked=linked),
        "state": "active",
        **_inspection(index, position, kind, resource_id),
    }


def _description(index: int, position: int, kind: str) -> str | None:
    if (index + position) % 7 == 3:
        return None
    return f"{kind} file of the *{index}th* survey, see [the guide](https://example.org/guide) & its annex"


def _size(index: int, position: int, *, linked: bool) -> int | None:
    if linked:
        return 0
    return None if index % 19 == 7 else 550 + index * 7_919 % 90_000_000 + position


def _places(dataset_id: str, resource_id: str, name: str, *, linked: bool) -> Resource:
    path = f"/dataset/{dataset_id}/resource/{resource_id}/download/"
    url = f"https://api.example.org/v1/{resource_id}?format=json&limit=10" if linked else f"{FILES}{path}{name}"
    return {
        "cache_last_updated": None,
        "cache_url": None,
        "download_url": url,
        "hdx_rel_url": url if linked else f"{path}{name}",
        "resource_type": "api" if linked else "file.upload",
        "url": url,
        "url_type": "api" if linked else "upload",
    }


def _resource_times(index: int, position: int) -> Resource:
    times = _times(index)
    return {
        "created": f"{times['metadata_created'][:-1]}{position % 10}",
        "last_modified": f"{times['last_modified'][:-1]}{position % 10}",
        "metadata_modified": f"{times['metadata_modified'][:-1]}{position % 10}",
    }


def _checks(index: int, position: int, kind: str, *, linked: bool) -> Resource:
    digest = md5(f"{index} {position}".encode(), usedforsecurity=False).hexdigest()
    return {
        "hash": ("", digest, f'W/"{digest[:12]}"')[(index + position) % 3],
        "originalHash": int(digest[:7], 16) if index % 2 else f"-{int(digest[:7], 16)}",
        "pii": "false" if index % 3 else False,
        "p_coded": position % 2 == 1,
        "microdata": index % 50 == 3,
        "broken_link": linked and index % 4 == 0,
        "datastore_active": False,
        "dataset_preview_enabled": kind == "CSV",
    }


def _inspection(index: int, position: int, kind: str, resource_id: str) -> Resource:
    """What HDX's own checks wrote on the resource: JSON in a string, with links nobody should republish."""
    layer = f"pre_{resource_id.replace('-', '_')}"
    time = moment(index % DAYS, 819_412 + position)
    if kind in {"GeoJSON", "SHP"}:
        return {"shape_info": json.dumps(_shape(index, layer, time))}
    return {"fs_check_info": json.dumps(_structure(layer, time))} if kind in {"CSV", "XLSX"} else {}


def _shape(index: int, layer: str, time: str) -> list[Package]:
    corner = "-1.79769313486232e+308 -1.79769313486232e+308" if index % 8 == 1 else f"{index % 180} -{index % 90}.5"
    link = f"{FILES}/{layer}?AWSAccessKeyId=NOBODY&Signature=none&Expires=1786931201"
    fields = [{"field_name": f"column_{column}", "data_type": "character varying"} for column in range(3)]
    return [
        {"state": "failure", "message": f"404 for {link}", "layer_id": layer, "timestamp": time},
        {"state": "success", "layer_id": layer, "bounding_box": f"BOX({corner},179.5 71)", "layer_fields": fields},
    ]


def _structure(layer: str, time: str) -> list[Package]:
    headers = ["", "ADM1_NAME", "ADM1_PCODE", "Année", "note"]
    sheet = {"name": layer, "nrows": 311, "ncols": len(headers), "is_hxlated": False, "headers": headers}
    return [{"state": "success", "timestamp": time, "sheet_changes": [], "hxl_proxy_response": {"sheets": [sheet]}}]


def export_dataset(package: Package) -> Package:
    """What HDX's download_metadata gives for a dataset: fewer keys than package_show, made for people."""
    organization, frequency = package.get("organization") or {}, package.get("data_update_frequency")
    return {
        **{key: package.get(key) for key in ("id", "title", "name")},
        "notes": strip_markdown(package.get("notes")),
        "dataset_source": package.get("dataset_source"),
        "organization": organization.get("title"),
        **{key: package.get(key) for key in ("dataset_date", "last_modified")},
        "data_update_frequency": FREQUENCIES.get(str(frequency), frequency),
        "groups": [group["display_name"] for group in package.get("groups", ())],
        **{key: package.get(key) for key in ("license_title", "methodology", "methodology_other", "caveats")},
        "tags": [tag["display_name"] for tag in package.get("tags", ())],
        "resources": [export_resource(package, resource) for resource in package.get("resources", ())],
    }


def export_resource(package: Package, resource: Resource) -> Resource:
    """What HDX's download_metadata gives for one resource."""
    return {
        "created": resource.get("created"),
        "description": strip_markdown(resource.get("description")),
        **{key: resource.get(key) for key in ("format", "download_url", "id", "last_modified", "metadata_modified")},
        "microdata": resource.get("microdata"),
        "dataset_id": package.get("id"),
        **{key: resource.get(key) for key in ("resource_type", "name", "mimetype")},
        "size": readable_size(resource.get("size")),
    }


def strip_markdown(text: str | None) -> str:
    """The words only: links lose their address, & is escaped, lines are joined.

    >>> strip_markdown("**Bold** & [a link](https://example.org)")
    'Bold &amp; a link'
    """
    words = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text or "")
    words = re.sub(r"(?m)^(?:#+|[*-])\s+|\*\*|[*`]|<[^><]*>", "", words)
    return escape(re.sub(r"\\([_*\\])", r"\1", words).replace("\n", " ").strip(), quote=False)


def readable_size(size: float | None) -> str | None:
    """As HDX shows it, in units of 1,024.

    >>> readable_size(20907)
    '20.4K'
    """
    if size is None:
        return None
    for unit in "BKMGTPE":
        if abs(size) < 1024:
            return f"{size:3.1f}{unit}"
        size /= 1024
    return f"{size:.1f}Z"
