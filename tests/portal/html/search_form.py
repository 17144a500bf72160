"""Listings behind a search form: it has a token, the server has a session, and only both together give results."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from http.cookies import SimpleCookie
from typing import ClassVar

from tests.portal.html.catalogue import HTML, Visit
from tests.portal.html.tables import GermanTable
from tests.site import Answer, redirect

LETTER = (
    '<form method="post" action="/brief"><input name="mail" value=""><input type="hidden" name="token" value="">'
    '<button name="abo">Abonnieren</button></form>'
)


class SearchPost(GermanTable):
    """The form is posted, with a hidden token; each page of results has a form that leads to the next one.

    Attributes:
        sessions: the tokens that are known, by the session's cookie.
        begun: how many sessions there were.
    """

    start = "/suche"
    results: ClassVar[str] = "/suche/ergebnisse"
    stranger: ClassVar[Answer] = Answer(b"<h1>Page Expired</h1>", 419, HTML)
    """What comes without a session."""

    def __init__(self, *arguments: int, **keywords: object) -> None:
        super().__init__(*arguments, **keywords)  # type: ignore[arg-type]
        self.sessions: dict[str, str] = {}
        self.begun = 0

    # Which page is asked for; the form is page 0

    def number(self, visit: Visit) -> int | None:
        if visit.path == self.start:
            return 0
        return int(self.sent(visit).get("seite", "1")) if visit.path == self.results else None

    def sent(self, visit: Visit) -> dict[str, str]:
        return visit.form or {}

    def page(self, number: int, visit: Visit) -> Answer:
        if not number:
            return self.opened()
        if self.fails("expires", number):
            self.sessions.clear()
        if not self.is_known(visit):
            return self.stranger
        return super().page(number, visit)

    def opened(self) -> Answer:
        """The page of the form, and a new session."""
        self.begun += 1
        session = hashlib.sha256(f"session {self.begun}".encode()).hexdigest()[:16]
        self.sessions[session] = f"token-{self.begun}"
        answer = self.html("Suche", LETTER + self.form(self.sessions[session]))
        return replace(answer, headers={**answer.headers, "Set-Cookie": f"sid={session}; Path=/; HttpOnly"})

    def token(self, visit: Visit) -> str | None:
        """That the visitor's session has."""
        cookies = SimpleCookie(visit.headers.get("Cookie") or "")
        return self.sessions.get(cookies["sid"].value) if "sid" in cookies else None

    def is_known(self, visit: Visit) -> bool:
        token, sent = self.token(visit), self.sent(visit)
        is_filled = sent.get("art") == "alle" and "los" in sent and "exakt" not in sent
        return bool(token) and sent.get("token") == token and (is_filled or "seite" in sent)

    # What is on the pages

    method: ClassVar[str] = "post"

    def form(self, token: str) -> str:
        return (
            f'<form method="{self.method}" action="{self.results}" role="search">'
            f'<input type="hidden" name="token" value="{token}"><input name="wort" value="Beispiel">'
            '<select name="art"><option value="karten">Karten</option><option value="alle">Alle</option></select>'
            '<input type="checkbox" name="exakt" checked>'
            '<button name="los" value="1">Suchen</button><button name="leer">Leeren</button></form>'
        )

    def listing(self, number: int, visit: Visit) -> str:
        rows = "".join(f'<li><a href="{href}">{words}</a></li>' for href, words, _ in self.links(number))
        token = self.token(visit) or ""
        return f"<ol>{rows}</ol>{self.onward(number, token)}{self.form(token)}"

    def onward(self, number: int, token: str) -> str:
        if self.following(number) is None:
            return ""
        return (
            f'<form method="post" action="{self.results}"><input type="hidden" name="token" value="{token}">'
            f'<input type="hidden" name="seite" value="{number + 1}"><button>Weiter</button></form>'
        )


class SearchGet(SearchPost):
    """The form is asked for by GET, and its results go on by links; without a session it comes again."""

    stranger: ClassVar[Answer] = redirect("/suche")
    method: ClassVar[str] = "get"

    def sent(self, visit: Visit) -> dict[str, str]:
        return visit.query

    def onward(self, number: int, token: str) -> str:
        if self.following(number) is None:
            return ""
        return f'<a rel="next" href="{self.results}?token={token}&amp;seite={number + 1}">Weiter</a>'
