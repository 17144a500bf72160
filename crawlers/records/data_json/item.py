"""One record of a data.json as an item, with its distributions as resources."""

from __future__ import annotations

import json
import re
from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from crawlers.items import Agent, Checksum, Dataset, Relation, Resource, Service
from crawlers.records import values
from crawlers.records.data_json.catalogue import identity
from crawlers.records.dcat.terms import unanimous
from crawlers.records.dcat.themes import named_themes
from crawlers.records.formats import file_type, protocol
from crawlers.records.languages import languages
from crawlers.records.licenses import agreed
from crawlers.records.licenses import license as license_of
from crawlers.records.linked import ADDRESS, AgentNames, LinkedRecord, iri, related
from crawlers.records.periods import any_period, between, envelope, frequency, is_reversed
from crawlers.records.places import places
from crawlers.records.record import Fields
from crawlers.records.values import checksum, code, duration, metres, xsd_date

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from crawlers.items import License, Period


_QUALIFIED = "qualifiedRelation"


def relations(fields: LinkedRecord, *names: str) -> list[Relation]:
    plain = [found for name in names if name != _QUALIFIED for found in related(fields, name, name)]
    return [*plain, *_qualified(fields)]


def samples(fields: LinkedRecord, *names: str) -> list[str]:
    """Return the addresses of samples: of distributions their files'."""
    found = (each.link("downloadURL", "accessURL") or each.iri() for each in fields.nodes(*names, text=_addressed))
    return list(dict.fromkeys(filter(None, found)))


def all_references(fields: LinkedRecord, *names: str) -> list[str]:
    """Return what any of the properties refers to."""
    return list(dict.fromkeys(found for name in names for found in fields.references(name)))


def _services(fields: LinkedRecord, *names: str) -> list[Service]:
    services = map(_service, fields.nodes(*names, text=_addressed))
    return [each for each in services if each.uri or each.title or each.endpoint_url]


def _addressed(text: str) -> dict[str, str] | None:
    return {"@id": text, "endpointURL": text} if iri(text) else {"title": text}


def _qualified(fields: LinkedRecord) -> Iterator[Relation]:
    for each in fields.nodes(_QUALIFIED):
        role = next(iter(each.references("hadRole")), "relation").rstrip("/").rpartition("/")[2].rpartition("#")[2]
        yield from related(each, "relation", role)


def _service(fields: LinkedRecord) -> Service:
    return Service(uri=fields.iri(), **_SERVICE.read(fields))


BY_KIND: dict[str, Callable[..., Any]] = {
    "text": LinkedRecord.text,
    "markdown": LinkedRecord.markdown,
    "address": LinkedRecord.link,
    "moment": LinkedRecord.moment,
    "frequency": lambda fields, *names: fields.read(frequency, *names),
    "iri": lambda fields, *names: iri(fields.text(*names)),
    "labels": LinkedRecord.texts,
    "reference": lambda fields, *names: next(iter(fields.references(*names)), None),
    "references": LinkedRecord.references,
    "addresses": all_references,
    "languages": lambda fields, *names: languages(fields.texts(*names)),
    "license": lambda fields, *_: fields.license(),
    "code": lambda fields, *names: next(map(code, fields.references(*names)), None),
    "metres": lambda fields, *names: fields.read(metres, *names),
    "duration": lambda fields, *names: fields.read(duration, *names),
    "services": _services,
}
"""What reads a field of each kind."""
_SERVICE = Fields.of(Service, "data_json", BY_KIND, {}, without=("uri",))


def temporal(fields: LinkedRecord) -> Period | None:
    """Return the period from the start of the first one to the end of the last, in any notation that DCAT has."""
    return covered(fields, "temporal", fields.many("temporal"), _described)


def covered(
    fields: LinkedRecord,
    name: str,
    given: Sequence[tuple[str, Any]],
    described: Callable[[LinkedRecord], Period | None],
) -> Period | None:
    """Return the period that values cover together.

    Args:
        name: the field's, for the flaw.
        given: the values, and where each stands.
        described: reads an object.
    """
    if not given:
        return None
    nodes = [described(fields.node(place, value)) for place, value in given if isinstance(value, dict)]
    texts = (fields.as_text(place, value) for place, value in given if not isinstance(value, dict))
    found = [each for each in (*nodes, *(any_period(text) for text in texts if text)) if each and not is_reversed(each)]
    joined = envelope(found) if found else None
    if joined is None or not (joined.start or joined.end):
        fields.flaw(f"{name} is no period", name)
        return None
    return joined


