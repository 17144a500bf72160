"""``[form]``: the search form that a listing is behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.exceptions import RulesError
from crawlers.kinds.html.rules.rules import SearchForm
from crawlers.kinds.html.rules.selectors import selector

if TYPE_CHECKING:
    from crawlers.records.toml import Table


def search_form(table: Table) -> SearchForm:
    """
    Raises:
        RulesError: a key is unknown, or a value is not what the key takes.
    """
    css, xpath = selector(table)
    fields = table.table("fields")
    button = table.value("button")
    table.end()
    if button is True or not isinstance(button, str | bool | None) or button == "":
        raise RulesError("form.button is the text or the name of a button, or false if none is clicked.")
    return SearchForm(css=css, xpath=xpath, button=button, fields=_fields(fields) if fields else ())


def _fields(table: Table) -> tuple[tuple[str, str | None], ...]:
    """Return each field with what it sends; ``None`` for one that is not sent."""
    for name, value in table.left.items():
        if not isinstance(value, str) and value is not False:
            raise RulesError(f"{table.name(name)} is neither a text nor false, for a field that is not sent.")
    return tuple((name, None if value is False else value) for name, value in table.left.items())
