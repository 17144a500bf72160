"""What few portals say of a package or a resource, in the fields of ckanext-dcat and of its schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlers.items import License, Relation, Service
from crawlers.records.languages import languages
from crawlers.records.licenses import license as license_of
from crawlers.records.periods import frequency
from crawlers.records.record import Fields, Record, parse
from crawlers.records.values import code, duration, metres, relation
from crawlers.records.values import relations as relations_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
