"""What operators do: a button for each action, the pages that ask first, of users, and of who did what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flask import Response, abort, g, redirect, request
from werkzeug.exceptions import Forbidden, TooManyRequests

from crawlers.exceptions import CrawlersError, SourcesError, with_command
from crawlers.fleet import load
from crawlers.operate.dashboard import addresses
from crawlers.operate.dashboard.adding import Adder
from crawlers.operate.dashboard.addresses import Paging, some
from crawlers.operate.dashboard.audit import Deed
from crawlers.operate.dashboard.command import run
from crawlers.operate.dashboard.forms import Editor
from crawlers.operate.dashboard.login import COOKIE, LASTS, Desk, Project, Session, check_origin
from crawlers.operate.dashboard.users import PASSWORD, ROLES, User, UsersError, checked_password
from crawlers.operate.harvest import processes, selection
from crawlers.operate.harvest.harvest import already_running
from crawlers.operate.harvest.job import read_claim
from crawlers.operate.sources.file import digest
from crawlers.operate.sources.folders import Places, extent
from crawlers.operate.sources.shrink import SETTING, check_queue, refused, to_accept, what
from crawlers.operate.sources.source import Source
from crawlers.safety.locks import is_crawled
from crawlers.safety.names import archive_of, is_source
from crawlers.safety.redact import redact
from crawlers.store.figures.formatting import counted, size
from crawlers.store.runs import at_work, runs
from crawlers.store.sources_file import tables, text

if TYPE_CHECKING:
    from flask import Flask
    from werkzeug.wrappers import Response as AnyResponse

    from crawlers.operate.dashboard.site import Site


_USERS_PAGE = "/users"
_AUDIT_PAGE = "/audit"
_SIZE = 50  # lines of audit.jsonl on a page
_LARGEST = 16 * 1024  # bytes of a form


@dataclass(frozen=True, slots=True)
class Typed:
    """What a form has for an action.

    Args:
        why: a reason.
        name: the name of a source, typed.
        seen: the digest of the table that the user saw.
        run: the run whose refused list the user saw.
    """

    why: str | None = None
    name: str | None = None
    seen: str | None = None
    run: str | None = None

    @classmethod
    def sent(cls) -> Typed:
        """Return that of the request."""
        names = {"why": "why", "name": "name", "seen": "table", "run": "run"}
        return cls(**{key: request.form.get(name, "").strip() or None for key, name in names.items()})

    @property
    def known(self) -> dict[str, str]:
        """What the record of who did what has of it."""
        found = {"why": self.why, "name": self.name, "run": self.run}
        return {name: value for name, value in found.items() if value}


@dataclass(frozen=True, slots=True)
class Action:
    """What a button does.

    Args:
        label: the text on it.
        act: does it to a source, with what was typed, and returns a sentence.
        takes_comment: whether it has a field for the reason.
        asks: whether a page of its own asks first, at the same address.
        role: who may do it.
    """

    label: str
    act: Callable[[Project, str, Typed], str]
    takes_comment: bool = False
    asks: bool = False
    role: str = "operator"


class Operators(Desk):
    """The login, and what it allows.

    Args:
        login: the sessions.
        project: what actions change.
    """

    def add_to(self, app: Flask, site: Site) -> None:
        """Add the login and the actions to the dashboard."""
        self.site = site
        site.templates.globals.update(login=self.login, available=self.available, digest_of=self.digest_of)
        app.config.update(MAX_CONTENT_LENGTH=_LARGEST, MAX_FORM_MEMORY_SIZE=_LARGEST)
        app.add_url_rule("/login", "login", self.show_form, methods=["GET"])
        app.add_url_rule("/login", "log in", self.log_in, methods=["POST"])
        app.add_url_rule("/logout", "log out", self.log_out, methods=["POST"])
        app.add_url_rule(_AUDIT_PAGE, "audit", self.show_audit, methods=["GET"])
        app.add_url_rule(_USERS_PAGE, "users", self.show_users, methods=["GET"])
        app.add_url_rule(_USERS_PAGE, "add user", self.add_user, methods=["POST"])
        app.add_url_rule(f"{_USERS_PAGE}/<name>/remove", "remove user", self.remove_user, methods=["POST"])
        Editor(self).add_to(app)
        Adder(self).add_to(app)
        app.add_url_rule(f"/sources/<source>/<any({_named(ACTIONS)}):name>", "act", self.act, methods=["POST"])
        asking = [name for name, action in ACTIONS.items() if action.asks]
        app.add_url_rule(f"/sources/<source>/<any({_named(asking)}):name>", "ask", self.ask, methods=["GET"])

    def available(self, source: str) -> dict[str, Action]:
        """Return what the user can do with a source as it is now, by the last part of the address that does it."""
        session, table = self.login.session(), self._listed()[0].get(source)
        last = at_work(self.project.output / source)
        is_at_work = last is not None and last.state == "running"
        names = ["stop"] if is_at_work else []
        if table:
            is_shrunk = not is_at_work and refused(self.project.output, source) is not None
            has_failed = not is_shrunk and has_to_be_retried(self.project.output, source)
            names += [] if is_at_work or table.review == "refused" else ["retry" if has_failed else "harvest"]
            names += ["accept-shrink"] if is_shrunk else []
            names += ["disable" if table.enabled else "enable"]
            names += [name for name, state in _REVIEWS.items() if state != table.review]
        names += [] if is_at_work else [*(["rename"] if table else []), "purge"]
        return {name: ACTIONS[name] for name in names if session and session.user.may(ACTIONS[name].role)}

    def digest_of(self, source: str) -> str:
        """Return the digest of a source's table, which its forms carry; empty if it has none."""
        table = self._listed()[1].get(source)
        return digest(table) if isinstance(table, dict) else ""

    def _listed(self) -> tuple[dict[str, Source], dict[str, Any]]:
        """Return the sources and the tables of sources.toml, which a page reads once."""
        if "listed" not in g:
            file = self.project.file
            try:
                content = text(file.path)
                g.listed = file.parse(content)[0], tables(content, file.path)
            except SourcesError:
                g.listed = {}, {}
        return g.listed  # type: ignore[no-any-return]

    def show_form(self, sentence: str = "") -> str | AnyResponse:
        """Return the page of the login."""
        if self.login.session():
            return redirect(_back())
        given = {"source": request.values.get("source", ""), "name": request.form.get("name", "")}
        return self.site.render("login.html", page="login", sentence=sentence, **given)

    def log_in(self) -> AnyResponse:
        """Begin a session."""
        check_origin()
        try:
            session = self.login.begin(request.form.get("name") or PASSWORD, request.form.get("password", ""))
        except (Forbidden, TooManyRequests) as error:
            answer = Response(str(self.show_form(str(error.description))), error.code)
            answer.headers.extend((name, value) for name, value in error.get_headers() if name == "Retry-After")
            return answer
        except UsersError as error:
            return Response(str(self.show_form(redact(str(error)))), 503)
        back = redirect(_back(), 303)
        back.set_cookie(COOKIE, session, max_age=LASTS, secure=request.is_secure, httponly=True, samesite="Strict")
        return back

    def log_out(self) -> AnyResponse:
        """End the session."""
        self.login.checked("viewer")
        self.login.end()
        answer = redirect("/", 303)
        answer.delete_cookie(COOKIE, secure=request.is_secure, httponly=True, samesite="Strict")
        return answer

    def act(self, source: str, name: str) -> AnyResponse:
        """Do what a button says; the next page shows the sentence."""
        action, typed = ACTIONS[name], Typed.sent()
        session = self.login.checked(action.role)
        is_done = self.recorded(session, name, source, typed.known, lambda: action.act(self.project, source, typed))
        if is_done:
            return redirect(_after(name, source, typed), 303)
        return redirect(f"{addresses.source(source)}/{name}" if action.asks else addresses.source(source), 303)

    def ask(self, source: str, name: str) -> str:
        """Return the page that asks before something is done that can't be undone, or that a name is typed for."""
        action = ACTIONS[name]
        self.login.needed(action.role)
        known = asked(name, self.project, source)
        return self.site.render("ask.html", page="sources", source=source, name=name, action=action, **known)

    def recorded(
        self, session: Session, action: str, subject: str, given: Mapping[str, Any], act: Callable[[], str]
    ) -> bool:
        """Do something that audit.jsonl has; the next page shows what came of it. Return whether it was done."""
        deed = Deed(session.user.name, session.user.role, action, subject, given)
        try:
            sentence, is_done = self.project.audit.recorded(deed, act), True
        except CrawlersError as error:
            sentence, is_done = str(error), False
        session.sentences.append(redact(with_command(sentence)))
        return is_done

    def show_audit(self) -> str:
        """Return the page of who did what."""
        self.login.needed()
        number = addresses.page_number(request.args)
        lines, more = some(self.project.audit.read(), number, _SIZE)
        paging = Paging(_AUDIT_PAGE, {}, number, more)
        return self.site.render("audit.html", page="audit", lines=lines, paging=paging, path=self.project.audit.path)

    def show_users(self) -> str:
        """Return the page of the users."""
        self.login.needed("admin")
        return self._users_page()

    def _users_page(self, sentence: str = "") -> str:
        users: Iterable[User] = ()
        try:
            users = self.login.users.read().values()
        except UsersError as error:
            sentence = sentence or redact(str(error))
        given = {"name": request.form.get("name", ""), "role": request.form.get("role", ROLES[0])}
        known = {"own": self.login.users.own.values(), "roles": ROLES, "path": self.login.users.path}
        return self.site.render("users.html", page="users", users=users, sentence=sentence, **given, **known)

    def add_user(self) -> AnyResponse:
        """Add a user; a form with a mistake keeps what was typed, but for the password."""
        session, name = self.login.checked("admin"), request.form.get("name", "").strip()
        role, password = request.form.get("role", ""), request.form.get("password", "")

        def act() -> str:
            self.login.users.add(name, role, checked_password(password) if password else None)
            return f"{name} may log in with the role {role}." if password else f"{name} has the role {role}."

        if self.recorded(session, "add user", name, {"role": role}, act):
            return redirect(_USERS_PAGE, 303)
        return Response(self._users_page(" ".join(session.take_sentences())), 400)

    def remove_user(self, name: str) -> AnyResponse:
        """Remove a user."""
        session = self.login.checked("admin")

        def act() -> str:
            self.login.users.remove(name)
            return f"{name} is removed, and logged out."

        self.recorded(session, "remove user", name, {}, act)
        return redirect(_USERS_PAGE, 303)


