"""The document of a page as an item."""

from __future__ import annotations

from dataclasses import fields as fields_of
from typing import TYPE_CHECKING

from crawlers.items import Dataset
from crawlers.mapping import values
from crawlers.mapping.dcat.themes import themes
from crawlers.mapping.frequencies import frequency
from crawlers.mapping.html.entries import Entries
from crawlers.mapping.html.files import resources
from crawlers.mapping.html.structured import structured
from crawlers.mapping.languages import languages
from crawlers.mapping.places import place
from crawlers.mapping.schema_org.texts import parted
from crawlers.rdf.namespaces import DCAT
from crawlers.rdf.terms import Literal

if TYPE_CHECKING:
    from crawlers.items import Document

_PEOPLE = (("creator", None), ("maintainer", None), ("contact", "contact_email"))
_NOT_FILLED = ("source", "id", "flaws", "document", "publisher", "contacts", "identifier", "stored")


def dataset(document: Document, *, source: str, id: str) -> Dataset:  # noqa: A002
    """The item: what structured data on the page gives, and what the rules found where that says nothing.

    ``metadata_source`` tells which: html, schema_org, rdf, schema_org+html, rdf+html. What can't be read is in
    ``flaws``; the document has it as it stood on the page.
    """
    item, origin = structured(document, source=source, id=id)
    fields = Entries(document.get("fields"), document.get("language"), item.flaws)
    is_filled = _fill(item, _by_rules(document, fields, source, id))
    url = document.get("url")
    item.landing_page = item.landing_page or (values.url(url) if isinstance(url, str) else None)
    item.identifier = item.identifier or id
    if not item.title:
        fields.flaw("the dataset has no title")
    for sentence in given if isinstance(given := document.get("flaws"), list) else ():
        fields.flaw(str(sentence))
    item.metadata_source = "+".join(filter(None, (origin, "html" if is_filled or not origin else None)))
    item.document = document
    return item


def _by_rules(document: Document, fields: Entries, source: str, id_: str) -> Dataset:
    """What the rules alone give."""
    item = Dataset(source=source, id=id_)
    item.title, item.version = fields.text("title"), fields.text("version")
    item.description, item.provenance = fields.markdown("description"), fields.markdown("provenance")
    item.identifier = fields.text("identifier")
    item.uri = values.url(item.identifier) if item.identifier else None
    item.issued, item.modified = fields.date("issued"), fields.date("modified")
    item.access_rights, item.rights = fields.text("access_rights"), fields.markdown("rights")
    item.license = fields.license("license")
    item.publisher = fields.agent("publisher", "publisher_email")
    item.contacts = [agent for name, email in _PEOPLE if (agent := fields.agent(name, email))]
    item.resources = resources(document, fields, id_)
    _classify(item, fields)
    return item


def _classify(item: Dataset, fields: Entries) -> None:
    item.keywords = parted(fields.texts("keywords"))
    item.themes = themes({}, {DCAT + "theme": [Literal(text) for text in fields.texts("themes")]})
    item.languages = languages(fields.texts("languages"))
    item.frequency = fields.read(frequency, "frequency")
    item.temporal = fields.period("temporal")
    item.spatial = [found for text in fields.texts("spatial") if (found := place(text))]
    item.conforms_to = fields.texts("conforms_to")


def _fill(item: Dataset, found: Dataset) -> bool:
    """Gives the item what it lacks; whether there was any of it."""
    is_filled = False
    for one in fields_of(Dataset):
        given = getattr(found, one.name)
        if one.name not in _NOT_FILLED and given and not getattr(item, one.name):
            setattr(item, one.name, given)
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
    """Those of a role that nobody has."""
    roles = {agent.role for agent in item.contacts}
    new = [agent for agent in found.contacts if agent.role not in roles]
    item.contacts += new
    return bool(new)
