"""Who may act: one password, sessions in memory, and forms that no other site can send."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flask import request
from werkzeug.exceptions import Forbidden

from crawlers.operate.dashboard.server import DashboardError
from crawlers.safety.redact import hide

if TYPE_CHECKING:
    from collections.abc import MutableMapping

COOKIE = "catalogues_session"
LASTS = 8 * 3600
"""Seconds until a session ends."""
_SHORTEST = 8  # characters of a password
_SESSIONS = 100
_ROUNDS = 200_000  # of a password's hash: a guess takes a twentieth of a second, and one at a time is checked


def take_password(variable: str, environment: MutableMapping[str, str]) -> str | None:
    """Return the dashboard's password, and remove it from the environment, so that no crawl inherits it.

    Args:
        variable: DASHBOARD_PASSWORD_ENV, the name of the variable; empty if nobody may log in.
        environment: the process's.

    Raises:
        DashboardError: the variable is not set, or its value is too short.

    >>> take_password("", {}), take_password("PASSWORD", {"PASSWORD": "correct horse"})
    (None, 'correct horse')
    """
    if not variable:
        return None
    found = environment.pop(variable, "")
    if len(found) < _SHORTEST:
        why = f"has less than {_SHORTEST} characters" if found else "is empty or not set"
        raise DashboardError(f"{variable}, which DASHBOARD_PASSWORD_ENV names, {why}: put the password there.")
    hide(found)
    return found


@dataclass(slots=True)
class Session:
    """A browser that is logged in.

    Args:
        ends: when, in seconds of the clock.
        token: what each of its forms sends.
    """

    ends: float
    token: str = field(default_factory=secrets.token_urlsafe)
    sentences: list[str] = field(default_factory=list)
    """What its last action did, until a page shows it."""

    def take_sentences(self) -> list[str]:
        """Return the sentences, once."""
        taken, self.sentences = self.sentences, []
        return taken


class Login:
    """The sessions of a dashboard. They end after eight hours, and with the process.

    No number of wrong passwords keeps the right one out; each takes so long that few can be tried.

    Args:
        password: what an operator knows.
        clock: returns the seconds since some moment.
    """

    def __init__(self, password: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.salt = secrets.token_bytes(16)
        self.digest = self._slow_digest(password)
        self.clock = clock
        self.sessions: OrderedDict[str, Session] = OrderedDict()
        self.checking, self.changing = threading.Lock(), threading.Lock()

    def session(self) -> Session | None:
        """Return the session of the request; ``None`` if its browser is not logged in."""
        with self.changing:
            found = self.sessions.get(request.cookies.get(COOKIE, ""))
        return found if found and self.clock() < found.ends else None

    def begin(self, password: str) -> str:
        """Return the id of a new session, which replaces that of the request.

        Raises:
            Forbidden: the password is wrong.
        """
        with self.checking:
            if not hmac.compare_digest(self._slow_digest(password), self.digest):
                raise Forbidden("The password is wrong.")
        with self.changing:
            self.sessions.pop(request.cookies.get(COOKIE, ""), None)
            made = secrets.token_urlsafe(32)
            self.sessions[made] = Session(self.clock() + LASTS)
            while len(self.sessions) > _SESSIONS:
                self.sessions.popitem(last=False)
            return made

    def end(self) -> None:
        """End the session of the request."""
        with self.changing:
            self.sessions.pop(request.cookies.get(COOKIE, ""), None)

    def checked(self) -> Session:
        """Return the session of a form that one of our pages has sent.

        Raises:
            Forbidden: the browser is not logged in, or another page has sent it.
        """
        check_origin()
        found = self.session()
        if found is None:
            raise Forbidden("This browser is not logged in, or its session has ended: log in.")
        if not hmac.compare_digest(_digest(request.form.get("token", "")), _digest(found.token)):
            raise Forbidden("This form is of an earlier session: reload its page, and send it again.")
        return found

    def _slow_digest(self, password: str) -> bytes:
        return hashlib.pbkdf2_hmac("sha256", password.encode("utf-8", "surrogatepass"), self.salt, _ROUNDS)


def check_origin() -> None:
    """Check that a form was sent by a page of the dashboard, as browsers say; behind a proxy its name is another.

    Raises:
        Forbidden: a page of another site has sent it.
    """
    fetched, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    own = origin in (None, request.host_url.rstrip("/")) if fetched is None else fetched == "same-origin"
    if not own:
        raise Forbidden("A page of another site has sent this form: nothing was done.")


def _digest(text: str) -> bytes:
    """Return a digest, so that a comparison takes as long for any length."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
