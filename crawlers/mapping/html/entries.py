"""The fields of a document, read as the items need them; whatever the document holds, nothing here raises."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

from crawlers.items import Agent, Period
from crawlers.mapping import values
from crawlers.mapping.data_json.dates import has_come
from crawlers.mapping.html import confidence, dates
from crawlers.mapping.licenses import license as license_of
from crawlers.mapping.markup import markdown
from crawlers.mapping.record import FLAWS
from crawlers.mapping.schema_org.agents import AROUND_NAMES, name_beside

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
"""What is sure but for a value that could not be read: that is told."""


class Entries:
    """
    Args:
        fields: by name, as `crawlers.mapping.html.document` writes them.
        language: of the page.
        flaws: takes a sentence for each field that can't be read.
        path: where these stand in the document, for people.
    """

    def __init__(self, fields: Any, language: Any, flaws: list[str], path: str = "") -> None:
        self.fields: dict[str, Any] = fields if isinstance(fields, dict) else {}
        self.language = language if isinstance(language, str) else None
        self.flaws = flaws
        self.path = path
        for name, entry in self.fields.items():
            if isinstance(entry, dict) and entry.get("cut"):
                self.flaw(f"{path}{name} is longer than is kept, and was cut")

    def entry(self, name: str, least: float = confidence.LEAST) -> dict[str, Any]:
        """Return the field's entry; an empty one where it is less sure than ``least``."""
        found = self.fields.get(name)
        return found if isinstance(found, dict) and _sureness(found) >= least else {}

    def texts(self, name: str, least: float = confidence.LEAST) -> list[str]:
        given = self.entry(name, least).get("value")
        listed = given if isinstance(given, list) else [given]
        found = (values.text(one) for one in listed if isinstance(one, str))
        return list(dict.fromkeys(filter(None, found)))

    def text(self, name: str) -> str | None:
        return "; ".join(self.texts(name)) or None

    def markdown(self, name: str) -> str | None:
        """HTML where the rule asked for it; elsewhere a ``<b>`` is what a reader of the page has seen."""
        found = "\n\n".join(self.texts(name))
        return (markdown(found) if self.entry(name).get("html") else found) or None

    def read(self, reader: Callable[[str], T | None], name: str) -> T | None:
        return next((found for one in self.texts(name) if (found := reader(one)) is not None), None)

    def link(self, name: str, least: float = confidence.LEAST) -> str | None:
        found = self.entry(name, least).get("link")
        return found if isinstance(found, str) else None

    def date(self, name: str) -> str | None:
        text = "; ".join(self.texts(name, _UNREAD))
        found = dates.date(text, self.language, self.order(name)) if text else None
        if found and has_come(found):
            return found if self.entry(name) else None
        if not text:
            return None
        self.flaw(f"{self.path}{name} {text[:_SHOWN]!r} is {'in the future' if found else 'no date'}")
        return None

    def order(self, name: str) -> str:
        """Of the numbers of a date, as it was found on the page."""
        given = self.entry(name, _UNREAD).get("order")
        return given if given in _ORDERS else "auto"

    def period(self, name: str) -> Period | None:
        """Of several from the start of the first to the end of the last."""
        texts = self.texts(name, _UNREAD)
        order = self.order(name)
        found = list(filter(None, (dates.period(text, self.language, order) for text in texts)))
        if texts and not found:
            self.flaw(f"{self.path}{name} {texts[0][:_SHOWN]!r} is no period")
        return _united(found) if found and self.entry(name) else None

    def url(self, name: str) -> str | None:
        texts = self.texts(name)
        found = self.read(values.url, name)
        if texts and not found:
            self.flaw(f"{self.path}{name} {texts[0][:_SHOWN]!r} is no web address")
        return found

    def license(self, name: str) -> License | None:
        text = self.text(name)
        return _license(text, self.link(name)) if text else None

    def agent(self, name: str, email: str | None = None) -> Agent | None:
        """
        Args:
            email: the field with the address, if there is one.
        """
        text, link = self.text(name), self.link(name) or ""
        agent = _agent(text, name) if text else Agent(role=name)
        agent.url = agent.url or values.url(link)
        agent.email = self.email(email) or agent.email or (_email(link) if "@" in link else None)
        return agent if agent.name or agent.email or agent.url else None

    def email(self, name: str | None) -> str | None:
        texts = self.texts(name, _UNREAD) if name else []
        if name is None or not texts or (any(map(values.email, texts)) and not self.entry(name)):
            return None
        found = next(filter(None, map(_email, texts)), None) or _email(self.link(name, _UNREAD) or "")
        if not found:
            self.flaw(f"{self.path}{name} {texts[0][:_SHOWN]!r} is no e-mail address")
        return found

    def flaw(self, sentence: str) -> None:
        if sentence not in self.flaws and len(self.flaws) <= FLAWS:
            self.flaws.append(sentence if len(self.flaws) < FLAWS else "the record has more flaws than these")


def _sureness(entry: dict[str, Any]) -> float:
    """Return an entry's confidence; documents that others wrote may have none."""
    found = entry.get("confidence")
    return found if isinstance(found, int | float) else confidence.SURE


def _united(periods: list[Period]) -> Period:
    """
    >>> _united([Period(start="2010", end="2012-05"), Period(start="2009", end="2012")])
    Period(start='2009', end='2012')
    >>> _united([Period(start="2010"), Period(end="2012")])
    Period(start=None, end=None)
    """
    starts, ends = [one.start for one in periods], [one.end for one in periods]
    last = max(filter(None, ends), key=lambda end: f"{end}~", default=None)  # a year ends after its months
    return Period(
        start=None if None in starts else min(filter(None, starts)),
        end=None if None in ends else last,
    )


def _license(text: str, link: str | None) -> License | None:
    """
    >>> _license("https://creativecommons.org/licenses/by/4.0/", None)
    License(id='CC-BY-4.0', uri='https://creativecommons.org/licenses/by/4.0/', title=None, text=None)
    >>> _license("Namensnennung", "https://creativecommons.org/licenses/by/4.0/").id, _license("CC BY 4.0", None).id
    ('CC-BY-4.0', 'CC-BY-4.0')
    >>> _license("As CC-BY, see https://example.org/terms.", None).uri
    'https://example.org/terms'
    """
    written = (values.url(one.strip(_CLOSING)) for one in text.split() if "://" in one)
    address = next(filter(None, written), None)
    found = license_of(None, address or link, None if address == text else text)
    if found and found.title and len(text) > _LONGEST_NAME:
        found.title, found.text = None, text
    return found


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
