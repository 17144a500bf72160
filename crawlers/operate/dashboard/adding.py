"""The pages that add a source: a form, what is found at the address, and five records; then it is added."""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flask import Response, abort, redirect, request

from crawlers.arguments import url
from crawlers.exceptions import CrawlersError, SourcesError, hint
from crawlers.listing.spider import source_name
from crawlers.operate.dashboard import addresses
from crawlers.operate.dashboard.audit import Deed
from crawlers.operate.dashboard.command import Command
from crawlers.operate.dashboard.forms import FIELDS, PUBLIC_ONLY, Form, check_files, check_named, check_public
from crawlers.operate.harvest.job import setting_text
from crawlers.operate.sources import edit
from crawlers.operate.sources.add import Adding, added, check_new, read, rules_of
from crawlers.operate.sources.source import read_source, texts
from crawlers.safety.redact import redact
from crawlers.store.sources_file import text

if TYPE_CHECKING:
    from flask import Flask
    from werkzeug.wrappers import Response as AnyResponse

    from crawlers.operate.dashboard.login import Desk, Session

PAGE = "/add"
SECONDS = 120
"""How long a preview may take."""
_RUNNING = 2  # previews at once
_KEPT = 20
_WAIT = 5.0  # seconds that a page waits for a preview


@dataclass
class Preview:
    """What is found at an address, by a process of its own.

    Args:
        user: the name of who asked.
        before: the table as it was typed.
    """

    user: str
    name: str
    address: str
    form: Form
    before: dict[str, Any]
    command: Command
    begun: float = field(default_factory=time.monotonic)
    found: dict[str, Any] | None = None

    def wait(self, seconds: float) -> dict[str, Any] | None:
        """Return what was found; ``None`` if it is not known after some seconds."""
        if self.found is None:
            ended = self.command.ended(seconds)
            if ended is not None:
                try:
                    self.found = read(ended.output)
                except SourcesError as error:
                    is_late = time.monotonic() - self.begun >= SECONDS
                    late = f"{self.address}: the preview took longer than {SECONDS} seconds, and was stopped."
                    sentence = late if is_late else ended.sentence if ended.errors else str(error)
                    self.found = {"mistake": sentence, "notes": []}
        return self.found


