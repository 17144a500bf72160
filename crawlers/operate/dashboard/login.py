"""Who acts: sessions in memory, users whom a proxy names, forms that no other site can send; and what is acted on."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import TYPE_CHECKING

from flask import request
from werkzeug.exceptions import Forbidden

from crawlers.operate.dashboard.audit import Audit
from crawlers.operate.dashboard.users import User, Users, UsersError, is_name
from crawlers.operate.sources.file import SourcesFile

if TYPE_CHECKING:
    from crawlers.operate.dashboard.site import Site


COOKIE = "catalogues_session"
LASTS = 8 * 3600
"""Seconds until a session ends."""
_SESSIONS = 100


@dataclass(slots=True)
class Session:
    """A browser that is logged in.

    Args:
        user: as users.toml had it at the login: after a change there, the session has ended.
        ends: when, in seconds of the clock.
        by_proxy: whether a proxy says who it is, with each request.
        token: what each of its forms sends.
    """

    user: User
    ends: float
    by_proxy: bool = False
    token: str = field(default_factory=secrets.token_urlsafe)
    sentences: list[str] = field(default_factory=list)
    """What its last action did, until a page shows it."""

    def take_sentences(self) -> list[str]:
        """Return the sentences, once."""
        taken, self.sentences = self.sentences, []
        return taken


@dataclass(frozen=True, slots=True)
class Proxies:
    """The proxies that say who a user is.

    Args:
        trusted: their addresses or networks, as TRUSTED_PROXIES has them.
        header: the header with the user's name.

    Raises:
        UsersError: one is no address.
    """

    trusted: Sequence[str] = ()
    header: str = "X-Forwarded-User"

    def __post_init__(self) -> None:
        _ = self.networks

    @property
    def networks(self) -> list[IPv4Network | IPv6Network]:
        """The trusted ones."""
        found = []
        for one in self.trusted:
            try:
                found.append(ip_network(one.strip(), strict=False))
            except ValueError:
                raise UsersError(f"TRUSTED_PROXIES: {one[:100]!r} is no IP address or network.") from None
        return found

    def user(self, users: Users) -> User | None:
        """Return whom a trusted proxy names in the request; a viewer, if users.toml does not have the name."""
        names = request.headers.getlist(self.header) if self.trusted else []
        if len(names) != 1 or not is_name(names[0]):
            return None
        peer = ip_address(request.remote_addr or "0.0.0.0")  # noqa: S104 -- it is nobody's
        if not any(peer in network for network in self.networks):
            return None
        return users.named(names[0]) or User(names[0], "viewer")


class Login:
    """The sessions of a dashboard. They end after eight hours, and with the process.

    No number of wrong passwords keeps the right one out; each takes so long that few can be tried.

    Args:
        users: who may log in.
        proxies: those that say who a user is.
        clock: returns the seconds since some moment.
    """

    def __init__(
        self, users: Users, proxies: Proxies | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.users = users
        self.proxies = proxies or Proxies()
        self.clock = clock
        self.sessions: OrderedDict[str, Session] = OrderedDict()
        self.of_proxies: OrderedDict[str, Session] = OrderedDict()
        """By the user's name: they need no cookie."""
        self.checking, self.changing = threading.Lock(), threading.Lock()

    def __bool__(self) -> bool:
        """Return whether anybody can log in, or is named by a proxy; the first user may come while pages are shown."""
        try:
            return bool(self.users.own or self.proxies.trusted or self.users.read())
        except UsersError:
            return True

    @property
    def takes_names(self) -> bool:
        """Whether the form asks for a name: there are more users than that of DASHBOARD_PASSWORD_ENV."""
        try:
            return bool(self.users.read()) or not self.users.own
        except UsersError:
            return True

    def session(self) -> Session | None:
        """Return the session of the request; ``None`` if its browser is not logged in."""
        if named := self.proxies.user(self.users):
            return self._of_proxy(named)
        with self.changing:
            found = self.sessions.get(request.cookies.get(COOKIE, ""))
        if found is None or self.clock() >= found.ends:
            return None
        return found if self.users.named(found.user.name) == found.user else None

    def _of_proxy(self, user: User) -> Session:
        with self.changing:
            found = self.of_proxies.pop(user.name, None)
            if found is None or found.user != user or self.clock() >= found.ends:
                found = Session(user, self.clock() + LASTS, by_proxy=True)
            _put(self.of_proxies, user.name, found)
            return found

    def begin(self, name: str, password: str) -> str:
        """Return the id of a new session, which replaces that of the request.

        Raises:
            Forbidden: the name or the password is wrong.
            UsersError: users.toml can't be read.
        """
        with self.checking:
            user = self.users.checked(name, password)
        if user is None:
            raise Forbidden(f"{'The name or the' if self.takes_names else 'The'} password is wrong.")
        with self.changing:
            self.sessions.pop(request.cookies.get(COOKIE, ""), None)
            made = secrets.token_urlsafe(32)
            _put(self.sessions, made, Session(user, self.clock() + LASTS))
            return made

    def end(self) -> None:
        """End the session of the request."""
        with self.changing:
            self.sessions.pop(request.cookies.get(COOKIE, ""), None)

    def checked(self, role: str = "operator") -> Session:
        """Return the session of a form that one of our pages has sent.

        Args:
            role: what its user must be, at least.

        Raises:
            Forbidden: the browser is not logged in, or another page has sent it, or its user may not do that.
        """
        check_origin()
        found = self.session()
        if found is None:
            raise Forbidden("This browser is not logged in, or its session has ended: log in.")
        if not hmac.compare_digest(_digest(request.form.get("token", "")), _digest(found.token)):
            raise Forbidden("This form is of an earlier session: reload its page, and send it again.")
        self.check_role(found, role)
        return found

    def check_role(self, session: Session, role: str) -> None:
        """Check that a user may do something.

        Raises:
            Forbidden: that takes another role.
        """
        user = session.user
        if not user.may(role):
            raise Forbidden(f"{user.name} has the role {user.role}; this takes the role {role}: nothing was done.")

    def needed(self, role: str = "viewer") -> Session:
        """Return the session of a page that not everybody may read.

        Raises:
            Forbidden: the browser is not logged in, or its user may not read it.
        """
        found = self.session()
        if found is None:
            raise Forbidden("Log in to read this page.")
        self.check_role(found, role)
        return found


def _put(sessions: OrderedDict[str, Session], name: str, session: Session) -> None:
    sessions[name] = session
    while len(sessions) > _SESSIONS:
        sessions.popitem(last=False)


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
        allowed: ALLOWED_PRIVATE_HOSTS.
        reviews: whether what is added waits for its review.
    """

    file: SourcesFile
    output: Path
    jobs: Path
    logs: Path
    given: Sequence[str] = ()
    queue: str = ""
    allowed: Sequence[str] = ()
    reviews: bool = False

    @property
    def audit(self) -> Audit:
        """The file that has who did what."""
        return Audit.beside(self.file.path)


class Desk:
    """What pages need on which one acts.

    Args:
        login: the sessions.
        project: what actions change.

    Attributes:
        site: the dashboard.
    """

    site: Site

    def __init__(self, login: Login, project: Project) -> None:
        self.login = login
        self.project = project
