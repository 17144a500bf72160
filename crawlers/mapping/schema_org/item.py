"""One record of schema.org's Dataset as an item."""

from __future__ import annotations

from typing import Any

from crawlers.items import Dataset
from crawlers.mapping import values
from crawlers.mapping.data_json.licensing import inherited
from crawlers.mapping.data_json.licensing import license as license_of
from crawlers.mapping.data_json.node import Node
from crawlers.mapping.dcat.themes import themes
from crawlers.mapping.languages import languages
from crawlers.mapping.schema_org.agents import contacts, publisher
from crawlers.mapping.schema_org.coverage import spatial, temporal
from crawlers.mapping.schema_org.dates import issued, modified
from crawlers.mapping.schema_org.distribution import resources
from crawlers.mapping.schema_org.identifiers import identifier
from crawlers.mapping.schema_org.texts import access_rights, description, keywords, provenance, rights, title
from crawlers.rdf.namespaces import DCAT
from crawlers.rdf.terms import Literal


def dataset(record: dict[str, Any], *, source: str, id: str) -> Dataset:  # noqa: A002
    """The item of one record.

    ``record`` is an object that `records` gives, and is kept as ``document``; anything may stand anywhere in it. What
    cannot be read is in ``flaws``.
    """
    fields = Node(record)
    item = Dataset(source=source, id=id, flaws=fields.flaws, document=record)
    _describe(item, fields)
    _classify(item, fields)
    item.temporal, item.spatial = temporal(fields), spatial(fields)
    item.resources = resources(fields, id)
    _permit(item, fields)
    return item


def _describe(item: Dataset, fields: Node) -> None:
    item.identifier = identifier(fields.data) or item.id
    item.uri = fields.iri() or values.url(item.identifier)
    item.title = title(fields)
    item.description = description(fields)
    item.landing_page = fields.link("url", "mainEntityOfPage")
    item.issued, item.modified = issued(fields), modified(fields)
    item.version = fields.text("version")
    item.publisher, item.contacts = publisher(fields), contacts(fields)
    item.provenance = provenance(fields)


def _classify(item: Dataset, fields: Node) -> None:
    item.keywords = keywords(fields)
    item.themes = _themes(fields)
    item.languages = languages(fields.texts("inLanguage"))
    item.conforms_to = fields.references("conformsTo")


def _themes(fields: Node) -> list[str]:
    given = [Literal(text) for name in ("about", "genre") for text in fields.texts(name)]
    return themes({}, {DCAT + "theme": [*given]}) if given else []


def _permit(item: Dataset, fields: Node) -> None:
    item.access_rights = access_rights(fields)
    item.rights = rights(fields)
    item.license = license_of(fields) or inherited(item.rights, item.resources)
