"""The document of a page as an item."""

from __future__ import annotations

import re
from dataclasses import fields as fields_of
from typing import TYPE_CHECKING, Any, TypeVar

from crawlers.exceptions import AnswerError, RulesError
from crawlers.fields import specs
from crawlers.items import Agent, Dataset, Flaw, Period, Resource
from crawlers.kinds.dcat.rules import stated
from crawlers.kinds.dcat.translation import Translation
from crawlers.kinds.html.mapping import confidence
from crawlers.kinds.html.mapping.dates import date, period
from crawlers.kinds.html.rules import RESOURCE_FIELDS
from crawlers.records import dcat, licenses, schema_org, values
from crawlers.records.data_json.item import identify
from crawlers.records.dcat.themes import named_themes
from crawlers.records.formats import file_type
from crawlers.records.languages import languages
from crawlers.records.markup import markdown
from crawlers.records.periods import envelope, frequency
from crawlers.records.places import places_of
from crawlers.records.rdf.document import graph_of
from crawlers.records.rdf.terms import is_blank
from crawlers.records.record import Record
from crawlers.records.schema_org.item import AROUND_NAMES, name_beside, size
from crawlers.records.values import code, duration, metres, relations

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawlers.items import Document, License
    from crawlers.kinds.html.rules import Rules


T = TypeVar("T")

_BLANK = "_:dataset"
_HERE = "urn:example:dataset"  # what has no identifier is called so while it is read
# No JSON-LD is a SyntaxError of pyoxigraph's, half a character an AttributeError.
_UNREADABLE = (AnswerError, RulesError, ValueError, SyntaxError, AttributeError, RecursionError)
_NOT_FILLED = ("source", "id", "flaws", "document", "publisher", "contacts", "identifier", "stored")
_DATES = ("issued", "modified")
_EMAILS = {f"{role}_email": role for role in ("publisher", "creator", "maintainer", "contact")}
_MAY_BE_LEFT_OUT = frozenset((*_DATES, "temporal", "license", "format", "size", "version", *_EMAILS, *_EMAILS.values()))
"""The fields for which pages write "not specified"."""
_WORDS = ("format", "version")
"""Those of them whose values are words."""
_MOST = 2_000  # resources
_SHOWN = 60
_ORDERS = ("dmy", "mdy", "ymd")
_LONGEST_NAME = 200
_AT = re.compile(r"\s*[\[({]\s*(?:at|ät|arroba|chiocciola|@)\s*[\])}]\s*", re.IGNORECASE)
_DOT = re.compile(r"\s*[\[({]\s*(?:dot|punkt|point|punto|\.)\s*[\])}]\s*", re.IGNORECASE)
_CLOSING = "().,;:<>[]\"'"
_UNREAD = confidence.LEAST * confidence.UNREADABLE
"""The confidence of a field that would be sure enough if its value could be read: that is a flaw."""


