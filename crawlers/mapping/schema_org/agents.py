"""Organisations and people, by the part they have in a dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlers.items import Agent
from crawlers.mapping import values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.mapping.data_json.node import Node

_ROLES = {
    "contactPoint": "contact",
    "creator": "creator",
    "author": "creator",
    "maintainer": "maintainer",
    "provider": "provider",
    "sourceOrganization": "sourceOrganization",
    "contributor": "contributor",
    "editor": "editor",
    "copyrightHolder": "rightsHolder",
}
_REACHED = ("publisher", "creator", "maintainer")
_NAMES = ("name", "legalName", "alternateName")
AROUND_NAMES = " <>()[],;:–-"
"""Signs that part a name from the rest of its line."""

_ELSEWHERE = ("sameAs", "identifier")


def publisher(fields: Node) -> Agent | None:
    return next(_agents(fields, "publisher", "publisher"), None)


def contacts(fields: Node) -> list[Agent]:
    """By role; publishers beyond the first, and where an organisation is reached, are among them."""
    found = [*_agents(fields, "publisher", "publisher")][1:]
    for name, role in _ROLES.items():
        found += _agents(fields, name, role)
    for name in _REACHED:
        found += _points(fields, name)
    return list({repr(one): one for one in found}.values())


def _points(fields: Node, name: str) -> Iterator[Agent]:
    """The contact points of an organisation, which gives its name to those without."""
    for owner in fields.nodes(name, text=lambda _: None):
        for one in _agents(owner, "contactPoint", "contact"):
            one.name = one.name or _name(owner)
            yield one


def _agents(fields: Node, name: str, role: str) -> Iterator[Agent]:
    for node in fields.nodes(name, text=_written):
        agent = Agent(
            name=_name(node),
            uri=node.iri() or _elsewhere(node),
            email=node.email("email"),
            url=node.link("url", "homepage"),
            role=role,
        )
        if agent.name or agent.uri or agent.email or agent.url:
            yield agent


def _written(text: str) -> dict[str, Any]:
    """
    >>> _written("Water Office"), _written("Jane Doe <jane@example.org>"), _written("https://example.org/office")
    ({'name': 'Water Office'}, {'name': 'Jane Doe', 'email': 'jane@example.org'}, {'url': 'https://example.org/office'})
    """
    if values.url(text):
        return {"url": text}
    email = values.email(text)
    if not email:
        return {"name": text}
    name = name_beside(email, text)
    return {"name": name, "email": email} if name else {"email": email}


def name_beside(email: str, text: str) -> str | None:
    """What is left of a text without the e-mail address in it.

    >>> name_beside("a@example.org", "Jane Doe: a@example.org"), name_beside("a@example.org", "<mailto:a@example.org>")
    ('Jane Doe', None)
    """
    return text.replace(email, "").replace("mailto:", "").strip(AROUND_NAMES) or None


def _name(node: Node) -> str | None:
    if found := node.text(*_NAMES):
        return found
    return " ".join(filter(None, (node.text("givenName"), node.text("familyName")))) or None


def _elsewhere(node: Node) -> str | None:
    """ORCID, ROR and the like."""
    return next(filter(None, (values.url(text) for name in _ELSEWHERE for text in _texts(node, name))), None)


def _texts(node: Node, name: str) -> list[str]:
    return [one for _, one in node.many(name) if isinstance(one, str)]
