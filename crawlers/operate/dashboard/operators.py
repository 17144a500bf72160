"""Who may act: one password, sessions in memory, and forms that no other site can send; and what they can do."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from flask import Response, redirect, request
from werkzeug.exceptions import Forbidden, TooManyRequests

from crawlers.exceptions import CrawlersError, SourcesError
from crawlers.operate.dashboard import addresses
from crawlers.operate.dashboard.server import DashboardError
from crawlers.operate.harvest import processes, selection
from crawlers.operate.harvest.harvest import already_running
from crawlers.operate.harvest.job import read_claim
from crawlers.operate.queue import need
from crawlers.operate.sources.file import SourcesFile
from crawlers.operate.sources.shrink import SETTING, refused, to_accept
from crawlers.safety.locks import is_crawled
from crawlers.safety.redact import hide, redact
from crawlers.store.runs import at_work

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from flask import Flask
    from werkzeug.wrappers import Response as AnyResponse

    from crawlers.operate.dashboard.site import Site


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


_LARGEST = 16 * 1024  # bytes of a form


@dataclass(frozen=True, slots=True)
class Project:
    """What actions change.

    Args:
        file: sources.toml.
        output: OUTPUT_DIR.
        jobs: JOBS_DIR.
        logs: LOGS_DIR.
        given: settings for a harvest, as NAME=VALUE.
        queue: the address of the queue that other nodes work on; empty without.
    """

    file: SourcesFile
    output: Path
    jobs: Path
    logs: Path
    given: Sequence[str] = ()
    queue: str = ""


@dataclass(frozen=True, slots=True)
class Action:
    """What a button does.

    Args:
        label: the text on it.
        act: does it to a source, with a comment, and returns a sentence.
        takes_comment: whether it has a field for the reason.
    """

    label: str
    act: Callable[[Project, str, str | None], str]
    takes_comment: bool = False


class Operators:
    """The login, and what it allows.

    Args:
        login: the sessions.
        project: what actions change.
    """

    def __init__(self, login: Login, project: Project) -> None:
        self.login = login
        self.project = project

    def add_to(self, app: Flask, site: Site) -> None:
        """Add the login and the actions to the dashboard."""
        self.site = site
        site.templates.globals.update(login=self.login, available=self.available)
        app.config.update(MAX_CONTENT_LENGTH=_LARGEST, MAX_FORM_MEMORY_SIZE=_LARGEST)
        app.add_url_rule("/login", "login", self.show_form, methods=["GET"])
        app.add_url_rule("/login", "log in", self.log_in, methods=["POST"])
        app.add_url_rule("/logout", "log out", self.log_out, methods=["POST"])
        app.add_url_rule(f"/sources/<source>/<any({_NAMES}):name>", "act", self.act, methods=["POST"])

    def available(self, source: str) -> dict[str, Action]:
        """Return what can be done with a source as it is now, by the last part of the address that does it."""
        try:
            table = self.project.file.read()[0].get(source)
        except SourcesError:
            table = None
        run = at_work(self.project.output / source)
        is_at_work = run is not None and run.state == "running"
        names = ["stop"] if is_at_work else []
        if table:
            names += [] if is_at_work or table.review == "refused" else ["harvest"]
            names += ["accept-shrink"] if not is_at_work and refused(self.project.output, source) else []
            names += ["disable" if table.enabled else "enable"]
            names += [name for name, state in _REVIEWS.items() if state != table.review]
        return {name: ACTIONS[name] for name in names}

    def show_form(self, sentence: str = "") -> str | AnyResponse:
        """Return the page of the login."""
        if self.login.session():
            return redirect(_back())
        return self.site.render("login.html", page="login", source=request.values.get("source", ""), sentence=sentence)

    def log_in(self) -> AnyResponse:
        """Begin a session."""
        check_origin()
        try:
            session = self.login.begin(request.form.get("password", ""))
        except (Forbidden, TooManyRequests) as error:
            answer = Response(str(self.show_form(str(error.description))), error.code)
            answer.headers.extend((name, value) for name, value in error.get_headers() if name == "Retry-After")
            return answer
        back = redirect(_back(), 303)
        back.set_cookie(COOKIE, session, max_age=LASTS, secure=request.is_secure, httponly=True, samesite="Strict")
        return back

    def log_out(self) -> AnyResponse:
        """End the session."""
        self.login.checked()
        self.login.end()
        answer = redirect("/", 303)
        answer.delete_cookie(COOKIE, secure=request.is_secure, httponly=True, samesite="Strict")
        return answer

    def act(self, source: str, name: str) -> AnyResponse:
        """Do what a button says; the next page shows the sentence."""
        session = self.login.checked()
        try:
            sentence = ACTIONS[name].act(self.project, source, request.form.get("why", "").strip() or None)
        except CrawlersError as error:
            sentence = str(error)
        session.sentences.append(redact(sentence))
        return redirect(addresses.source(source), 303)


def _back() -> str:
    """Return the page to show after the login: that of the source from which it was asked for."""
    source = request.values.get("source", "")
    return addresses.source(source) if source else "/"


def _accept(project: Project, name: str, _: str | None) -> str:
    accepted = f"{SETTING}={to_accept(project.output, name)}"
    return _harvest(replace(project, given=(*project.given, accepted)), name, None)


def _harvest(project: Project, name: str, _: str | None) -> str:
    sources, mistakes = project.file.read()
    if name in mistakes:
        raise SourcesError(mistakes[name])
    selection.named(sources, [name])
    if is_crawled(project.output / name) or read_claim(project.jobs, name).is_held:
        return f"[{name}] {already_running(name).sentence}"
    sentence = processes.start(name, project.jobs, project.logs, project.given)
    return f"[{name}] is in the queue: a node that is free harvests it." if project.queue else sentence


def _stop(project: Project, name: str, _: str | None) -> str:
    if project.queue and need("queue").Queue(project.queue).stop(name):
        return f"[{name}] is being stopped on its node."
    return processes.stop(project.output, name)


def _changed(verb: str) -> Callable[[Project, str, str | None], str]:
    return lambda project, name, why: "".join(project.file.set_state(verb, [name], why))


def _refuse(project: Project, name: str, why: str | None) -> str:
    if not why:
        raise SourcesError(f"[{name}] is not refused: the reason is missing.")
    return _changed("refuse")(project, name, why)


ACTIONS = {
    "harvest": Action("Harvest now", _harvest),
    "accept-shrink": Action("Accept the shrink", _accept),
    "stop": Action("Stop", _stop),
    "enable": Action("Enable", _changed("enable")),
    "disable": Action("Disable", _changed("disable")),
    "approve": Action("Approve", _changed("approve"), takes_comment=True),
    "refuse": Action("Refuse", _refuse, takes_comment=True),
}
_NAMES = ",".join(f'"{name}"' for name in ACTIONS)
_REVIEWS = {"approve": "approved", "refuse": "refused"}
