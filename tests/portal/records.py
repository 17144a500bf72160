"""Records of the ecosystem's catalogue: portals and extensions, with their figures in fields or in extras."""

from typing import Any

from tests.portal import data
from tests.portal.data import Package, identifier, organization

SITE_FIELDS = ["ckan_version", "extensions", "num_datasets", "num_groups", "num_organizations", "contact_email"]
EXTENSION_FIELDS = [
    *("stars", "forks_count", "open_issues", "total_releases", "latest_release", "release_date"),
    *("contributors_count", "discussions", "last_update"),
]


def site(index: int, figures: dict[str, Any] | None = None, *, extras: bool = False) -> Package:
    """A portal.

    Args:
        figures: the metrics that the catalogue has of it.
        extras: whether they are extras, as in a catalogue without a schema.
    """
    known = {"num_datasets": 100 + index, "num_groups": index, "ckan_version": "2.9.5"} if figures is None else figures
    return _record("site", index, f"https://portal-{index}.example.org", known, extras=extras)


def extension(index: int, figures: dict[str, Any] | None = None, *, extras: bool = False) -> Package:
    """An extension; as `site`."""
    known = {"stars": 10 + index, "forks_count": index} if figures is None else figures
    return _record("extension", index, f"https://github.com/ckan/ckanext-{index}", known, extras=extras)


def _record(kind: str, index: int, url: str, figures: dict[str, Any], *, extras: bool) -> Package:
    foreign = [{"key": "checked_by", "value": "an editor"}, {"key": "zone", "value": "north"}]
    own = [{"key": name, "value": str(value)} for name, value in figures.items()] if extras else []
    created = data.moment(index, 0)
    return {
        "id": identifier(kind, index),
        "name": f"{kind}-{index}",
        "title": f"{kind.title()} {index} — «Ü»",
        "notes": f"The {kind} number {index}.",
        "url": url,
        "type": kind,
        "state": "active",
        "private": False,
        "owner_org": organization(0)["id"],
        "organization": organization(0),
        "metadata_created": created,
        "metadata_modified": data.later(created),
        "groups": [],
        "tags": [],
        "resources": [],
        "num_resources": 0,
        "num_tags": 0,
        "extras": sorted([*foreign, *own], key=lambda one: one["key"]),
        **({} if extras else figures),
    }