class Adder:
    """The pages."""

    def __init__(self, operators: Desk) -> None:
        self.operators = operators
        self.project = operators.project
        self.previews: OrderedDict[str, Preview] = OrderedDict()
        self.changing = threading.Lock()

    def add_to(self, app: Flask) -> None:
        """Add the pages to the dashboard."""
        app.add_url_rule(PAGE, "form to add", self.show, methods=["GET"])
        app.add_url_rule(PAGE, "preview", self.begin, methods=["POST"])
        app.add_url_rule(f"{PAGE}/<number>", "show preview", self.look, methods=["GET"])
        app.add_url_rule(f"{PAGE}/<number>", "add", self.add, methods=["POST"])

    def show(self) -> str:
        """Return the form, empty or with what was typed for a preview."""
        session = self.operators.login.needed("operator")
        known = self.previews.get(request.args.get("from", ""))
        if known is not None and known.user == session.user.name:
            return self._form(session, known.form, known.name, known.address)
        return self._form(session, Form.of({}), "", "")

    def begin(self) -> AnyResponse:
        """Begin to find out what is at an address; a form with a mistake comes back as it was typed."""
        session, form = self.operators.login.checked("operator"), Form.sent()
        name, where = (request.form.get(one, "").strip() for one in ("name", "address"))
        form.typed |= {"name": name, "address": where}
        table, status = form.table({}), 400
        for one in FIELDS:
            if table.get(one.key) is not None and not session.user.may(one.role):
                form.errors[one.key], status = f"{one.label} take the role {one.role}: nothing was asked.", 403
        if not form.errors:
            try:
                return self._begun(session, form, name, where, table)
            except CrawlersError as error:
                form.refuse(str(error))
        return Response(self._form(session, form, name, where), status)

    def _begun(self, session: Session, form: Form, name: str, where: str, table: dict[str, Any]) -> AnyResponse:
        file, user = self.project.file, session.user
        where = self._checked(form, name, where, table)
        if form.errors:
            return Response(self._form(session, form, name, where), 400)
        given = dict(table.get("settings", {}))
        if user.role != "admin":
            try:
                check_public(name, where, self.project.allowed)
            except SourcesError as error:
                form.errors["address"] = str(error)
                return Response(self._form(session, form, name, where), 400)
            check_files(name, table.get("arguments", {}), file.path.parent)
            given |= PUBLIC_ONLY
        given["CLOSESPIDER_TIMEOUT"] = SECONDS
        words = ["sources", "add", "--preview", "--json"]
        for key, value in texts(table.get("arguments", {}), f"{name}.arguments").items():
            words += ["-a", f"{key}={value}"]
        settings = [*self.project.given, *(f"{key}={setting_text(value)}" for key, value in given.items())]
        names = [name, *([table["spider"]] if table.get("spider") else []), where]
        with self.changing:
            running = [one for one in self.previews.values() if one.command.is_running]
            if len(running) >= _RUNNING:
                raise SourcesError(f"{_RUNNING} previews are running: try again in a minute.")
            number = secrets.token_urlsafe(16)
            preview = Preview(user.name, name, where, form, table, Command(words, names, settings))
            self.previews[number] = preview
            while len(self.previews) > _KEPT:
                self.previews.popitem(last=False)[1].command.leave()
        watch = threading.Timer(SECONDS, preview.command.stop)
        watch.daemon = True
        watch.start()
        return redirect(f"{PAGE}/{number}", 303)

    def _checked(self, form: Form, name: str, where: str, table: dict[str, Any]) -> str:
        """Check all that can be checked without a request; return the address."""
        file = self.project.file
        try:
            source_name(name)
            check_new(file, name, text(file.path) if file.path.exists() else "")
        except ValueError as error:
            form.errors["name"] = f"The name is not {error}."
        except SourcesError as error:
            form.errors["name"] = redact(str(error))
        try:
            where = url(where)
        except ValueError as error:
            form.errors["address"] = f"The address is not {error}."
        spider, spiders = table.get("spider"), file.known.spiders
        if spider and spider not in spiders:
            form.errors["spider"] = f"There is no spider {spider[:100]!r}.{hint(spider, spiders)}"
        if not form.errors:
            rest = {key: value for key, value in table.items() if key != "spider"}
            Adding(name, spider, where, rest, rules_of(file, name), file.known)
        return where

    def look(self, number: str) -> str:
        """Return what was found, or a page that asks again."""
        session = self.operators.login.needed("operator")
        preview = self._preview(session, number)
        found = preview.wait(_WAIT)
        if found is None:
            known = {"address": preview.address, "seconds": SECONDS}
            return self.operators.site.render("looking.html", page="sources", **known)
        if found["mistake"] and not found.get("spider"):
            form = Form(preview.form.typed, {"address": redact(found["mistake"])})
            return self._form(session, form, preview.name, preview.address, found["notes"])
        return self._found(preview, number, found)

    def add(self, number: str) -> AnyResponse:
        """Add what a preview has shown."""
        session = self.operators.login.checked("operator")
        preview = self._preview(session, number)
        found = preview.wait(0)
        if found is None or not found.get("spider"):
            return redirect(f"{PAGE}/{number}", 303)
        if found["question"] and request.form.get("agreed") != "yes":
            return Response(self._found(preview, number, found, "Tick the box if this is the catalogue."), 400)
        try:
            session.sentences.append(self._added(session, preview, found))
        except CrawlersError as error:
            return Response(self._found(preview, number, found, redact(str(error))), 400)
        with self.changing:
            self.previews.pop(number, None)
        return redirect(addresses.source(preview.name), 303)

    def _added(self, session: Session, preview: Preview, found: dict[str, Any]) -> str:
        file, user, name = self.project.file, session.user, preview.name
        table = preview.before | {"spider": found["spider"]}
        table["arguments"] = {**found["arguments"], **preview.before.get("arguments", {})}
        table |= {} if found["enabled"] else {"enabled": False}
        table |= {"review": "open"} if self.project.reviews else {}
        guards = check_named(None, read_source(name, table, file.known), self.project, user.role)
        if guards:
            table["settings"] = {**table.get("settings", {}), **guards}
        table = {key: value for key, value in table.items() if value not in ({}, None)}

        def act() -> str:
            rules = found["rules"]
            with edit.new_file(rules_of(file, name), rules) if rules else nullcontext():
                edit.write(file.path, lambda content: added(file, content, name, table))
            waits = ". It is pending review" if table.get("review") == "open" else ""
            off = ". It is disabled: look at its rules first" if not found["enabled"] else ""
            return f"[{name}] is added: spider {found['spider']}, {preview.address}{waits}{off}."

        given = {"address": preview.address, "spider": found["spider"]}
        return self.project.audit.recorded(Deed(user.name, user.role, "add", name, given), act)

    def _preview(self, session: Session, number: str) -> Preview:
        known = self.previews.get(number)
        if known is None or known.user != session.user.name:
            abort(404, "This preview is no longer there: fill in the form again.")
        return known

    def _found(self, preview: Preview, number: str, found: dict[str, Any], sentence: str = "") -> str:
        known = {"preview": preview, "number": number, "found": found, "sentence": sentence}
        return self.operators.site.render("preview.html", page="sources", **known)

    def _form(self, session: Session, form: Form, name: str, where: str, notes: list[str] | None = None) -> str:
        known = {
            "fields": FIELDS,
            "spiders": ["", *self.project.file.known.spiders],
            "form": form,
            "notes": notes or [],
        }
        known |= {"name": name, "address": where, "user": session.user}
        known["waits"] = self.project.reviews
        return self.operators.site.render("add.html", page="sources", **known)