def _back() -> str:
    """Return the page to show after the login: that of the source from which it was asked for."""
    source = request.values.get("source", "")
    return addresses.source(source) if source else "/"


def _after(action: str, source: str, typed: Typed) -> str:
    """Return the page to show after an action: a source may have another name now, or be gone."""
    return {"rename": addresses.source(typed.name or source), "purge": "/sources"}.get(action, addresses.source(source))


def _accept(project: Project, name: str, typed: Typed) -> str:
    check_queue(project.queue, name)
    run = to_accept(project.output, name)
    if typed.run != run:
        raise SourcesError(f"[{name}]: its last run is another one by now: look at what it refused to withdraw.")
    return _harvest(replace(project, given=(*project.given, f"{SETTING}={run}")), name, typed)


def _harvest(project: Project, name: str, _: Typed) -> str:
    sources, mistakes = project.file.read()
    if name in mistakes:
        raise SourcesError(mistakes[name])
    selection.named(sources, [name])
    if is_crawled(project.output / name) or read_claim(project.jobs, name).is_held:
        return f"[{name}] {already_running(name).sentence}"
    sentence = processes.start(name, project.jobs, project.logs, project.given)
    return f"[{name}] is in the queue: a node that is free harvests it." if project.queue else sentence


def _stop(project: Project, name: str, _: Typed) -> str:
    if project.queue and load("queue").Queue(project.queue).stop(name):
        return f"[{name}] is being stopped on its node."
    return processes.stop(project.output, name)


