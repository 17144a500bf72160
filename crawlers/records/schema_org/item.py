"""One record of schema.org's Dataset as an item."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from crawlers.fields import specs
from crawlers.items import Agent, Checksum, Dataset, Resource
from crawlers.records import values
from crawlers.records.data_json.item import BY_KIND, covered, identify, inherited
from crawlers.records.dcat.themes import named_themes
from crawlers.records.formats import file_type
from crawlers.records.linked import AgentNames, LinkedRecord, agent_name, iri, related
from crawlers.records.periods import any_period, between
from crawlers.records.places import places
from crawlers.records.record import Fields
from crawlers.records.values import checksum, xsd_date

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.items import Period, Relation


_AGENTS = AgentNames("schema_org", parts=("givenName", "familyName"))
_ROLES = {
    "contactPoint": "contact",
    "creator": "creator",
    "author": "creator",
    "maintainer": "maintainer",
    "provider": "provider",
    "sourceOrganization": "sourceOrganization",
    "contributor": "contributor",
    "editor": "editor",
    "copyrightHolder": "rightsHolder",
}
_RELATIONS = {
    "isBasedOn": "source",
    "isBasedOnUrl": "source",
    "isPartOf": "isPartOf",
    "citation": "references",
    "isRelatedTo": "relation",
}
"""The role of each property's values."""
_REACHED = ("publisher", "creator", "maintainer")
AROUND_NAMES = " <>()[],;:–-"
"""Signs that part a name from the rest of its line."""
_FREE = {"true": "accessible for free", "false": "not accessible for free"}
_DOI = re.compile(r"(?:^|doi\.org/|doi:\s?)10\.[0-9]{4,9}/\S", re.IGNORECASE)
_IDENTIFIERS = ("value", "identifier", "@value", "url", "@id", "name")
_MOST_DIGITS = 30
_LISTS = ("distribution", "encoding", "associatedMedia")
_CHECKSUMS = specs(Checksum)["value"].schema_org
_BYTES = re.compile(
    r"([0-9]{1,3}(?:[.,'\u2019 \u00a0\u202f][0-9]{3}){1,5}|[0-9]{1,18}) ?(?:b|bytes?|octets?|oct\.?|байт[а-я]*)",
    re.IGNORECASE,
)


def dataset(record: dict[str, Any], *, source: str, id: str) -> Dataset:  # noqa: A002
    """Return the item of one record.

    ``record`` is an object that `records` gives, and is kept as ``document``; anything may stand anywhere in it. What
    cannot be read is in ``flaws``.
    """
    fields = LinkedRecord(record)
    item = Dataset(source=source, id=id, flaws=fields.flaws, document=record, **_DATASET.read(fields))
    publishers = [*fields.agents("publisher", "publisher", _AGENTS, _named)]
    item.publisher, item.contacts = next(iter(publishers), None), _contacts(fields, publishers[1:])
    item.identifier = _identifier(record) or id
    item.uri = fields.iri() or values.url(item.identifier)
    item.temporal = temporal(fields)
    item.country, item.state, item.city = region(fields)
    item.resources = _resources(fields, id)
    item.license = item.license or inherited(item.rights, item.resources)
    item.derive()
    return item


def _address(fields: LinkedRecord) -> str | None:
    return fields.link("contentUrl", "url") or fields.iri()


def _title(fields: LinkedRecord, *names: str) -> str | None:
    """Return the title in one line."""
    found = fields.text(*names)
    return " ".join(found.split()) if found else None


def _access_rights(fields: LinkedRecord, *_: str) -> str | None:
    """Return the conditions; ``isAccessibleForFree``, a boolean or schema.org's IRI of one, says less."""
    if conditions := fields.words("conditionsOfAccess"):
        return conditions
    return _FREE.get((fields.text("isAccessibleForFree") or "").rpartition("/")[2].lower())


def _identifier(record: dict[str, Any]) -> str | None:
    """Return the first DOI among ``identifier``, ``sameAs``, ``@id``, ``url``; else the first identifier, else ``@id``.

    >>> _identifier({"identifier": ["r-7", {"@type": "PropertyValue", "propertyID": "DOI", "value": "10.5072/r7"}]})
    '10.5072/r7'
    >>> _identifier({"identifier": 7, "@id": "https://example.org/r"}), _identifier({"@id": "https://example.org/r"})
    ('7', 'https://example.org/r')
    """
    given = list(_texts(record.get("identifier")))
    others = [text for name in ("sameAs", "@id", "url") for text in _texts(record.get(name))]
    doi = next((text for text in (*given, *others) if _DOI.search(text)), None)
    return doi or next(iter(given), None) or iri(record)


def _texts(value: Any) -> Iterator[str]:
    for each in value if isinstance(value, list) else [value]:
        parts = [each.get(name) for name in _IDENTIFIERS] if isinstance(each, dict) else [each]
        yield from filter(None, [next(filter(None, map(_text, parts)), None)])


def _text(value: Any) -> str | None:
    if type(value) is int and abs(value) < 10**_MOST_DIGITS:
        return str(value)
    return values.text(value) if isinstance(value, str) else None


def _contacts(fields: LinkedRecord, publishers: list[Agent]) -> list[Agent]:
    """Return further publishers, the others by role, and organisations' contact points, named as these."""
    found = publishers
    for name, role in _ROLES.items():
        found += fields.agents(name, role, _AGENTS, _named)
    for name in _REACHED:
        for owner in fields.nodes(name, text=lambda _: None):
            for point in owner.agents("contactPoint", "contact", _AGENTS, _named):
                point.name = point.name or agent_name(owner, _AGENTS, _named)
                found.append(point)
    return list({repr(each): each for each in found}.values())


