"""Publishers and contacts: organisations, people and vCards, objects or no more than their names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from crawlers.items import Agent
from crawlers.mapping import values
from crawlers.mapping.data_json.identifiers import iri

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.mapping.data_json.node import Node

_NAMES = ("name", "fn", "prefLabel", "label", "title", "organization-name")
_ROLES = ("creator", "contributor", "rightsHolder")
_HIGHEST = 10


def publisher(fields: Node) -> Agent | None:
    return next(_agents(fields, "publisher", "publisher"), None)


def contacts(fields: Node) -> list[Agent]:
    """The contact point, then who else had a part in the dataset, by role."""
    found = list(_agents(fields, "contactPoint", "contact"))
    email = fields.email("mbox")
    if email and not any(agent.email for agent in found):
        found = [_with_email(found, email), *found[1:]]
    for role in _ROLES:
        found += _agents(fields, role, role)
    return found + list(_attributed(fields))


def _with_email(found: list[Agent], email: str) -> Agent:
    """POD 1.0 has the contact's address beside its name."""
    agent = found[0] if found else Agent(role="contact")
    agent.email = email
    return agent


def _attributed(fields: Node) -> Iterator[Agent]:
    yield from _agents(fields, "wasAttributedTo", "contributor")
    for one in fields.nodes("qualifiedAttribution"):
        role = re.split(r"[/#:]", one.text("hadRole") or "contributor")[-1]
        yield from _agents(one, "agent", role)


def _agents(fields: Node, name: str, role: str) -> Iterator[Agent]:
    for node in fields.nodes(name, text=_named):
        if agent := _agent(node, role):
            yield agent


def _named(text: str) -> dict[str, Any] | None:
    """
    >>> _named("Water Office"), _named("https://example.org/office"), _named("mailto:a@example.org")
    ({'name': 'Water Office'}, {'@id': 'https://example.org/office'}, {'hasEmail': 'mailto:a@example.org'})
    """
    if values.email(text) and not values.url(text):
        return {"hasEmail": text}
    return {"@id": text} if iri(text) else {"name": text}


def _agent(node: Node, role: str) -> Agent | None:
    agent = Agent(
        name=_name(node),
        uri=node.iri(),
        email=node.email("hasEmail", "email", "mbox"),
        url=node.link("hasURL", "homepage", "url"),
        role=role,
    )
    return agent if agent.name or agent.uri or agent.email or agent.url else None


def _name(node: Node, highest: int = _HIGHEST) -> str | None:
    """Its own; of a person the two parts; of what has none that of the organisation it belongs to."""
    if found := node.text(*_NAMES):
        return found
    if "given-name" in node.fields or "family-name" in node.fields:
        return " ".join(filter(None, (node.text("given-name"), node.text("family-name")))) or None
    above = node.nodes("subOrganizationOf", text=_named) if highest else ()
    return next(filter(None, (_name(one, highest - 1) for one in above)), None)