class Entries(Record):
    """A `Record` of the fields that were found on a page, each with a value, a link and a confidence.

    Args:
        fields: by name, as `crawlers.kinds.html.mapping.document` writes them.
        language: of the page.
        flaws: takes a sentence for each field that can't be read.
        path: the place of these fields in the document, for the flaws.
    """

    __slots__ = ("language",)

    def __init__(self, fields: Any, language: Any, flaws: list[Flaw], path: str = "") -> None:
        super().__init__({}, flaws, path)
        self.fields = fields if isinstance(fields, dict) else {}
        self.language = language if isinstance(language, str) else None
        for name, entry in self.fields.items():
            if isinstance(entry, dict) and entry.get("cut"):
                self.flaw(
                    f"{path}{name} is longer than is kept, and was cut: the document lacks the rest", name, "cut_value"
                )

    def entry(self, name: str, least: float = confidence.LEAST) -> dict[str, Any]:
        """Return the field's entry; an empty one where it is less sure than ``least``."""
        found = self.fields.get(name)
        if not isinstance(found, dict):
            return {}
        sure = found.get("confidence")  # documents that others wrote may have none
        return found if not isinstance(sure, int | float) or sure >= least else {}

    def texts(self, *names: str, least: float = confidence.LEAST) -> list[str]:
        """Return the values of all these fields as texts, each once."""
        found: dict[str, None] = {}
        for name in names:
            value = self.entry(name, least).get("value")
            for part in value if isinstance(value, list) else (value,):
                text = values.text(part) if isinstance(part, str) else None
                if text and not (name in _MAY_BE_LEFT_OUT and licenses.says_nothing(text, self._languages(name))):
                    found[text] = None
        return list(found)

    def _languages(self, name: str) -> tuple[str, ...] | None:
        """Return those in which a word says nothing: "Nema" and "Cap" are names, too, no date and no size is one."""
        if name in _EMAILS.values():
            return ()
        return ("en", (self.language or "").partition("-")[0].lower()) if name in _WORDS else None

    def text(self, *names: str) -> str | None:
        """Return the values of a field as one text."""
        return "; ".join(self.texts(*names)) or None

    def markdown(self, *names: str) -> str | None:
        """Return Markdown where the rule asked for HTML; elsewhere a ``<b>`` is what a reader of the page has seen."""
        found = "\n\n".join(self.texts(*names))
        return (markdown(found) if any(self.entry(name).get("html") for name in names) else found) or None

    def read(self, reader: Callable[[str], T | None], *names: str) -> T | None:
        """Return the first value that ``reader`` understands."""
        return next((found for text in self.texts(*names) if (found := reader(text)) is not None), None)

    def link(self, name: str, least: float = confidence.LEAST) -> str | None:
        found = self.entry(name, least).get("link")
        return found if isinstance(found, str) else None

    def moment(self, name: str) -> str | None:
        """Return a date that is not in the future."""
        text = "; ".join(self.texts(name, least=_UNREAD))
        found = date(text, self.language, self.order(name)) if text else None
        if found and values.has_come(found):
            return found if self.entry(name) else None
        if text:
            self.unreadable(name, text, "in the future" if found else "no date")
        return None

    def order(self, name: str) -> str:
        """Return the order of the numbers of a date, as it was found on the page."""
        given = self.entry(name, _UNREAD).get("order")
        return given if given in _ORDERS else "auto"

    def period(self, name: str) -> Period | None:
        """Return the period from the start of the first value to the end of the last."""
        texts, order = self.texts(name, least=_UNREAD), self.order(name)
        found = list(filter(None, (period(text, self.language, order) for text in texts)))
        if texts and not found:
            self.unreadable(name, texts[0], "no period")
        return envelope(found) if found and self.entry(name) else None

    def url(self, *names: str) -> str | None:
        found = super().url(*names)
        if not found and (texts := self.texts(*names)):
            self.unreadable(names[0], texts[0], "no web address")
        return found

    def agent(self, name: str, email: str | None = None) -> Agent | None:
        """Return a person or organisation; ``email`` is the field with the address, if there is one."""
        text, link = self.text(name), self.link(name) or ""
        agent = _agent(text, name) if text else Agent(role=name)
        agent.url = agent.url or values.url(link)
        agent.email = (self.email(email) if email else None) or agent.email or (_email(link) if "@" in link else None)
        return agent if agent.name or agent.email or agent.url else None

    def email(self, *names: str) -> str | None:
        name = names[0]
        texts = self.texts(name, least=_UNREAD)
        if not texts or (any(map(values.email, texts)) and not self.entry(name)):
            return None
        found = next(filter(None, map(_email, texts)), None) or _email(self.link(name, _UNREAD) or "")
        if not found:
            self.unreadable(name, texts[0], "no e-mail address")
        return found

    def unreadable(self, name: str, text: str, wrong: str) -> None:
        """Add the flaw that a field has a value which is not what it should be."""
        self.flaw(f"{self.path}{name} {text[:_SHOWN]!r} is {wrong}", name)


def license(fields: Entries) -> License | None:  # noqa: A001
    """Return the licence by its words, by an address among them, or by its link."""
    text = fields.text("license")
    return _license(text, fields.link("license")) if text else None


def _license(text: str, link: str | None) -> License | None:
    """
    >>> _license("https://creativecommons.org/licenses/by/4.0/", None)
    License(id='CC-BY-4.0', uri='https://creativecommons.org/licenses/by/4.0/', title=None, text=None)
    >>> _license("Namensnennung", "https://creativecommons.org/licenses/by/4.0/").id, _license("CC BY 4.0", None).id
    ('CC-BY-4.0', 'CC-BY-4.0')
    >>> _license("As CC-BY, see https://example.org/terms.", None).uri
    'https://example.org/terms'
    """
    written = (values.url(word.strip(_CLOSING)) for word in text.split() if "://" in word)
    return licenses.stated(text, next(filter(None, written), None) or link, _LONGEST_NAME)