def _described(fields: LinkedRecord) -> Period | None:
    """Return the period of an object with two ends, or with a period for its label."""
    start, end, named = fields.text("startDate", "start"), fields.text("endDate", "end"), fields.text("@value", "label")
    return between(xsd_date(start or ""), xsd_date(end or "")) or (any_period(named) if named else None)


_TELLING = (
    *("id", "dataset_id", "title", "description", "url", "access_url", "download_url", "format", "media_type", "size"),
    *("checksum", "issued", "modified", "license", "languages", "rights", "conforms_to"),
)
"""The fields that tell resources of one address and title apart; never add one, or ids on disk change."""
_INLINE = (("accessURL", "downloadURL", "format"), ("webService",))


def resources(fields: LinkedRecord, dataset_id: str) -> list[Resource]:
    """Return a resource for each distribution, with an id of its own.

    The id is the distribution's, which DCAT-US 3.0 may give; 1.1 has none. So it is made of the dataset's id and the
    distribution's address and title, of all its fields where several share these, and counted where they are alike in
    everything: it stays when the order changes or others come and go, and is unique within the dataset.
    """
    found = [_resource(each, dataset_id) for each in fields.nodes("distribution")]
    if not found and "distribution" not in fields.data:
        found = _inline(fields, dataset_id)
    identify(found, dataset_id)
    return found


def _inline(fields: LinkedRecord, dataset_id: str) -> list[Resource]:
    """Return the file and the service that POD 1.0 writes into the record itself."""
    found = ({name: fields.data[name] for name in names if fields.data.get(name)} for names in _INLINE)
    return [_resource(LinkedRecord(each, fields.flaws), dataset_id) for each in found if each.keys() - {"format"}]


def _resource(fields: LinkedRecord, dataset_id: str) -> Resource:
    download_url = fields.link("downloadURL")
    access_url = fields.link("accessURL", "accessService", "webService")
    if not download_url and not access_url:
        what = fields.path.removesuffix(".") or "the record"
        fields.flaw(f"{what} has no web address", "accessURL", "missing_value")
    url = download_url or access_url
    found = Resource(id="", dataset_id=dataset_id, url=url, document=fields.data, **_DISTRIBUTION.read(fields))
    found.access_url, found.download_url = access_url, download_url
    found.stated_url = None if url else fields.text("downloadURL", "accessURL")
    format_, found.media_type = file_type(found.format, found.media_type, url)
    found.format = _protocol(fields) or format_
    return found


def _protocol(fields: LinkedRecord) -> str | None:
    """Return the protocol of the first service."""
    services = fields.nodes("accessService", text=lambda _: None)
    return protocol(standard for service in services for standard in service.references("conformsTo"))


def _checksums(fields: LinkedRecord) -> Iterator[Checksum]:
    for given in fields.nodes("checksum", text=lambda text: {"checksumValue": text}):
        if found := checksum(given.text("checksumValue", "value"), given.text("algorithm")):
            yield found


_DISTRIBUTION = Fields.of(
    Resource,
    "data_json",
    BY_KIND,
    {
        "size": lambda fields, *names: fields.read(values.size, *names) or None,
        "checksum": lambda fields, *_: next(_checksums(fields), None),
        "rights": LinkedRecord.words,
    },
    without=("url", "access_url", "download_url"),
)


def identify(found: list[Resource], dataset_id: str) -> None:
    """Give each resource its id; see `resources`."""
    own = [identity(each.document or {}) or "" for each in found]
    by_address = [_digest(dataset_id, each.url, each.title) for each in found]
    counts, copies, taken = Counter((*own, *by_address)), Counter[str](), set[str]()
    for resource, *names in zip(found, own, by_address, strict=True):
        unique = next((name for name in names if name and counts[name] == 1), None)
        resource.id = _free(unique or _digest(dataset_id, *_fields(resource)), copies, taken)
        taken.add(resource.id)


def _fields(resource: Resource) -> Iterator[str]:
    return (repr(getattr(resource, name)) for name in _TELLING)


