"""The document of a page as an item."""

from __future__ import annotations

from dataclasses import fields as fields_of
from typing import TYPE_CHECKING, Any

from crawlers.fields import specs
from crawlers.items import Dataset
from crawlers.kinds.html.mapping.field_reader import BY_KIND, Entries
from crawlers.kinds.html.mapping.files import resources
from crawlers.kinds.html.mapping.structured import structured
from crawlers.records import values
from crawlers.records.dcat.themes import named_themes

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawlers.items import Agent, Document

_NOT_FILLED = ("source", "id", "flaws", "document", "publisher", "contacts", "identifier", "stored")


def dataset(document: Document, *, source: str, id: str) -> Dataset:  # noqa: A002
    """Return the item: what structured data on the page gives, and what the rules found where that lacks it.

    ``metadata_source`` names those that gave any: html, schema_org, rdf, schema_org+html, rdf+html. What can't be
    read is in ``flaws``; the document has it as it stood on the page.
    """
    item, origin = structured(document, source=source, id=id)
    fields = Entries(document.get("fields"), document.get("language"), item.flaws)
    is_filled = _fill(item, _by_rules(document, fields, source, id))
    url = document.get("url")
    item.landing_page = item.landing_page or (values.url(url) if isinstance(url, str) else None)
    item.identifier = item.identifier or id
    if not item.title:
        fields.flaw("the dataset has no title", "title", "missing_value")
    for sentence in given if isinstance(given := document.get("flaws"), list) else ():
        fields.flaw(str(sentence), "page")
    item.metadata_source = "+".join(filter(None, (origin, "html" if is_filled or not origin else None)))
    item.document = document
    return item


def _by_rules(document: Document, fields: Entries, source: str, id_: str) -> Dataset:
    """Return what the rules alone give."""
    item = Dataset(source=source, id=id_)
    for name, reader in _READERS.items():
        setattr(item, name, reader(fields, name))
    item.uri = values.url(item.identifier) if item.identifier else None
    item.resources = resources(document, fields, id_)
    item.derive()
    return item


def _contacts(fields: Entries, _: str) -> list[Agent]:
    return [agent for name in ("creator", "maintainer", "contact") if (agent := fields.agent(name, f"{name}_email"))]


_OWN: dict[str, Callable[[Entries, str], Any]] = {
    "contacts": _contacts,
    "keywords": lambda fields, name: values.keywords(fields.texts(name)),
    "themes": lambda fields, name: named_themes(fields.texts(name)),
}
_READERS = {
    name: _OWN.get(name) or BY_KIND.get(spec.kind, Entries.texts)
    for name, spec in specs(Dataset).items()
    if "html" not in spec.without and name not in {"creator", "maintainer"}  # which are among the contacts
}


def _fill(item: Dataset, found: Dataset) -> bool:
    """Give the item what it lacks; return whether there was any of it."""
    is_filled = False
    for each in fields_of(Dataset):
        given = getattr(found, each.name)
        if each.name not in _NOT_FILLED and given and not getattr(item, each.name):
            setattr(item, each.name, given)
            is_filled = True
    if found.identifier and item.identifier in (None, item.id):
        is_filled = is_filled or found.identifier != item.identifier
        item.identifier = found.identifier
    return any((_fill_publisher(item, found), _fill_contacts(item, found), is_filled))


def _fill_publisher(item: Dataset, found: Dataset) -> bool:
    if not found.publisher:
        return False
    if not item.publisher:
        item.publisher = found.publisher
        return True
    lacks_email = bool(found.publisher.email and not item.publisher.email)
    if lacks_email:
        item.publisher.email = found.publisher.email
    return lacks_email


def _fill_contacts(item: Dataset, found: Dataset) -> bool:
    """Add the agents whose roles the item lacks."""
    roles = {agent.role for agent in item.contacts}
    new = [agent for agent in found.contacts if agent.role not in roles]
    item.contacts += new
    return bool(new)


def read(document: Document, source: str, dataset_id: str, _: str) -> Dataset:
    """Return the item of a document on disk: a page's fields and structured data."""
    return dataset(document, source=source, id=dataset_id)