def _agent(text: str, role: str) -> Agent:
    """
    >>> _agent("Water Office (water@example.org)", "publisher")
    Agent(name='Water Office', uri=None, email='water@example.org', url=None, role='publisher')
    """
    if url := values.url(text):
        return Agent(url=url, role=role)
    email = _email(text)
    name = name_beside(email, _readable(text)) if email else text.strip(AROUND_NAMES)
    return Agent(name=values.text(name or ""), email=email, role=role)


def _email(text: str) -> str | None:
    """
    >>> _email("jane [at] example [dot] org"), _email("mailto:a@example.org?subject=Hi"), _email("Mail: a@example.org.")
    ('jane@example.org', 'a@example.org', 'a@example.org')
    """
    found = values.email(_readable(text).partition("?")[0])
    return found.removeprefix("mailto:").strip(_CLOSING) if found else None


def _readable(text: str) -> str:
    if "@" in text:
        return text
    return _DOT.sub(".", _AT.sub("@", text[: 2 * _LONGEST_NAME])) + text[2 * _LONGEST_NAME :]


BY_KIND: dict[str, Callable[[Entries, str], Any]] = {
    "text": Entries.text,
    "markdown": Entries.markdown,
    "moment": Entries.moment,
    "period": Entries.period,
    "license": lambda fields, _: license(fields),
    "code": lambda fields, name: fields.read(code, name),
    "frequency": lambda fields, name: fields.read(frequency, name),
    "metres": lambda fields, name: fields.read(metres, name),
    "duration": lambda fields, name: fields.read(duration, name),
    "languages": lambda fields, name: languages(fields.texts(name)),
    "places": lambda fields, name: places_of(fields, [(name, fields.texts(name))]),
    "relations": lambda fields, name: relations(fields.texts(name)),
    "agent": lambda fields, name: fields.agent(name, f"{name}_email"),
}
"""How a field of each kind is read; all others are texts."""


def _structured(document: Document, *, source: str, id: str) -> tuple[Dataset, str | None]:  # noqa: A002
    """Return the item, and what it was made of: rdf, else schema_org, else ``None`` and an empty item."""
    item, flaws = None, list[Flaw]()
    rdf, record, by = document.get("rdf"), document.get("schema_org"), document.get("rdf_by")
    if isinstance(rdf, dict) and by != {}:  # which nothing says how to read
        try:
            own = None if by else schema_org.of_rdf(rdf, str(document.get("url", "")))
            item = schema_org.dataset(own, source=source, id=id) if own else _rdf(rdf, source, by)
        except _UNREADABLE as error:
            flaws.append(Flaw(f"the RDF can't be read: {error}", "rdf", "unreadable_statement"))
    origin = "rdf" if item else None
    if item is None and isinstance(record, dict):
        item, origin = schema_org.dataset(record, source=source, id=id), "schema_org"
    item = item or Dataset(source=source, id=id)
    item.flaws = [*flaws, *(each for each in item.flaws if each.field != "title")]
    item.id = id
    for resource in item.resources:
        resource.dataset_id = id
    return item, origin


def _rdf(rdf: dict[str, Any], source: str, by: Any) -> Dataset:
    """Return the item of RDF.

    Args:
        by: what the rules say of RDF that is not DCAT.
    """
    subject = str(rdf.get("@id") or _BLANK)  # a blank node has no name
    graph = graph_of(rdf | {"@id": subject})
    if not (node := graph.get(subject)):
        raise ValueError("it does not describe the dataset")
    name = _HERE if is_blank(subject) else subject
    graph = graph | {name: node}
    amend = None
    if isinstance(by, dict):
        known = Translation(stated(by), graph, name)
        graph, amend = known.graph, known.amend
    item = dcat.dataset(graph, name, source=source, language=None, amend=amend)
    item.uri = None if name == _HERE else item.uri
    return item


