"""What an application profile of DCAT asks of each class: a table of properties, and the kinds of their values."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from crawlers.records.rdf.dcat_context import PREFIXES
from crawlers.records.rdf.terms import DCAT_US, ELI
from crawlers.records.tables import csv_rows

_MORE = {"dcat-us": DCAT_US, "eli": ELI}


class Rule(NamedTuple):
    """What the values of a property are.

    Attributes:
        value: text, word, string, literal, mailbox, moment, decimal, duration, count, hex, shape or node; else the IRI
            of their class.
        is_iri: whether only an IRI may stand there.
        is_needed: whether a node of the class must have it.
        most: how many values there may be; ``None`` for any number.
    """

    property: str
    value: str
    is_iri: bool
    is_needed: bool
    most: int | None


Profile = dict[str, list[Rule]]
"""The rules of each class."""


@cache
def profile(name: str) -> Profile:
    """Return the rules of a profile: ``dcat-ap`` or ``dcat-us``."""
    found: Profile = {}
    for kind, property_, value, least, most in csv_rows(__package__, f"{name}.csv"):
        is_iri, value_ = value.startswith("IRI"), value.removeprefix("IRI").strip() or "node"
        rule = Rule(_iri(property_), _iri(value_), is_iri, bool(least), int(most) if most else None)
        found.setdefault(_iri(kind), []).append(rule)
    return found


def _iri(name: str) -> str:
    """Return the IRI of ``dcat:Dataset``; a plain word stays one."""
    prefix, colon, last = name.partition(":")
    return (PREFIXES.get(prefix) or _MORE[prefix]) + last if colon else name