def _changed(verb: str) -> Callable[[Project, str, Typed], str]:
    return lambda project, name, typed: "".join(project.file.set_state(verb, [name], typed.why, typed.seen))


def _refuse(project: Project, name: str, typed: Typed) -> str:
    if not typed.why:
        raise SourcesError(f"[{name}] is not refused: the reason is missing.")
    return _changed("refuse")(project, name, typed)


def _rename(project: Project, name: str, typed: Typed) -> str:
    new = typed.name or ""
    project.file.check([name], tables(text(project.file.path), project.file.path))
    if not is_source(new):
        raise SourcesError(f"[{name}] is not renamed: {new[:100]!r} can't be a source's name.")
    _command(project, "rename", name, new)
    return f"[{name}] is [{new}] now."


def _purge(project: Project, name: str, typed: Typed) -> str:
    if typed.name != name:
        raise SourcesError(f"[{name[:100]}] is not purged: type its name, {name[:100]}, to delete what it has.")
    if not is_source(name):
        raise SourcesError(f"There is no source {name[:100]!r}.")
    if name in tables(text(project.file.path), project.file.path):
        _command(project, "remove", name)
    if not what_is_left(project, name):
        return f"[{name}] is removed from {project.file.path}; nothing of it was on disk."
    return f"[{name}]: {_command(project, 'purge', '--yes', name)}"


