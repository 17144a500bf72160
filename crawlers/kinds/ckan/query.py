"""What package_search is asked for: the user's filters as CKAN's parameters."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """The user's filters: package_search's q and fq, and the filters that have a name of their own.

    Args:
        private: whether there is a token, whose user may see private datasets.
    """

    q: str | None = None
    fq: str | None = None
    organization: str | None = None
    group: str | None = None
    tag: str | None = None
    private: bool = False

    @property
    def filtered(self) -> bool:
        """Whether it leaves datasets out for another reason than their age."""
        return any((self.q, self.fq, self.organization, self.group, self.tag))

    def clauses(self) -> list[str]:
        """Return the filters as clauses of Solr's query language."""
        named = (("organization", self.organization), ("groups", self.group), ("tags", self.tag))
        clauses = [f"{field}:{_term(value)}" for field, value in named if value]
        return clauses + ([self.fq] if self.fq else [])

    def visible(self) -> dict[str, Any]:
        """Return the parameter that includes private datasets for a token's user; CKAN includes no drafts with it."""
        return {"include_private": "true"} if self.private else {}


def among(ids: list[str], query: Query) -> dict[str, Any]:
    r"""Return the parameters of a package_search for the datasets that have one of these ids.

    >>> among(["a", 'b"'], Query())["fq"]
    'id:("a" OR "b\\"")'
    """
    quoted = (_quoted(identifier) for identifier in ids)
    found = {"q": "*:*", "fq": f"id:({' OR '.join(quoted)})", "sort": "id asc", "rows": len(ids)}
    return found | query.visible()


def joined(clauses: list[str]) -> str:
    """Return a filter that requires all clauses: CKAN reads a blank as AND, and an OR of the user's is kept together.

    >>> joined(["id:{a TO *]", "res_format:CSV OR res_format:XLSX", "-archived:true"])
    '+id:{a TO *] +(res_format:CSV OR res_format:XLSX) -archived:true'
    """
    return clauses[0] if len(clauses) == 1 else " ".join(map(_required, clauses))


def behind(identifier: str) -> str:
    r"""Return the clause for ids greater than one.

    >>> behind("a b")
    'id:{a\\ b TO *]'
    """
    escaped = re.sub(r"([^\w.-])", r"\\\1", identifier)
    return f"id:{{{escaped} TO *]"


def _required(clause: str) -> str:
    if re.search(r"\bOR\b|\|\|", clause):
        return f"+({clause})"
    return clause if clause[0] in "+-" else f"+{clause}"


def _term(value: str) -> str:
    """Return a value as Solr's query language takes it: bare if it is harmless, else quoted.

    >>> _term("food security")
    '"food security"'
    """
    return value if re.fullmatch(r"[\w-]+", value) else _quoted(value)


def _quoted(value: str) -> str:
    return '"' + re.sub(r'(["\\])', r"\\\1", value) + '"'
