"""The forms that stand before files, such as a licence that is to be accepted: FORMS_FILE says how each is filled."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from crawlers.exceptions import AnswerError, RulesError
from crawlers.kinds.html.answer import page_of
from crawlers.kinds.html.forms import fields, filled, value_of
from crawlers.kinds.html.rules import from_css
from crawlers.records import toml
from crawlers.records.toml import Table
from crawlers.safety.addresses import absolute, host

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from scrapy.http import Response

    from crawlers.records.html_page import Page

_LONGEST = 2_000  # characters of a pattern
_MOST = 10_000  # options, or elements that a selector finds


class Submission(NamedTuple):
    """The request that a form makes.

    Args:
        body: of a POST; empty for a GET.
        content_type: of the body; ``None`` for a GET.
    """

    method: str
    url: str
    body: bytes
    content_type: str | None


@dataclass(frozen=True, slots=True)
class FormRule:
    """How one form is filled.

    Args:
        address: the pattern of the files' addresses, as fnmatch takes it: ``*`` for any characters, ``?`` for one.
        page: the address of the page with the form; ``None`` if the file's own address shows it.
        form: which form of the page, in CSS; by default the only one.
        fields: the fields that are set: to a text, or ``True`` and ``False`` for a box that is ticked or not.
        submit: the button that is clicked, in CSS; without it, no button's name is sent.
        has_secret: whether a field comes from the environment: that is sent to the host of the declared page only.
    """

    address: str
    page: str | None
    form: str
    fields: Mapping[str, str | bool] = field(repr=False)  # some come from the environment
    submit: str | None = None
    has_secret: bool = False

    def matches(self, url: str) -> bool:
        """Return whether a file's address is behind this form."""
        return fnmatchcase(url, self.address)

    def page_of(self, url: str) -> str:
        """Return the address of the page that shows the form before a file."""
        return self.page or url

    def request(self, response: Response) -> Submission:
        """Return the request that a browser would send for the filled form.

        Args:
            response: the page with the form.

        Raises:
            AnswerError: it has no such form, field, choice or button, or it is not HTML: nothing is guessed.
        """
        page = page_of(response)
        form = _element(page, self.form, None)
        if form.tag != "form":
            raise AnswerError("not_taken", f"{self.form!r} finds <{form.tag}> instead of a form on {page.url}.")
        button = None if self.submit is None else _element(page, self.submit, list(fields(page, form)))
        changes = [(name, _value(page, form, name, value)) for name, value in self.fields.items()]
        found = filled(page, form, changes=changes, button=button, is_multipart=True)
        if found is None:
            raise AnswerError("not_taken", f"The form {self.form!r} on {page.url} leads to no web address.")
        if self.has_secret and {host(page.url), host(found.url)} != {host(self.page or self.address)}:
            message = f"The form on {page.url} would send what is secret to {host(found.url)}: it is not sent."
            raise AnswerError("not_taken", message)
        return Submission(found.method, found.url, found.body, found.content_type if found.method == "POST" else None)


@dataclass(frozen=True, slots=True)
class Forms:
    """The rules of FORMS_FILE; the first that matches an address counts."""

    rules: tuple[FormRule, ...] = ()

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return the rules of a file; none if there is no such file.

        Raises:
            RulesError: it can't be read, or is no such file; the message names the file, the key and what it takes.
        """
        return toml.load(path, "The forms", cls.loads) if path.exists() else cls()

    @classmethod
    def loads(cls, text: str) -> Self:
        """Return the rules of a file's text.

        Raises:
            RulesError: it is not TOML, a key is unknown, or a value is not what the key takes.
        """
        file = toml.table(text)
        given = file.value("forms")
        file.end()
        if given is not None and not (isinstance(given, list) and all(isinstance(each, dict) for each in given)):
            raise RulesError("forms is not a list of tables: each form begins with [[forms]].")
        return cls(tuple(_rule(Table(each, f"forms[{number}]")) for number, each in enumerate(given or [])))

    def rule(self, url: str) -> FormRule | None:
        """Return the rule for a file's address; ``None`` if no form is known to stand before it."""
        return next((rule for rule in self.rules if rule.matches(url)), None)