def _command(project: Project, verb: str, *words: str) -> str:
    """Run a verb of `scrapy sources`; return its last line.

    Raises:
        SourcesError: it was not done; with its own sentence.
    """
    options, names = ([word for word in words if word.startswith("--")], [word for word in words if word[:2] != "--"])
    ran = run(["sources", verb, *options], names, project.given, _PATIENCE)
    if ran is None:
        raise SourcesError(f"[{names[0]}]: `scrapy sources {verb}` has not ended yet, and goes on: look again later.")
    if ran.code:
        raise SourcesError(ran.sentence)
    return ran.output.strip().splitlines()[-1]


def has_to_be_retried(output: Path, source: str) -> bool:
    """Return whether a source's last run left something out that another run may get: one that is blocked waits."""
    last = next((one for one in runs(output, source, limit=1) if one.over), None)
    return last is not None and last.state in ("incomplete", "failed")


def what_is_left(project: Project, name: str) -> list[tuple[Path, int, int]]:
    """Return what a purge deletes: each folder, its files and its bytes."""
    found: list[tuple[Path, int, int]] = []
    for one in (name, archive_of(name)) if is_source(name) else ():
        place = Places.named(one, project.output, project.jobs, project.logs)
        found += [(path, *extent(path)) for path in place.existing]
    return found


def asked(action: str, project: Project, name: str) -> dict[str, Any]:
    """Return what the page says that asks before an action.

    Raises:
        NotFound: there is nothing to ask about.
    """
    if not is_source(name):
        abort(404, f"There is no source {name[:100]!r}.")
    if action == "accept-shrink":
        run = refused(project.output, name)
        if run is None:
            abort(404, f"[{name}]: its last run did not refuse to withdraw anything.")
        return {"said": what(project.output, name, run), "run": run}
    path = project.file.path
    is_listed = path.exists() and name in tables(text(path), path)
    left = what_is_left(project, name)
    if not is_listed and (action == "rename" or not left):
        abort(404, f"{path} has no source {name[:100]!r}.")
    shown = [f"{path}: {counted(files, 'file')}, {size(volume)}" for path, files, volume in left]
    return {"left": shown, "is_listed": is_listed}


_PATIENCE = 100.0  # seconds that a page waits for a command
ACTIONS = {
    "harvest": Action("Harvest now", _harvest),
    "retry": Action("Retry what failed", _harvest),
    "accept-shrink": Action("Accept the shrink", _accept, asks=True),
    "stop": Action("Stop", _stop),
    "enable": Action("Enable", _changed("enable")),
    "disable": Action("Disable", _changed("disable")),
    "approve": Action("Approve", _changed("approve"), takes_comment=True),
    "refuse": Action("Refuse", _refuse, takes_comment=True),
    "rename": Action("Rename", _rename, asks=True, role="admin"),
    "purge": Action("Purge", _purge, asks=True, role="admin"),
}
_REVIEWS = {"approve": "approved", "refuse": "refused"}


def _named(names: Iterable[str]) -> str:
    return ",".join(f'"{name}"' for name in names)
