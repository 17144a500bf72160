"""One record of a data.json as an item."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from crawlers.items import Agent, Dataset
from crawlers.records import values
from crawlers.records.data_json.catalogue import identity
from crawlers.records.data_json.coverage import temporal
from crawlers.records.data_json.details import BY_KIND, relations, samples
from crawlers.records.data_json.distribution import resources
from crawlers.records.dcat.rights import unanimous
from crawlers.records.dcat.themes import named_themes
from crawlers.records.licenses import agreed
from crawlers.records.licenses import license as license_of
from crawlers.records.linked import ADDRESS, AgentNames, LinkedRecord, iri
from crawlers.records.periods import frequency
from crawlers.records.places import places
from crawlers.records.record import Fields

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.items import License, Resource

_AGENTS = AgentNames("data_json", parts=("given-name", "family-name"), above="subOrganizationOf")
_ROLES = ("creator", "contributor", "rightsHolder")
_BETWEEN_KEYWORDS = re.compile(r"[,;|\n、，；،؛]")


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
        "keywords": lambda fields, *names: values.keywords(fields.texts(*names), _BETWEEN_KEYWORDS),
        "themes": lambda fields, *names: named_themes(text for name in names for text in fields.texts(name)),
        "sample": samples,
        "spatial": places,
        "frequency": _frequency,
        "relations": relations,
    },
    without=("identifier", "uri", "temporal"),
)