def _digest(*parts: str | None) -> str:
    return blake2b(json.dumps(parts).encode("ascii"), digest_size=16).hexdigest()


def _free(name: str, copies: Counter[str], taken: set[str]) -> str:
    while True:
        copies[name] += 1
        found = name if copies[name] == 1 else f"{name}-{copies[name]}"
        if found not in taken:
            return found


_AGENTS = AgentNames("data_json", parts=("given-name", "family-name"), above="subOrganizationOf")
_ROLES = ("creator", "contributor", "rightsHolder")


def dataset(record: dict[str, Any], *, source: str, id: str) -> Dataset:  # noqa: A002
    """Return the item of one record, of any version of the schema.

    ``record`` is an object that `records` gives, and is kept as ``document``, with the members that a series embeds.
    What cannot be read is in ``flaws``.
    """
    fields = LinkedRecord(record)
    item = Dataset(source=source, id=id, flaws=fields.flaws, document=record, **_DATASET.read(fields))
    if not item.title:
        fields.flaw("the dataset has no title", "title", "missing_value")
    item.identifier = identity(record) or id
    item.uri = fields.iri() or values.url(item.identifier)
    item.publisher = next(fields.agents("publisher", "publisher", _AGENTS, _named), None)
    item.contacts = _contacts(fields)
    item.temporal = temporal(fields)
    item.resources = resources(fields, id)
    item.access_rights = item.access_rights or _agreed_access(fields)
    item.license = item.license or inherited(item.rights, item.resources)
    item.derive()
    return item


def _frequency(fields: LinkedRecord, *_: str) -> str | None:
    """Return the frequency; data that is updated all the time has an interval for its date: ``"modified": "R/P1D"``."""
    found = fields.read(frequency, "accrualPeriodicity")
    address = iri(fields.value("accrualPeriodicity"))
    return found or (frequency(address) if address else None) or fields.read(frequency, "modified")


def _agreed_access(fields: LinkedRecord) -> str | None:
    """Return what all distributions state alike."""
    return unanimous(each.words("accessRights") for each in fields.nodes("distribution"))


def inherited(rights: str | None, resources: list[Resource]) -> License | None:
    """Return the licence of a dataset without one: one that its rights point to, else its distributions' only one."""
    linked = (license_of(None, address) for address in ADDRESS.findall(rights or ""))
    return next((each for each in linked if each and each.id), None) or agreed(each.license for each in resources)


def _contacts(fields: LinkedRecord) -> list[Agent]:
    """Return the contact point, then the others who had a part in the dataset, by role."""
    found = list(fields.agents("contactPoint", "contact", _AGENTS, _named))
    email = fields.email("mbox")
    if email and not any(agent.email for agent in found):  # POD 1.0 has the contact's address beside its name
        found = found or [Agent(role="contact")]
        found[0].email = email
    for role in _ROLES:
        found += fields.agents(role, role, _AGENTS, _named)
    return found + list(_attributed(fields))


def _attributed(fields: LinkedRecord) -> Iterator[Agent]:
    yield from fields.agents("wasAttributedTo", "contributor", _AGENTS, _named)
    for attribution in fields.nodes("qualifiedAttribution"):
        role = re.split(r"[/#:]", attribution.text("hadRole") or "contributor")[-1]
        yield from attribution.agents("agent", role, _AGENTS, _named)


def _named(text: str) -> dict[str, Any]:
    """
    >>> _named("Water Office"), _named("https://example.org/office"), _named("mailto:a@example.org")
    ({'name': 'Water Office'}, {'@id': 'https://example.org/office'}, {'hasEmail': 'mailto:a@example.org'})
    """
    if values.email(text) and not values.url(text):
        return {"hasEmail": text}
    return {"@id": text} if iri(text) else {"name": text}


_DATASET = Fields.of(
    Dataset,
    "data_json",
    BY_KIND,
    {
        **dict.fromkeys(("access_rights", "rights", "provenance"), LinkedRecord.words),
        "keywords": lambda fields, *names: values.keywords(fields.texts(*names), values.SEPARATORS),
        "themes": lambda fields, *names: named_themes(text for name in names for text in fields.texts(name)),
        "sample": samples,
        "spatial": places,
        "frequency": _frequency,
        "relations": relations,
    },
    without=("identifier", "uri", "temporal"),
)
