"""What package_search is asked for: the user's filters as CKAN's parameters.

CKAN puts ``+capacity:public`` before fq, and Solr decides clause by clause what is required: beside that, both sides of
an OR are only wishes. So each clause goes whole, as one that is required.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from crawlers import arguments
from crawlers import kind as kinds
from crawlers.records.tables import toml_table

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOCAL = "that CKAN takes: it has local parameters, {!...}; write field:value instead"
_TOKEN = re.compile(
    r"""
      (?P<blank> [\x20\t\r\n\u3000]+ | /\*.*?\*/ | [~^][0-9.=]* )
    | (?P<value> "(?:\\.|[^"\\])*" | [\[{](?:"(?:\\.|[^"\\])*"|[^\]}"])*[\]}] | /(?:\\.|[^/\\])+/ )
    | (?P<open> (?:filter)?\( )
    | (?P<close> \) )
    | (?P<colon> : )
    | (?P<sign> [+!-](?![\x20\t\r\n\u3000]) )
    | (?P<word> [+!-] | (?:\\.|[^\x20\t\r\n\u3000"()\[\]{}:^~/\\+!-])(?:\\.|[^\x20\t\r\n\u3000"()\[\]{}:^~/\\!])* )
    """,
    re.VERBOSE | re.DOTALL,
)
"""The tokens of Solr's standard query parser, with its blanks; a range and a regular expression are values, too."""
_JOINS = ("AND", "OR", "&&", "||")
_OPERATORS = (*_JOINS, "NOT")


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

    @property
    def moves(self) -> bool:
        """Whether a record may leave it unedited: it names Solr's NOW, a stamp or a counter (volatile.toml)."""
        return any(_moving().search(text.replace("\\", "")) for text in (self.q, self.fq) if text)

    def clauses(self) -> list[str]:
        """Return the filters as clauses of Solr's query language, each of them required."""
        named = (("organization", self.organization), ("groups", self.group), ("tags", self.tag))
        clauses = [f"+{field}:{_term(value)}" for field, value in named if value]
        return clauses + ([required(self.fq)] if self.fq else [])

    def visible(self) -> dict[str, Any]:
        """Return the parameter that includes private datasets for a token's user; CKAN includes no drafts with it."""
        return {"include_private": "true"} if self.private else {}


def among(ids: list[str], query: Query) -> dict[str, Any]:
    r"""Return the parameters of a package_search for the datasets that have one of these ids.

    >>> among(["a", 'b"'], Query())["fq"]
    '+id:("a" OR "b\\"")'
    """
    quoted = (_quoted(identifier) for identifier in ids)
    found = {"q": "*:*", "fq": f"+id:({' OR '.join(quoted)})", "sort": "id asc", "rows": len(ids)}
    return found | query.visible()


def search(text: str) -> str:
    """Return what q may be.

    Raises:
        ValueError: it has local parameters.
    """
    if has_local(text):
        raise ValueError(f"a search {_LOCAL}")
    return arguments.text(text)


def filter_query(text: str) -> str:
    """Return what fq may be.

    Raises:
        ValueError: it has local parameters, or a quote, a bracket or a parenthesis has no counterpart.
    """
    if has_local(text):
        raise ValueError(f"a filter {_LOCAL}")
    _top(text)
    return arguments.text(text)


def has_local(text: str) -> bool:
    """Return whether Solr may find local parameters: ``_query_:"{!lucene}x"`` is a query within quotes."""
    return "{!" in text.replace("\\", "")


def required(clause: str) -> str:
    """Return a filter of the user's as one clause that holds, whatever is before it or behind it.

    Solr finds nothing for a group that only excludes: that begins with everything.

    >>> required("res_format:CSV OR res_format:XLSX"), required("-archived:true")
    ('+(res_format:CSV OR res_format:XLSX)', '+(*:* -archived:true)')
    """
    signs = _top(clause)
    return f"+(*:* {clause})" if signs and all(signs) else f"+({clause})"


def _top(clause: str) -> list[bool]:
    """Return whether each term outside parentheses excludes: it has -, ! or NOT before it.

    Raises:
        ValueError: as `filter_query`.
    """
    signs: list[bool] = []
    depth, before, is_excluded = 0, "", False
    for kind, text in _tokens(clause):
        is_sign = kind == "sign" or text == "NOT"
        if not depth and kind in ("value", "open", "word") and not is_sign and text not in _JOINS and before != ":":
            signs.append(is_excluded)
        if not depth:
            is_excluded = is_sign and text != "+"
        depth += (kind == "open") - (kind == "close")
        before = text
        if depth < 0:
            break
    if depth:
        raise ValueError("a filter that Solr can read: a parenthesis is missing")
    return signs


def _tokens(clause: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(clause):
        found = _TOKEN.match(clause, at)
        if found is None:
            raise ValueError(f"a filter that Solr can read: it breaks off at {clause[at : at + 20]!r}")
        kind = str(found.lastgroup)
        if kind != "blank":
            yield kind, found[0]
        at = found.end()


def behind(identifier: str) -> str:
    r"""Return the clause for ids greater than one.

    >>> behind("a b")
    '+id:{a\\ b TO *]'
    """
    escaped = re.sub(r"([^\w.-])", r"\\\1", identifier)
    return f"+id:{{{escaped} TO *]"


@cache
def _moving() -> re.Pattern[str]:
    """Return what finds NOW, or a field that moves; CKAN's index has extras' names with a prefix."""
    counters = {path.rpartition(".")[2] for path in kinds.volatile("package_search").counters}
    fields = counters.union(toml_table("crawlers.kinds.ckan", "volatile.toml")["index_fields"])
    return re.compile(rf"\bNOW\b|\b(?:(?:res_)?extras_)?(?:{'|'.join(sorted(fields))})\s*:")


def _term(value: str) -> str:
    """Return a value as Solr's query language takes it: bare if it is harmless, else quoted.

    >>> _term("food security"), _term("-x")
    ('"food security"', '"-x"')
    """
    is_harmless = re.fullmatch(r"\w[\w-]*", value) and value not in _OPERATORS
    return value if is_harmless else _quoted(value)


def _quoted(value: str) -> str:
    return '"' + re.sub(r'(["\\])', r"\\\1", value) + '"'
