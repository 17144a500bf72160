"""A listing behind a search form: the form is read from its page, filled in by the rules, and sent with its token.

The token and the cookies are of one session. When that has ended, or another process had it, the form is read again,
and the listing with it; datasets that are known are not requested twice. A walk is in one session at a time: what an
earlier one still brings is dropped.
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
from crawlers.kinds.html.turn import Turn
from crawlers.kinds.html.walk import Opening
from crawlers.kinds.html.walk_state import Place
from crawlers.politeness import failures

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.kinds.html.mapping import Page
    from crawlers.kinds.html.rules.rules import SearchForm
    from crawlers.kinds.html.walk import Walk

_ENDED = frozenset((400, 401, 403, 405, 409, 412, 419, 422, 440, 498, 500))
"""Statuses that servers give for a token or a session that they do not know."""
_RENEWALS = 3
"""How often a process begins a listing again whose session seems to end."""
_MOST = 20
"""Forms of a page that are looked at."""


class Search(Opening):
    """Opens listings by their form, and begins again where its session has ended.

    Attributes:
        rule: what the rules say of the form.
        sessions: the session that this process believes, by walk.
        renewals: how often this process has begun each walk again.
    """

    def __init__(self, walk: Walk, rule: SearchForm) -> None:
        super().__init__(walk)
        self.rule = rule
        self.sessions: dict[str, str] = {}
        self.renewals: Counter[str] = Counter()

    def begin(self, place: Place) -> Request:
        """Return the request for the page of the form, with the cookies of a new session."""
        return Request(
            place.walk,
            callback=self.parse_form,
            errback=self.form_failed,
            cb_kwargs={"place": place.plain()},
            meta={"dont_cache": True, "cookiejar": secrets.token_hex(8)},
            dont_filter=place.is_again,
            priority=1,
        )

    def parse_form(self, response: Response, place: dict[str, Any]) -> Iterator[Request]:
        """Send the form of a page, which begins a session."""
        here = Place(**place)
        if self.is_superseded(here):
            return
        try:
            to = self._sent(page_of(response))
        except AnswerError as error:
            self.walk.conclusion.fail(error, response.request, response.status)
            yield from self.walk.conclusion.end(here)
            return
        self.sessions[here.walk] = here.session = response.meta["cookiejar"]
        here.is_in_session = to.body is not None
        yield self.walk.request(to, here)

    def form_failed(self, failure: Failure) -> Iterator[Request]:
        """Report that the page of the form did not come."""
        request, status, error = failures.request(failure), failures.status(failure), failures.from_failure(failure)
        here = Place(**request.cb_kwargs["place"])
        if self.is_superseded(here):
            return
        self.walk.conclusion.fail(error, request, status)
        yield from self.walk.conclusion.end(here)

    def _sent(self, page: Page) -> Turn:
        """Return what the form of a page sends.

        Raises:
            AnswerError: there is no such form, or it leads to another host.
        """
        form = form_of(page, self.rule)
        self._warn(page, form)
        button = button_of(page, form, self.rule.button)
        found = filled(page, form, changes=self.rule.fields, button=button, encoding=page.encoding)
        if found is None or not self.walk.site.follows(found.url):
            where = found.url if found else form.get("action")
            raise AnswerError("offsite", f"the form leads to {where}: name its host in `hosts` if that is right")
        return Turn(found.url, body=found.body if found.method == "POST" else None)

    def _warn(self, page: Page, form: Any) -> None:
        """Log the fields that the rules name and the form does not have: a script may add them."""
        there = {element.get("name") for element in fields(page, form)} - {None}
        for name, _ in self.rule.fields:
            if name not in there:
                known = ", ".join(sorted(there))[:500]
                self.walk.crawl.logger.warning("%s: the form has no field %r; it has: %s", page.url, name, known)

    # A session that has ended

    def is_superseded(self, here: Place) -> bool:
        """Return whether the walk has begun again: after a kill, its form and a page of results may both be pending."""
        return self.sessions.get(here.walk, here.session) != here.session

    def restart(self, here: Place, page: Page | None, status: int | None = None) -> Request | None:
        """Return the request for the form, if the session of a page has ended."""
        if not self._is_over(here, page, status):
            self.sessions[here.walk] = here.session
            return None
        self.renewals[here.walk] += here.walk in self.sessions
        self.walk.crawl.logger.info(
            "%s: the session has ended at page %s: sending the form again", here.walk, here.number
        )
        self.sessions[here.walk] = secrets.token_hex(8)
        return self.begin(replace(here.renewed(), session=self.sessions[here.walk]))

    def _is_over(self, here: Place, page: Page | None, status: int | None) -> bool:
        is_own = here.walk in self.sessions
        if here.is_in_session and not is_own:  # the cookies are gone with the process that had them
            return True
        if self.renewals[here.walk] >= _RENEWALS or (here.number == 1 and is_own):
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
        if element.get("name") == wanted or _is_called(texts(element), wanted):
            return element
    raise AnswerError("paging", f"the form has no button {wanted!r}")


def _is_button(element: Any) -> bool:
    kind = (element.get("type") or ("submit" if element.tag == "button" else "")).strip().lower()
    return element.tag in ("input", "button") and kind in ("submit", "image") and element.get("disabled") is None


def _is_called(found: Sequence[str], wanted: str) -> bool:
    return any(words.alike(text, wanted) >= words.ALIKE for text in found)