def _named(text: str) -> dict[str, Any]:
    """
    >>> _named("Water Office"), _named("Jane Doe <jane@example.org>"), _named("https://example.org/office")
    ({'name': 'Water Office'}, {'name': 'Jane Doe', 'email': 'jane@example.org'}, {'url': 'https://example.org/office'})
    """
    if values.url(text):
        return {"url": text}
    email = values.email(text)
    if not email:
        return {"name": text}
    name = name_beside(email, text)
    return {"name": name, "email": email} if name else {"email": email}


def name_beside(email: str, text: str) -> str | None:
    """Return what is left of a text without the e-mail address in it.

    >>> name_beside("a@example.org", "Jane Doe: a@example.org"), name_beside("a@example.org", "<mailto:a@example.org>")
    ('Jane Doe', None)
    """
    return text.replace(email, "").replace("mailto:", "").strip(AROUND_NAMES) or None


def _resources(fields: LinkedRecord, dataset_id: str) -> list[Resource]:
    """Return a resource for each distribution; a text is its address.

    The ids are made as those of a data.json's distributions: they stay when the order changes, and are unique.
    """
    found = [_resource(each, dataset_id) for each in fields.nodes(*_LISTS, text=_addressed)]
    identify(found, dataset_id)
    return found


def _addressed(text: str) -> dict[str, Any]:
    """
    >>> _addressed("https://example.org/a.csv"), _addressed("on request")
    ({'contentUrl': 'https://example.org/a.csv'}, {'name': 'on request'})
    """
    return {"contentUrl": text} if values.url(text) else {"name": text}


def _resource(fields: LinkedRecord, dataset_id: str) -> Resource:
    download_url = fields.link("contentUrl")
    access_url = fields.link("url", "embedUrl") or (None if download_url else values.url(fields.iri() or ""))
    if not download_url and not access_url:
        fields.flaw(f"{fields.path.removesuffix('.')} has no web address", "url", "missing_value")
    url = download_url or access_url
    format_, media_type = file_type(fields.text("encodingFormat"), fields.text("fileFormat"), url)
    found = Resource(id="", dataset_id=dataset_id, url=url, document=fields.data, **_FILE.read(fields))
    found.access_url, found.download_url, found.format, found.media_type = access_url, download_url, format_, media_type
    found.stated_url = None if url else fields.text("contentUrl", "url")
    return found


def _checksums(fields: LinkedRecord) -> Iterator[Checksum]:
    for name in _CHECKSUMS:
        if name in fields.fields and (found := checksum(fields.text(name), name)):
            yield found


def size(text: str) -> int | None:
    """Return bytes, where they are exact; 0 for a rounded number with its unit.

    >>> size("1.234.567 Bytes"), size("512 b"), size("2048"), size("2,3 MB"), size("big")
    (1234567, 512, 2048, 0, None)
    """
    found = _BYTES.fullmatch(text.strip())
    return int(re.sub(r"\D", "", found[1])) if found else values.size(text)


def _relations(fields: LinkedRecord, *names: str) -> list[Relation]:
    return [found for name in names for found in related(fields, name, _RELATIONS[name])]


def _rights(fields: LinkedRecord, *names: str) -> str | None:
    return next(filter(None, map(fields.words, names)), None)


_DATASET = Fields.of(
    Dataset,
    "schema_org",
    BY_KIND,
    {
        "title": _title,
        "keywords": lambda fields, *names: values.keywords(fields.texts(*names)),
        "themes": lambda fields, *names: named_themes(text for name in names for text in fields.texts(name)),
        "provenance": lambda fields, *names: "\n\n".join(fields.references(*names)) or None,
        "rights": _rights,
        "access_rights": _access_rights,
        "relations": _relations,
        "spatial": places,
        "sample": lambda fields, *names: list(filter(None, map(_address, fields.nodes(*names, text=_addressed)))),
    },
    without=("identifier", "uri", "temporal", "country", "state", "city"),
)
_FILE = Fields.of(
    Resource,
    "schema_org",
    BY_KIND,
    {
        "title": _title,
        "size": lambda fields, *names: fields.read(size, *names) or None,
        "checksum": lambda fields, *_: next(_checksums(fields), None),
        "rights": _rights,
    },
    without=("url", "access_url", "download_url", "format", "media_type"),
)


_TIMES = ("temporalCoverage", "temporal", "datasetTimeInterval")
_PLACES = ("spatialCoverage", "spatial")
_MOST = 1000
_REGION = ("addressLocality", "addressRegion", "addressCountry")


def temporal(fields: LinkedRecord) -> Period | None:
    """Return the period from the first start to the last end: of intervals, dates, or objects with two ends."""
    return covered(fields, "temporalCoverage", fields.many(*_TIMES)[:_MOST], _described_period)


def _described_period(fields: LinkedRecord) -> Period | None:
    """Return the period of an object; its name counts where it has no ends."""
    texts = {name: fields.text(name) for name in ("startDate", "endDate")}
    if any(texts.values()):
        return between(xsd_date(texts["startDate"] or ""), xsd_date(texts["endDate"] or ""))
    return next(filter(None, map(any_period, sorted(fields.texts("name")))), None)


def region(fields: LinkedRecord) -> tuple[str | None, str | None, str | None]:
    """Return country, state and city: of the first place that has an address, or is inside of others that are named."""
    for where, value in fields.many(*_PLACES)[:_MOST]:
        if isinstance(value, dict):
            place = fields.node(where, value)
            addresses = (place.node(*given) for given in place.many("address") if isinstance(given[1], dict))
            for address in (*addresses, place):
                city, state, country_ = map(address.text, _REGION)
                if country_ or state or city:
                    return country_, state, city
    return None, None, None
