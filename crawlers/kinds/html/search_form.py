"""A listing behind a search form: the form is read from its page, filled in by the rules, and sent with its token.

The token and the cookies are of one session. When that has ended, or another process had it, the form is read again,
and the listing with it; datasets that are known are not requested twice. A listing is in one session at a time:
what an earlier one still brings is dropped.
"""

from __future__ import annotations

import secrets
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy import Request

from crawlers.exceptions import AnswerError
from crawlers.kinds.html import words
from crawlers.kinds.html.answer import page_of
from crawlers.kinds.html.form import fields, filled
from crawlers.kinds.html.paging import texts

if TYPE_CHECKING:
    from scrapy.http import Response

    from crawlers.kinds.html.form import Form
    from crawlers.kinds.html.mapping import Page
    from crawlers.kinds.html.rules import Rules
    from crawlers.kinds.html.rules.rules import SearchForm
    from crawlers.kinds.html.turn import Ask
    from crawlers.listing.crawl import Crawl

_ENDED = frozenset((400, 401, 403, 405, 409, 412, 419, 422, 440, 498, 500))
"""Statuses that servers give for a token or a session that they do not know."""
_RENEWALS = 3
"""How often a process begins a listing again whose session seems to end."""
_MOST = 20
"""Forms of a page that are looked at."""


class SessionError(AnswerError):
    """The session that a page is of has ended."""

    def __init__(self) -> None:
        super().__init__("refused", "the session has ended")


class Search:
    """Sends the form that listings are behind, and knows when its session has ended.

    Attributes:
        rule: what the rules say of the form.
        process: tells this process's sessions from those of one that was killed, whose cookies are gone.
        sessions: the session that this process believes, and the process that it is of, by listing.
        renewals: how often this process has begun each listing again.
    """

    def __init__(self, crawl: Crawl, site: Rules, rule: SearchForm) -> None:
        self.crawl, self.site, self.rule = crawl, site, rule
        self.process = secrets.token_hex(4)
        self.sessions: dict[str, tuple[str, str]] = {}
        self.renewals: Counter[str] = Counter()

    def request(self, ask: Ask) -> Request:
        """Return the request for the page of the form, with the cookies of a new session."""
        meta = {"dont_cache": True, "cookiejar": secrets.token_hex(8), "page": int(ask.session or "0", 16)}
        return Request(ask.start, meta=meta, priority=1)

    def sent(self, response: Response, ask: Ask) -> Ask:
        """Return what the form of a page sends, which begins a session.

        Raises:
            AnswerError: there is no such form, or it leads to another host.
        """
        to = ask.to(self._form(page_of(response)))
        session = response.meta["cookiejar"]
        self.sessions[ask.start] = (session, self.process)
        return replace(to, session=session, process=self.process, is_in_session=to.body is not None)

    def _form(self, page: Page) -> Form:
        form = form_of(page, self.rule)
        self._warn(page, form)
        button = button_of(page, form, self.rule.button)
        found = filled(page, form, changes=self.rule.fields, button=button, encoding=page.encoding)
        if found is None or not self.site.follows(found.url):
            where = found.url if found else form.get("action")
            raise AnswerError("offsite", f"the form leads to {where}: name its host in `hosts` if that is right")
        return found

    def _warn(self, page: Page, form: Any) -> None:
        """Log the fields that the rules name and the form does not have: a script may add them."""
        there = {element.get("name") for element in fields(page, form)} - {None}
        for name, _ in self.rule.fields:
            if name not in there:
                known = ", ".join(sorted(there))[:500]
                self.crawl.logger.warning("%s: the form has no field %r; it has: %s", page.url, name, known)

    # A session that has ended

    def is_current(self, ask: Ask) -> bool:
        """Return whether a page counts: after a kill, the form and a page of results may both be pending."""
        own = (ask.session, ask.process)
        return self.sessions.get(ask.start, own) == own

    def check(self, ask: Ask, page: Page | None) -> None:
        """Believe the session of a page.

        Args:
            page: what came, if it links to no dataset.

        Raises:
            SessionError: it has ended.
        """
        if self._is_over(ask, page, None):
            raise SessionError
        self.sessions[ask.start] = (ask.session, ask.process)

    def is_of_session(self, error: AnswerError, ask: Ask, status: int | None) -> bool:
        """Return whether a page did not come because its session has ended."""
        return isinstance(error, SessionError) or self._is_over(ask, None, status)

    def renew(self, ask: Ask) -> str:
        """Return the name under which a listing begins again: what an earlier session still brings is dropped."""
        self.renewals[ask.start] += ask.start in self.sessions
        message = "%s: the session has ended at page %s: sending the form again"
        self.crawl.logger.info(message, ask.start, ask.number)
        session = secrets.token_hex(8)
        self.sessions[ask.start] = (session, "")
        return session

    def _is_over(self, ask: Ask, page: Page | None, status: int | None) -> bool:
        is_own = ask.start in self.sessions
        if ask.is_in_session and ask.process != self.process:
            return True
        if self.renewals[ask.start] >= _RENEWALS or (ask.number == 1 and is_own):
            return False
        return status in _ENDED or (page is not None and _has_form(page, self.rule))


def form_of(page: Page, rule: SearchForm) -> Any:
    """Return the form that the rules mean: by their selector, else by the fields, else the only one.

    Raises:
        AnswerError: there is none, or there are several.
    """
    forms = (_selected(page, rule.xpath) if rule.xpath else list(page.find("//form")))[:_MOST]
    names = {name for name, value in rule.fields if value is not None}
    has = {form: names & {element.get("name") for element in fields(page, form)} for form in forms}
    most = max(map(len, has.values()), default=0)
    best = [form for form in forms if len(has[form]) == most]
    if not best:
        raise AnswerError("paging", "the page has no form such as [form] names: look at it without JavaScript")
    if len(best) > 1 and rule.xpath is None:
        raise AnswerError("paging", f"the page has {len(best)} forms, say which: css or xpath in [form]")
    return best[0]


def _selected(page: Page, xpath: str) -> list[Any]:
    """Return the forms that a selector finds, or that are around or in what it finds."""
    found = [element for element in page.find(xpath) if not isinstance(element, str)][:_MOST]
    around = "ancestor-or-self::form[1] | descendant::form"
    return list(dict.fromkeys(form for element in found for form in page.find(around, element)))


def _has_form(page: Page, rule: SearchForm) -> bool:
    try:
        form_of(page, rule)
    except AnswerError:
        return False
    return True


def button_of(page: Page, form: Any, wanted: str | bool | None) -> Any | None:
    """Return the button that is clicked: by name, by text, else the first, as a browser does on Enter.

    Raises:
        AnswerError: there is no such button.
    """
    buttons = [element for element in fields(page, form) if _is_button(element)]
    if not isinstance(wanted, str):
        return buttons[0] if buttons and wanted is None else None
    for element in buttons:
        if element.get("name") == wanted or any(words.alike(text, wanted) >= words.ALIKE for text in texts(element)):
            return element
    raise AnswerError("paging", f"the form has no button {wanted!r}")


def _is_button(element: Any) -> bool:
    kind = (element.get("type") or ("submit" if element.tag == "button" else "")).strip().lower()
    return element.tag in ("input", "button") and kind in ("submit", "image") and element.get("disabled") is None
