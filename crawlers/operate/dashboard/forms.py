"""The form of a source's table: every key of sources.toml as text, and what is wrong beside its field."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import tomlkit
from flask import Response, abort, redirect, request

from crawlers.exceptions import CrawlersError, SourcesError
from crawlers.operate.dashboard import addresses
from crawlers.operate.dashboard.audit import Deed
from crawlers.operate.sources.file import ChangedError, address, digest
from crawlers.operate.sources.source import Source, read_source
from crawlers.safety.redact import redact
from crawlers.safety.resolver import is_public, spelled
from crawlers.store.sources_file import tables, text

if TYPE_CHECKING:
    from flask import Flask
    from werkzeug.wrappers import Response as AnyResponse

    from crawlers.operate.dashboard.login import Desk, Project, Session


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the form.

    Args:
        key: of the table.
        takes: ``line``, ``words`` (a list), ``choice``, ``yes`` or ``no`` (a box, and its default), or ``table``.
        hint: an example, or what an empty field means.
        role: who may change it.
    """

    key: str
    label: str
    takes: str
    hint: str = ""
    role: str = "operator"


FIELDS = (
    Field("spider", "Spider", "choice"),
    Field("schedule", "Schedule", "line", "Such as daily 01:00-05:00, weekly sun, 15 3 * * 1-5; empty: by name only"),
    Field("timezone", "Time zone", "line", "Such as Europe/Zurich; empty: UTC"),
    Field("retry", "Retries after a failed run", "words", "Such as 1h, 6h; empty: at its next time"),
    Field("contact", "Contact", "line", "Whom to ask at the catalogue"),
    Field("owner", "Owner", "line", "Who of yours answers for it"),
    Field("enabled", "Enabled: --all and --due take it", "yes"),
    Field("archive", "Archive its files after a harvest", "no"),
    Field("arguments", "Arguments", "table", 'portal = "https://data.example.org"'),
    Field("exclude", "What is left out", "table", 'tag = ["test"]'),
    Field("defaults", "Values for what a dataset lacks", "table", 'license = "CC-BY-4.0"'),
    Field("overrides", "Values for every dataset", "table", 'publisher = "Office of Statistics"'),
    Field("publish", "Packages", "table", 'organization = "statistics"'),
    Field("settings", "Settings", "table", "REQUESTS_PER_SECOND = 1.0", role="admin"),
)
_BY_KEY = {one.key: one for one in FIELDS}
_BOXES = {"yes": True, "no": False}
_KEY = re.compile(r"(\w+)(?=[:.]| is )")
_SENTENCE = re.compile(r"(?:.*?: )?\[(?P<name>[^\]]*)\](?::? )(?P<rest>.*)", re.DOTALL)


