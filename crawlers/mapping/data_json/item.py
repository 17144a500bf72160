"""One record of a data.json as an item."""

from __future__ import annotations

from typing import Any

from crawlers.items import Dataset
from crawlers.mapping import values
from crawlers.mapping.data_json.agents import contacts, publisher
from crawlers.mapping.data_json.coverage import spatial, temporal
from crawlers.mapping.data_json.dates import issued, modified
from crawlers.mapping.data_json.distribution import resources
from crawlers.mapping.data_json.identifiers import identity, iri
from crawlers.mapping.data_json.licensing import inherited
from crawlers.mapping.data_json.licensing import license as license_of
from crawlers.mapping.data_json.node import Node
from crawlers.mapping.dcat.themes import themes
from crawlers.mapping.frequencies import frequency
from crawlers.mapping.languages import languages
from crawlers.mapping.markup import markdown
from crawlers.rdf.namespaces import DCAT
from crawlers.rdf.terms import Literal


def dataset(record: dict[str, Any], *, source: str, id: str) -> Dataset:  # noqa: A002
    """The item of one record, of any version of the schema.

    ``record`` is an object that `records` gives, and is kept as ``document``, with the members that a series embeds.
    What cannot be read is in ``flaws``.
    """
    fields = Node(record)
    item = Dataset(source=source, id=id, flaws=fields.flaws, document=record)
    item.title = fields.text("title", "titleMap")
    if not item.title:
        fields.flaw("the dataset has no title")
    _describe(item, fields)
    _classify(item, fields)
    item.temporal, item.spatial = temporal(fields), spatial(fields)
    item.resources = resources(fields, id)
    _permit(item, fields)
    return item


def _describe(item: Dataset, fields: Node) -> None:
    description = fields.text("description", "descriptionMap")
    item.identifier = identity(fields.data) or item.id
    item.uri = fields.iri() or values.url(item.identifier)
    item.description = markdown(description) if description else None
    item.landing_page = fields.link("landingPage")
    item.issued, item.modified = issued(fields), modified(fields)
    item.version = fields.text("version")
    item.publisher, item.contacts = publisher(fields), contacts(fields)
    item.provenance = fields.words("provenance")


def _classify(item: Dataset, fields: Node) -> None:
    item.keywords = _keywords(fields)
    item.themes = _themes(fields)
    item.languages = languages(fields.texts("language"))
    item.frequency = _frequency(fields)
    item.conforms_to = fields.references("conformsTo")


def _permit(item: Dataset, fields: Node) -> None:
    item.access_rights = fields.words("accessLevel", "accessRights") or _unanimous(fields)
    item.rights = fields.words("rights", "accessLevelComment")
    item.license = license_of(fields) or inherited(item.rights, item.resources)


def _keywords(fields: Node) -> list[str]:
    """A text that stands alone is a list with commas; of several each is one keyword, commas or not."""
    found = fields.texts("keyword", "keywordMap")
    if len(found) == 1:
        found = [text for part in found[0].replace(";", ",").split(",") if (text := values.text(part))]
    return list(dict.fromkeys(found))


def _themes(fields: Node) -> list[str]:
    given = [Literal(text) for name in ("theme", "category", "subject") for text in fields.texts(name)]
    return themes({}, {DCAT + "theme": [*given]}) if given else []


def _frequency(fields: Node) -> str | None:
    """Data that is renewed all the time has an interval for its date: ``"modified": "R/P1D"``."""
    found = fields.read(frequency, "accrualPeriodicity")
    address = iri(fields.value("accrualPeriodicity"))
    return found or (frequency(address) if address else None) or fields.read(frequency, "modified")


def _unanimous(fields: Node) -> str | None:
    """What all distributions say alike holds for the dataset."""
    given = {one.words("accessRights") for one in fields.nodes("distribution")}
    return given.pop() if len(given) == 1 else None
