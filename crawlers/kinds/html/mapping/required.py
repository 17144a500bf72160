"""The fields that a page must have to be a dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.kinds.html.mapping.dates import date
from crawlers.kinds.html.mapping.field_reader import Entries
from crawlers.kinds.html.mapping.structured import structured

if TYPE_CHECKING:
    from crawlers.items import Dataset, Document
    from crawlers.kinds.html.rules import Rules

_DATES = ("issued", "modified")
_EMAILS = {f"{role}_email": role for role in ("publisher", "creator", "maintainer", "contact")}


def missing(document: Document, rules: Rules) -> list[str]:
    """Return the names of required fields that neither rules nor structured data gave; the title is required.

    What is there and can't be read, a date or an e-mail address, is missing too.
    """
    fields = Entries(document.get("fields"), document.get("language"), [])
    names = dict.fromkeys(("title", *(rule.name for rule in rules.fields if rule.required)))
    left = [name for name in names if not _is_readable(fields, name)]
    if left:
        item, origin = structured(document, source="", id="")
        left = [name for name in left if not origin or not _gives(item, name)]
    extras = (
        rule.name for rule in rules.extras if rule.required and rule.name != "title"
    )  # the title is always required
    return [*left, *(name for name in extras if name not in (document.get("extras") or {}))]


def _is_readable(fields: Entries, name: str) -> bool:
    if name == "temporal":
        return fields.period(name) is not None
    if name in _DATES:
        return fields.read(lambda text: date(text, fields.language, fields.order(name)), name) is not None
    if name in _EMAILS:
        return fields.email(name) is not None
    return name in fields.fields


def _gives(item: Dataset, name: str) -> bool:
    role = _EMAILS.get(name, name)
    agents = [each for each in (item.publisher, *item.contacts) if each and each.role == role]
    if name in _EMAILS:
        return any(each.email for each in agents)
    return bool(agents or getattr(item, name, None))