@dataclass
class Form:
    """What was typed, or what a table has.

    Args:
        typed: the text of each field, by its key.
        errors: sentences by the key of the field that they are about; "" for the table as a whole.
    """

    typed: dict[str, str]
    errors: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Form:
        """Return the form that shows a table."""
        return cls({one.key: _shown(one, table.get(one.key)) for one in FIELDS})

    @classmethod
    def sent(cls) -> Form:
        """Return the form of the request."""
        return cls({one.key: request.form.get(one.key, "").replace("\r\n", "\n").strip() for one in FIELDS})

    def table(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """Return the table that the form describes; mistakes become `errors`.

        Args:
            before: the table that is changed, whose other keys stay.
        """
        read = {one.key: self._read(one, before.get(one.key)) for one in FIELDS}
        kept = {key: value for key, value in before.items() if key not in read}
        return kept | {key: value for key, value in read.items() if value is not None}

    def _read(self, one: Field, before: Any) -> Any:
        typed = self.typed[one.key]
        if typed == _shown(one, before):
            return before
        if one.takes in _BOXES:
            return bool(typed)
        if one.takes == "words":
            return typed.replace(",", " ").split() or None
        if one.takes != "table":
            return typed or None
        try:
            return tomllib.loads(typed) or None
        except (ValueError, RecursionError) as error:
            self.errors[one.key] = (
                f"{one.label} take lines of TOML, such as {one.hint}: {str(error)[:200] or 'too deep'}."
            )
            return before

    def refuse(self, sentence: str) -> None:
        """Put a sentence of `scrapy sources validate` beside the field that it is about."""
        key, found = "", _SENTENCE.fullmatch(sentence)
        if found:
            inner, first = found["name"].partition(".")[2].partition(".")[0], _KEY.match(found["rest"])
            key = inner if inner in _BY_KEY else first[1] if first and first[1] in _BY_KEY else "arguments"
        self.errors[key] = redact(sentence)

    def changed(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Field]:
        """Return the fields that differ in two tables."""
        return [one for one in FIELDS if before.get(one.key) != after.get(one.key)]


def _shown(one: Field, value: Any) -> str:
    """Return a value as the text of its field."""
    if one.takes in _BOXES:
        return "yes" if (_BOXES[one.takes] if value is None else value) else ""
    if value is None:
        return ""
    if one.takes == "table" and isinstance(value, dict):
        return tomlkit.dumps(value).strip()
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return what changes a table into another one, as `crawlers.operate.sources.edit.update` takes it.

    >>> difference({"a": 1, "b": {"c": 1, "d": 2}}, {"b": {"c": 3, "d": 2}, "e": 4})
    {'a': None, 'b': {'c': 3}, 'e': 4}
    """
    found: dict[str, Any] = {}
    for key in {**before, **after}:
        old, new = before.get(key), after.get(key)
        if isinstance(old, Mapping) and (isinstance(new, Mapping) or new is None):
            if inner := difference(old, new or {}):
                found[key] = inner
        elif old != new:
            found[key] = new
    return found


def flat(changes: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield changes by the whole key, for the record of who did what.

    >>> list(flat({"a": None, "b": {"c": 3}}))
    [('a', 'removed'), ('b.c', 3)]
    """
    for key, value in changes.items():
        if isinstance(value, Mapping) and value:
            yield from flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", "removed" if value is None else value


# What an operator may not name

_FILES = ("rules", "kind", "sites")
"""The arguments of spiders that may name a file."""


def check_named(before: Source | None, after: Source, project: Project, role: str) -> dict[str, Any]:
    """Check what a source would ask for, of an operator; return the settings that keep it from private addresses.

    Args:
        before: the source as it was; ``None``: it is new, or was invalid.

    Raises:
        SourcesError: an address is private, or a file is elsewhere: an admin may name it.
    """
    if role == "admin":
        return {}
    new = {name: value for name, value in after.arguments.items() if not before or before.arguments.get(name) != value}
    known = project.file.known
    check_files(after.name, new, project.file.path.parent)
    where = address(after, known) or ""
    if before is not None and address(before, known) == where:
        return {}
    check_public(after.name, where, project.allowed)
    return dict(PUBLIC_ONLY)


def check_files(source: str, arguments: Mapping[str, Any], folder: Path) -> None:
    """Check that the files that arguments name are in a folder.

    Raises:
        SourcesError: one is not.
    """
    for name, value in arguments.items():
        if name in _FILES and "/" in str(value) and not _is_below(folder, str(value)):
            raise SourcesError(f"[{source}.arguments]: {name}: {value[:200]} is not below {folder}: ask an admin.")


def check_public(source: str, where: str, allowed: Sequence[str]) -> None:
    """Check that an address does not say itself that it is private; of a name, a crawl finds out.

    Raises:
        SourcesError: it does, and ALLOWED_PRIVATE_HOSTS does not have it.
    """
    try:
        parts = urlsplit(where if "://" in where else f"//{where}")
        host = parts.hostname or ""
    except ValueError:
        return  # the spider's argument says what is wrong
    literal = spelled(host) if host else None
    is_private = literal is not None and not is_public(literal)
    is_local = host == "localhost" or host.endswith((".localhost", ".local", ".internal"))
    if (is_private or is_local) and not {host, parts.netloc.lower()} & {*allowed}:
        raise SourcesError(
            f"[{source}.arguments]: {host} is not public: an admin may name it, or ALLOWED_PRIVATE_HOSTS."
        )


PUBLIC_ONLY = {"PORTAL_MAY_BE_PRIVATE": False}
"""What keeps a source from private addresses, also if its name leads to one later."""


def _is_below(folder: Path, value: str) -> bool:
    try:
        return Path(value).resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):
        return False


