"""People and organisations, by the part they have in a dataset."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crawlers.items import Agent
from crawlers.mapping import values
from crawlers.rdf.namespaces import (
    ADMS,
    DC,
    DCAT,
    DCT,
    FOAF,
    GEODCATAP,
    ORG,
    PROV,
    RDFS,
    SCHEMA,
    SCHEMA_HTTPS,
    SKOS,
    TYPE,
    VCARD,
)
from crawlers.rdf.terms import Literal, is_blank

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.mapping.dcat.description import Description
    from crawlers.rdf.terms import Node, Term

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
    DCT + "rightsHolder": "rightsHolder",
    **{GEODCATAP + role: role for role in _GEODCAT_ROLES},
}
_ROLES = ("contact", "creator", "publisher", "rightsHolder", *_GEODCAT_ROLES)
_ISO_ROLES = {"pointOfContact": "contact", "author": "creator", "owner": "rightsHolder"}
_ROLE = re.compile(r"[A-Za-z]{2,40}")

_NAMES = (
    *(FOAF + "name", VCARD + "fn", SCHEMA + "name", SCHEMA_HTTPS + "name"),
    *(RDFS + "label", SKOS + "prefLabel", DCT + "title"),
)
_ORGANISATION_NAMES = (VCARD + "organization-name", VCARD + "organisation-name", VCARD + "hasOrganizationName")
_ORGANISATIONS = (*_ORGANISATION_NAMES, VCARD + "org", ORG + "memberOf", FOAF + "member")
_GROUPS = {FOAF + "Group", FOAF + "Organization", VCARD + "Group"}
_EMAILS = (VCARD + "hasEmail", VCARD + "email", FOAF + "mbox", SCHEMA + "email", SCHEMA_HTTPS + "email")
_PAGES = (
    *(VCARD + "hasURL", VCARD + "hasUrl", VCARD + "url", FOAF + "homepage", FOAF + "page"),
    *(SCHEMA + "url", SCHEMA_HTTPS + "url"),
)


def agents(about: Description, node: Node) -> tuple[Agent | None, list[Agent]]:
    """The publisher, and all others: by role, then by name.

    Publishers beyond the first, which is one with a name if there is one, are among the others.
    """
    found = [*_by_property(about, node), *_attributed(about, node)]
    unique = {_order(one): one for one in found if one.name or one.uri or one.email or one.url}
    ordered = [unique[key] for key in sorted(unique)]
    publisher = next((one for one in ordered if one.role == "publisher"), None)
    return publisher, [one for one in ordered if one is not publisher]


def _order(agent: Agent) -> tuple[int, bool, str, str, str, str, str]:
    known = _ROLES.index(agent.role) if agent.role in _ROLES else len(_ROLES)
    named = (agent.role or "", agent.name or "", agent.email or "", agent.uri or "", agent.url or "")
    return (known, not agent.name, *named)


def _by_property(about: Description, node: Node) -> Iterator[Agent]:
    for predicate, terms in node.items():
        if role := _PROPERTIES.get(predicate):
            for term in terms:
                yield _agent(about, term, role)


def _attributed(about: Description, node: Node) -> Iterator[Agent]:
    """PROV's way: an attribution names the agent, and the role as an IRI of a code list."""
    for attribution in map(about.node, node.get(PROV + "qualifiedAttribution", [])):
        roles = sorted({_role(text) for text in about.texts(attribution.get(DCAT + "hadRole", []))})
        for term in attribution.get(PROV + "agent", []):
            yield _agent(about, term, next(filter(None, roles), None))


def _role(text: str) -> str:
    """
    >>> _role("http://a.org/Role/custodian"), _role("http://a.org/Role/pointOfContact"), _role("a.xml#RoleCode_owner")
    ('custodian', 'contact', 'rightsHolder')
    """
    code = re.split(r"[/#_]", text)[-1]
    return _ISO_ROLES.get(code, code) if _ROLE.fullmatch(code) else ""


def _agent(about: Description, term: Term, role: str | None) -> Agent:
    if isinstance(term, Literal):
        return _written(term.value, role)
    if term[:7].lower() == "mailto:":
        return Agent(email=_email(term), role=role)
    node = about.node(term)
    return Agent(
        name=_name(about, node),
        uri=None if is_blank(term) else term,
        email=about.read(node, _EMAILS, _email),
        url=about.read(node, _PAGES, values.url),
        role=role,
    )


def _written(text: str, role: str | None) -> Agent:
    """Just a text: a name, an address, or both."""
    if url := values.url(text):
        return Agent(url=url, role=role)
    email = _email(text)
    name = text.replace(email, "").replace("mailto:", "") if email else text
    return Agent(name=values.text(name.strip(" <>()[],;")), email=email, role=role)


def _name(about: Description, node: Node) -> str | None:
    """A person's name has the organisation's in brackets."""
    name, organisation = about.text(node, _NAMES), _organisation(about, node)
    if name and organisation and organisation != name:
        return f"{name} ({organisation})"
    return name or organisation


def _organisation(about: Description, node: Node) -> str | None:
    """A text or a node with a name; the members of a group are no organisation of the group's."""
    for predicate in _ORGANISATIONS:
        if predicate not in node or (predicate == FOAF + "member" and not _GROUPS.isdisjoint(node.get(TYPE, ()))):
            continue
        found = about.text(node, (predicate,)) or min(_names(about, node[predicate]), default=None)
        if found:
            return found
    return None


def _names(about: Description, terms: list[Term]) -> Iterator[str]:
    for term in terms:
        name = about.text(about.node(term), (*_ORGANISATION_NAMES, *_NAMES)) or about.label(term)
        if name:
            yield name


def _email(text: str) -> str | None:
    """
    >>> _email("mailto: hello@its.me"), _email("MAILTO:hello@its.me?subject=Hi"), _email("https://a.org/@me")
    ('hello@its.me', 'hello@its.me', None)
    """
    text = text.strip()
    if text[:7].lower() == "mailto:":
        text = text[7:].partition("?")[0]
    return None if "://" in text else values.email(text)