def _resources(document: Document, fields: Entries, dataset_id: str) -> list[Resource]:
    """Return a resource for each file, with an id that stays when the order changes, and that no other one has."""
    given = document.get("resources")
    listed = given[:_MOST] if isinstance(given, list) else []
    found = []
    for number, each in enumerate(listed):
        own = Entries(each, fields.language, fields.flaws, f"resources[{number}].")
        url = own.url("url")
        format_, media_type = file_type(own.text("format"), own.text("media_type"), url)
        known = {name: reader(own, name) for name, reader in _OF_RESOURCE.items()}
        known |= {"url": url, "access_url": url, "format": format_, "media_type": media_type}
        known["size"] = own.read(size, "size") or None
        found.append(Resource(id="", dataset_id=dataset_id, document=own.fields, **known))
    identify(found, dataset_id)
    return found


_OF_RESOURCE = {
    name: BY_KIND.get(spec.kind, Entries.texts)
    for name, spec in specs(Resource).items()
    if name in RESOURCE_FIELDS and name not in {"url", "format", "media_type", "size"}  # which are read together
}


def dataset(document: Document, *, source: str, id: str) -> Dataset:  # noqa: A002
    """Return the item: what structured data on the page gives, and what the rules found where that lacks it.

    ``metadata_source`` names those that gave any: html, schema_org, rdf, schema_org+html, rdf+html. What can't be
    read is in ``flaws``; the document has it as it stood on the page.
    """
    item, origin = _structured(document, source=source, id=id)
    fields = Entries(document.get("fields"), document.get("language"), item.flaws)
    found = _by_rules(document, fields, source, id)
    if origin == "schema_org" and document["schema_org"].get(schema_org.CUT):  # it only adds
        whole = Dataset(source=source, id=id, flaws=item.flaws)
        is_filled, origin, item = _fill(whole, found), origin if _fill(whole, item) else None, whole
    else:
        is_filled = _fill(item, found)
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
    for name, reader in _OF_DATASET.items():
        setattr(item, name, reader(fields, name))
    item.uri = values.url(item.identifier) if item.identifier else None
    item.resources = _resources(document, fields, id_)
    item.derive()
    return item


_CONTACTS = ("creator", "maintainer", "contact")
_OWN: dict[str, Callable[[Entries, str], Any]] = {
    "contacts": lambda fields, _: list(filter(None, (fields.agent(name, f"{name}_email") for name in _CONTACTS))),
    "keywords": lambda fields, name: values.keywords(fields.texts(name)),
    "themes": lambda fields, name: named_themes(fields.texts(name)),
}
_OF_DATASET = {
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
    if found.publisher and not item.publisher:
        item.publisher, is_filled = found.publisher, True
    elif found.publisher and item.publisher and found.publisher.email and not item.publisher.email:
        item.publisher.email, is_filled = found.publisher.email, True
    roles = {agent.role for agent in item.contacts}
    new = [agent for agent in found.contacts if agent.role not in roles]
    item.contacts += new
    return is_filled or bool(new)


def read(document: Document, source: str, dataset_id: str, _: str) -> Dataset:
    """Return the item of a document on disk: a page's fields and structured data."""
    return dataset(document, source=source, id=dataset_id)


def missing(document: Document, rules: Rules) -> list[str]:
    """Return the names of required fields that neither rules nor structured data gave; the title is required.

    What is there and can't be read, a date or an e-mail address, is missing too.
    """
    fields = Entries(document.get("fields"), document.get("language"), [])
    names = dict.fromkeys(("title", *(rule.name for rule in rules.fields if rule.required)))
    left = [name for name in names if not _is_readable(fields, name)]
    if left:
        item, origin = _structured(document, source="", id="")
        left = [name for name in left if not origin or not _gives(item, name)]
    given = {"title", *(document.get("extras") or {})}
    return [*left, *(rule.name for rule in rules.extras if rule.required and rule.name not in given)]


def _is_readable(fields: Entries, name: str) -> bool:
    if name == "temporal":
        return fields.period(name) is not None
    if name in _DATES:
        return fields.read(lambda text: date(text, fields.language, fields.order(name)), name) is not None
    if name in _EMAILS:
        return fields.email(name) is not None
    return name in fields.fields


def _gives(item: Dataset, name: str) -> bool:
    role = _EMAILS.get(name, name)
    agents = [each for each in (item.publisher, *item.contacts) if each and each.role == role]
    if name in _EMAILS:
        return any(each.email for each in agents)
    return bool(agents or getattr(item, name, None))
