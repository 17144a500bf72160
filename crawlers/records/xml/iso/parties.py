"""The people and organisations that a record names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from crawlers.items import Agent
from crawlers.records import values
from crawlers.records.xml.iso.part import codes, link

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.items import Dataset
    from crawlers.records.xml.iso.part import Part

_PUBLISHERS = ("publisher", "distributor", "owner")


def describe(item: Dataset, record: Part, identification: Part) -> None:
    """Set the publisher and the contacts; of contacts several of a role are kept, each once.

    The publisher is the party of that role, else the distributor, else the owner, else the first point of contact.
    """
    own, distributors = list(agents(identification, "contact")), list(agents(record, "distributor"))
    by_role = {agent.role: agent for agent in reversed((*own, *agents(identification, "cited"), *distributors))}
    chosen = next((by_role[role] for role in _PUBLISHERS if role in by_role), None) or next(iter(own), None)
    item.publisher = chosen and replace(chosen, role="publisher")
    found = (*own, *agents(record, "contact"), *distributors)
    item.contacts = list({repr(agent): agent for agent in found}.values())


def agents(part: Part, name: str) -> Iterator[Agent]:
    for party in part.parts(name, "party"):
        role = party.text("role") or "contact"
        organisation = party.find("organisation")
        agent = Agent(
            name=party.line("organisation") or _person(party),
            uri=next(filter(None, map(link, organisation)), None),
            email=values.email(party.text("email") or ""),
            url=values.url(party.text("url") or ""),
            role=codes("role").get(role, role),
        )
        if agent.name or agent.uri or agent.email or agent.url:
            yield agent


def _person(party: Part) -> str | None:
    parts = (party.line("first_name"), party.line("last_name"))
    return party.line("person") or " ".join(filter(None, parts)) or party.line("position")