# The page


class Editor:
    """The page that changes a source's table."""

    def __init__(self, operators: Desk) -> None:
        self.operators = operators
        self.project = operators.project

    def add_to(self, app: Flask) -> None:
        """Add the page to the dashboard."""
        app.add_url_rule("/sources/<source>/edit", "show table", self.show, methods=["GET"])
        app.add_url_rule("/sources/<source>/edit", "edit", self.save, methods=["POST"])

    def show(self, source: str) -> str:
        """Return the form with what the table has."""
        session, table = self.operators.login.needed("operator"), self._table(source)
        return self._page(session, source, Form.of(table), table)

    def save(self, source: str) -> AnyResponse:
        """Change the table; a form with a mistake comes back as it was typed."""
        session, before, form = self.operators.login.checked("operator"), self._table(source), Form.sent()
        seen = request.form.get("table", "")
        if seen != digest(before):
            return self._changed_meanwhile(session, source, form, before)
        after = form.table(before)
        for one in form.changed(before, after):
            if not session.user.may(one.role):
                form.errors[one.key] = f"{one.label} take the role {one.role}: nothing was changed."
                return Response(self._page(session, source, form, before), 403)
        if not form.errors:
            try:
                sentence = self._saved(session, source, before, after, seen)
            except ChangedError:
                return self._changed_meanwhile(session, source, form, self._table(source))
            except CrawlersError as error:
                form.refuse(str(error))
            else:
                session.sentences.append(sentence)
                return redirect(addresses.source(source), 303)
        return Response(self._page(session, source, form, before), 400)

    def _saved(self, session: Session, source: str, before: dict[str, Any], after: dict[str, Any], seen: str) -> str:
        file, user = self.project.file, session.user
        changes = difference(before, after)
        if not changes:
            return f"[{source}] is as it was."
        old = file.read()[0].get(source)
        guards = check_named(old, read_source(source, after, file.known), self.project, user.role)
        if guards:
            changes["settings"] = {**changes.get("settings", {}), **guards}

        def act() -> str:
            file.change([source], changes, seen=seen)
            return f"[{source}] is changed: {', '.join(name for name, _ in flat(changes))}."

        return self.project.audit.recorded(Deed(user.name, user.role, "edit", source, dict(flat(changes))), act)

    def _changed_meanwhile(self, session: Session, source: str, form: Form, now: dict[str, Any]) -> Response:
        form.errors[""] = (
            f"[{source}] was changed meanwhile, and nothing was overwritten. The form has what you typed; below is the "
            f"table as it is now. Send the form again if it is still right."
        )
        return Response(self._page(session, source, form, now, is_shown=True), 409)

    def _table(self, source: str) -> dict[str, Any]:
        path = self.project.file.path
        table = tables(text(path), path).get(source)
        if not isinstance(table, dict):
            abort(404, f"{path} has no table [{source[:100]}] that can be changed here.")
        return table

    def _page(self, session: Session, source: str, form: Form, table: dict[str, Any], *, is_shown: bool = False) -> str:
        now = redact(tomlkit.dumps({source: table})) if is_shown else ""
        given = {"spiders": [*self.project.file.known.spiders], "fields": FIELDS, "digest": digest(table), "now": now}
        return self.operators.site.render(
            "edit.html", page="sources", source=source, form=form, user=session.user, **given
        )