# The file


def variables(text: str) -> list[str]:
    """Return the environment variables that a file's text names, whether they are set or not.

    Raises:
        RulesError: it is not TOML.
    """
    given = toml.table(text).left.get("forms")
    forms = [one.get("fields") for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    values = [value for one in forms if isinstance(one, dict) for value in one.values() if isinstance(value, dict)]
    return [name for value in values if isinstance(name := value.get("env"), str)]


def _rule(table: Table) -> FormRule:
    given = table.table("fields")
    has_secret = given is not None and any(isinstance(value, dict) for value in given.left.values())
    rule = FormRule(
        address=_pattern(table),
        page=_address(table),
        form=_selector(table, "form") or "form",
        fields=_fields(given),
        submit=_selector(table, "submit"),
        has_secret=has_secret,
    )
    table.end()
    return rule


def _pattern(table: Table) -> str:
    pattern = table.text("address")
    if pattern is None:
        raise RulesError(f'{table.name("address")} is missing: the files\' addresses, "https://example.org/files/*".')
    if not pattern.startswith(("http://", "https://")) or len(pattern) > _LONGEST:
        raise RulesError(f"{table.name('address')}: {pattern[:100]!r} does not begin with http:// or https://.")
    return pattern


def _address(table: Table) -> str | None:
    address = table.text("page")
    if address is not None and absolute(address) != address:
        raise RulesError(f"{table.name('page')}: {address[:100]!r} is not an http(s) address without a fragment.")
    return address


def _selector(table: Table, key: str) -> str | None:
    css = table.text(key)
    if css is not None:
        from_css(css, table.name(key))
    return css


def _fields(table: Table | None) -> dict[str, str | bool]:
    """Return the fields that are set, with what they take from the environment."""
    return {} if table is None else {name: _given(table, name) for name in list(table.left)}


def _given(table: Table, name: str) -> str | bool:
    value = table.value(name)
    if isinstance(value, dict):
        return _secret(Table(value, table.name(name)))
    if not isinstance(value, str | bool):
        raise RulesError(f'{table.name(name)} is neither a text, true, false nor {{ env = "NAME" }}.')
    return value


def _secret(table: Table) -> str:
    name = table.text("env")
    table.end()
    if not name:
        raise RulesError(f'{table.path} needs the name of an environment variable, {{ env = "NAME" }}.')
    value = os.environ.get(name)
    if not value:  # GitHub passes a secret that is not set as an empty one
        raise RulesError(f"{table.path}: the environment variable {name} is not set.")
    return value


# The page


def _element(page: Page, css: str, among: list[Any] | None) -> Any:
    """Return the only element that a selector finds, of the page's or of a form's."""
    found = [each for each in page.find(from_css(css, "form"), limit=_MOST) if among is None or each in among]
    if len(found) != 1:
        raise AnswerError("not_taken", f"{css!r} finds {len(found) or 'no'} elements on {page.url} instead of one.")
    return found[0]


def _value(page: Page, form: Any, name: str, value: str | bool) -> str | None:
    """Return what a field sends when it is set; ``None`` if it sends nothing.

    Raises:
        AnswerError: the form has no such field, or does not offer this value.
    """
    named = [element for element in fields(page, form) if element.get("name") == name]
    if not named:
        raise AnswerError("not_taken", f"The form on {page.url} has no field {name!r}.")
    offered = _offered(named)
    if isinstance(value, bool):
        if len(offered) != 1 or named[0].tag != "input":
            raise AnswerError("not_taken", f"The field {name!r} of the form on {page.url} is no box that is ticked.")
        return offered[0] if value else None
    if offered and value not in offered:
        raise AnswerError("not_taken", f"The field {name!r} of the form on {page.url} does not offer its value.")
    return value


def _offered(named: list[Any]) -> list[str]:
    """Return the values of boxes, or of a select's options; none for a field that takes any text."""
    boxes = [one for one in named if (one.get("type") or "").strip().lower() in ("checkbox", "radio")]
    options = [option for one in named if one.tag == "select" for option in islice(one.iter("option"), _MOST)]
    return [*(one.get("value", "on") for one in boxes), *map(value_of, options)]
