"""The fields of a document, read as the items need them; whatever the document holds, nothing here raises."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

from crawlers.items import Agent, Flaw, Period
from crawlers.kinds.html.mapping import confidence, dates, periods
from crawlers.records import values
from crawlers.records.languages import languages
from crawlers.records.licenses import stated
from crawlers.records.markup import markdown
from crawlers.records.periods import envelope, frequency
from crawlers.records.places import places_of
from crawlers.records.record import Record
from crawlers.records.schema_org.item import AROUND_NAMES, name_beside
from crawlers.records.values import code, duration, metres, relations

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawlers.items import License

T = TypeVar("T")

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
                if isinstance(part, str) and (text := values.text(part)):
                    found[text] = None
        return list(found)

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
        found = dates.date(text, self.language, self.order(name)) if text else None
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
        found = list(filter(None, (periods.period(text, self.language, order) for text in texts)))
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
    return stated(text, next(filter(None, written), None) or link, _LONGEST_NAME)


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
