"""People and organisations, by their role in a dataset."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from crawlers.items import Agent
from crawlers.records import values
from crawlers.records.dcat.description import properties, remembered
from crawlers.records.rdf.terms import (
    ADMS,
    DC,
    DCAT,
    DCT,
    FOAF,
    GEODCATAP,
    ORG,
    PROV,
    SCHEMA,
    SCHEMA_HTTPS,
    TYPE,
    VCARD,
    Literal,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crawlers.records.dcat.description import Description

_GEODCAT_ROLES = (
    *("custodian", "distributor", "originator", "principalInvestigator", "processor", "resourceProvider", "user"),
)
_PROPERTIES = {
    DCAT + "contactPoint": "contact",
    ADMS + "contactPoint": "contact",
    DCT + "creator": "creator",
    DC + "creator": "creator",
    SCHEMA + "creator": "creator",
    SCHEMA_HTTPS + "creator": "creator",
    DCT + "publisher": "publisher",
    DC + "publisher": "publisher",
    SCHEMA + "publisher": "publisher",
    SCHEMA_HTTPS + "publisher": "publisher",
    SCHEMA + "maintainer": "maintainer",
    SCHEMA_HTTPS + "maintainer": "maintainer",
    DCT + "contributor": "contributor",
    DCT + "rightsHolder": "rightsHolder",
    **{GEODCATAP + role: role for role in _GEODCAT_ROLES},
}
_ROLES = ("contact", "creator", "publisher", "maintainer", "rightsHolder", *_GEODCAT_ROLES)
_ISO_ROLES = {"pointOfContact": "contact", "author": "creator", "owner": "rightsHolder"}
_ATTRIBUTION = PROV + "qualifiedAttribution"
AGENTS = (*_PROPERTIES, _ATTRIBUTION)
"""The properties that lead to agents."""
_ROLE = re.compile(r"[A-Za-z]{2,40}")

_NAMES, _EMAILS, _PAGES = (properties(Agent, name) for name in ("name", "email", "url"))
_ORGANISATION_NAMES = (VCARD + "organization-name", VCARD + "organisation-name", VCARD + "hasOrganizationName")
_ORGANISATIONS = (*_ORGANISATION_NAMES, VCARD + "org", ORG + "memberOf", FOAF + "member")
_GROUPS = {FOAF + "Group", FOAF + "Organization", VCARD + "Group"}


def agents(node: Description, *names: str) -> tuple[Agent | None, list[Agent]]:
    """Return the publisher, and all others sorted by role, then by name.

    Publishers beyond the first, which is one with a name if there is one, are among the others; one of a property
    comes before one of an attribution.
    """
    direct = list(_by_property(node, names))
    found = in_their_order([*direct, *_attributed(node)])
    publishers = [each for each in found if each.role == "publisher"]
    publisher = next((each for each in publishers if each in direct), next(iter(publishers), None))
    return publisher, [each for each in found if each != publisher]


def in_their_order(found: Iterable[Agent]) -> list[Agent]:
    """Return agents by role, then by name, each once; those of whom nothing is known are left out."""
    unique = {_order(each): each for each in found if each.name or each.uri or each.email or each.url}
    return [unique[key] for key in sorted(unique)]


def _order(agent: Agent) -> tuple[int, bool, str, str, str, str, str]:
    known = _ROLES.index(agent.role) if agent.role in _ROLES else len(_ROLES)
    named = (agent.role or "", agent.name or "", agent.email or "", agent.uri or "", agent.url or "")
    return (known, not agent.name, *named)


def _by_property(node: Description, names: Iterable[str]) -> Iterator[Agent]:
    for name in names:
        if role := _PROPERTIES.get(name):
            for term in node.fields[name]:
                yield agent(node.at(term), role)


def _attributed(node: Description) -> Iterator[Agent]:
    """Yield the agents of PROV's attributions, which have the role as an IRI of a code list."""
    for attribution in map(node.at, node.fields.get(_ATTRIBUTION, ())):
        roles = sorted({_role(text) for text in attribution.texts(DCAT + "hadRole")})
        for term in attribution.terms(PROV + "agent"):
            yield agent(node.at(term), next(filter(None, roles), None))


def _role(text: str) -> str:
    """
    >>> _role("http://a.org/Role/custodian"), _role("http://a.org/Role/pointOfContact"), _role("a.xml#RoleCode_owner")
    ('custodian', 'contact', 'rightsHolder')
    """
    code = re.split(r"[/#_]", text)[-1]
    return _ISO_ROLES.get(code, code) if _ROLE.fullmatch(code) else ""


def agent(node: Description, role: str | None) -> Agent:
    """Return the agent that a node describes, or that a text names."""
    term = node.term
    if isinstance(term, Literal):
        return _written(term.value, role)
    if term[:7].lower() == "mailto:":
        return Agent(email=email(term), role=role)
    return Agent(role=role, **_described(node))


@remembered
def _described(node: Description) -> dict[str, Any]:
    return {"name": _name(node), "uri": node.iri, "email": node.read(email, *_EMAILS), "url": node.url(*_PAGES)}


def _written(text: str, role: str | None) -> Agent:
    """Return the agent of a text: a name, an address, or both."""
    if url := values.url(text):
        return Agent(url=url, role=role)
    mail = email(text)
    name = text.replace(mail, "").replace("mailto:", "") if mail else text
    return Agent(name=values.text(name.strip(" <>()[],;")), email=mail, role=role)


def _name(node: Description) -> str | None:
    """Return the name; a person's has the organisation's in brackets."""
    name, organisation = node.text(*_NAMES), _organisation(node)
    if name and organisation and organisation != name:
        return f"{name} ({organisation})"
    return name or organisation


def _organisation(node: Description) -> str | None:
    """Return the name of the agent's organisation; a group's members are no organisation of the group."""
    for predicate in _ORGANISATIONS:
        if predicate == FOAF + "member" and not _GROUPS.isdisjoint(node.terms(TYPE)):
            continue
        if predicate in node.fields and (found := node.text(predicate) or min(_names(node, predicate), default=None)):
            return found
    return None


def _names(node: Description, predicate: str) -> Iterator[str]:
    for term in node.terms(predicate):
        if name := node.at(term).text(*_ORGANISATION_NAMES, *_NAMES) or node.label(term):
            yield name


def email(text: str) -> str | None:
    """Return the address in a text or in a mailto: address.

    >>> email("mailto: hello@its.me"), email("MAILTO:hello@its.me?subject=Hi"), email("https://a.org/@me")
    ('hello@its.me', 'hello@its.me', None)
    """
    text = text.strip()
    if text[:7].lower() == "mailto:":
        text = text[7:].partition("?")[0]
    return None if "://" in text else values.email(text)
