"""The fields without which a page is no dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlers.mapping.html.structured import structured

if TYPE_CHECKING:
    from crawlers.items import Dataset, Document
    from crawlers.rules import Rules

_EMAILS = {"publisher_email": "publisher", "contact_email": "contact"}


def missing(document: Document, rules: Rules) -> list[str]:
    """The required fields that neither the rules nor structured data gave, by name; the title is always required."""
    names = ["title", *(rule.name for rule in (*rules.fields, *rules.extras) if rule.required)]
    given: dict[str, Any] = document.get("fields", {}) | document.get("extras", {})
    left = [name for name in dict.fromkeys(names) if name not in given]
    if not left:
        return []
    item, origin = structured(document, source="", id="")
    return [name for name in left if not origin or not _gives(item, name)]


def _gives(item: Dataset, name: str) -> bool:
    role = _EMAILS.get(name, name)
    agents = [one for one in (item.publisher, *item.contacts) if one and one.role == role]
    if name in _EMAILS:
        return any(one.email for one in agents)
    return bool(agents or getattr(item, name, None))
