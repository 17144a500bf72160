"""The part of Solr's query language that a harvester uses, as tests on one dataset."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol


class Searchable(Protocol):
    @property
    def text(self) -> str: ...

    def values(self, field: str) -> Sequence[str]: ...


Test = Callable[[Searchable], bool]

WORD_FIELDS = {"title", "notes", "text"}
DEPTH = 20

QUOTED = r'"(?:\\.|[^"\\])*"'
BOUND = rf"(?:{QUOTED}|(?:\\.|[^\s\]}}\\])+)"
RANGE = rf"[\[{{]\s*{BOUND}\s+TO\s+{BOUND}\s*[\]}}]"
TOKEN = re.compile(
    rf"""\s*(?:
        (?P<field>(?:\*|[A-Za-z_][\w.]*):)
      | (?P<range>{RANGE})
      | (?P<quoted>{QUOTED})
      | (?P<mark>[()+!-])
      | (?P<bare>(?:\\.|[^\s()"\[\]{{}}:/\\!])+)
    )""",
    re.VERBOSE,
)
KEYSET = re.compile(rf"(?:^|\s)\+id:(?P<open>[\[{{])\s*(?P<bound>{BOUND})\s+TO\s+\*\s*[\]}}]")


class QuerySyntaxError(ValueError):
    """Solr would not understand the query."""


@dataclass(frozen=True, slots=True)
class Keyset:
    """Ids from here on: how a listing of any length is paged."""

    bound: str
    exclusive: bool


def split_keyset(fq: str) -> tuple[str, Keyset | None]:
    """The clause a listing is paged by, apart from the rest.

    >>> split_keyset("tags:health +id:{a1 TO *]")
    ('tags:health', Keyset(bound='a1', exclusive=True))
    """
    match = KEYSET.search(fq)
    if not match or match["bound"] == "*" or _inside_parentheses(fq, match.start()):
        return fq, None
    return KEYSET.sub("", fq, count=1), Keyset(_literal(match["bound"]), match["open"] == "{")


def _inside_parentheses(text: str, position: int) -> bool:
    return text.count("(", 0, position) != text.count(")", 0, position)


def parse(query: str) -> Test:
    """As Lucene's classic parser with AND as its default operator, which CKAN asks for.

    A clause is required, optional or excluded. OR makes the clause before it optional, too, whatever sign that has:
    beside a required clause both sides of an OR are only wishes.
    """
    return Parser(query).query()


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def has_words(text: str) -> Test:
    wanted = [f" {word} " for word in words(text)]
    return lambda dataset: all(word in dataset.text for word in wanted)


class Parser:
    def __init__(self, query: str) -> None:
        self.tokens = _tokens(query)
        self.at = 0

    def query(self) -> Test:
        test = self.clauses() if self.tokens else _anything
        if self.at < len(self.tokens):
            raise QuerySyntaxError(f"Cannot parse: unexpected {self.tokens[self.at][1]!r}")
        return test

    def clauses(self, field: str = "", depth: int = 0) -> Test:
        found: list[tuple[str, Test]] = []
        while self.at < len(self.tokens) and self.tokens[self.at][1] != ")":
            conjunction = self.operator()
            if conjunction and not found:
                raise QuerySyntaxError(f"Cannot parse: unexpected {conjunction!r}")
            occurs, test = self.clause(field, depth)
            if conjunction and found[-1][0] != "-":
                found[-1] = ("+" if conjunction == "AND" else "", found[-1][1])
            found.append(("" if conjunction == "OR" and occurs != "-" else occurs, test))
        if not found:
            raise QuerySyntaxError("Cannot parse: nothing is asked for")
        return _decided(found, is_nested=depth > 0)

    def operator(self) -> str:
        for operator, words in (("AND", ("AND", "&&")), ("OR", ("OR", "||"))):
            if any(map(self.accept, words)):
                return operator
        return ""

    def clause(self, field: str, depth: int) -> tuple[str, Test]:
        is_excluded = any(map(self.accept, ("-", "!", "NOT")))
        if not is_excluded:
            self.accept("+")
        kind, token = self.take()
        if kind == "bare" and token in {"AND", "OR", "NOT", "&&", "||"}:
            raise QuerySyntaxError(f"Cannot parse: unexpected {token!r}")
        if kind == "field":
            field, (kind, token) = token[:-1], self.take()
        test = self.group(field, depth + 1) if token == "(" and kind == "mark" else _term(field, kind, token)
        return "-" if is_excluded else "+", test

    def group(self, field: str, depth: int) -> Test:
        if depth > DEPTH:
            raise QuerySyntaxError("Cannot parse: too deep")
        test = self.clauses(field, depth)
        if not self.accept(")"):
            raise QuerySyntaxError("Cannot parse: a parenthesis is not closed")
        return test

    def accept(self, token: str) -> bool:
        found = self.at < len(self.tokens) and self.tokens[self.at] in {("mark", token), ("bare", token)}
        self.at += found
        return found

    def take(self) -> tuple[str, str]:
        if self.at == len(self.tokens):
            raise QuerySyntaxError("Cannot parse: the query ends too early")
        self.at += 1
        return self.tokens[self.at - 1]


def _tokens(query: str) -> list[tuple[str, str]]:
    found, at, query = [], 0, query.rstrip()
    while at < len(query):
        match = TOKEN.match(query, at)
        if not match or not match.lastgroup:
            raise QuerySyntaxError(f"Cannot parse {query!r} at {at}")
        found.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return found


def _term(field: str, kind: str, token: str) -> Test:
    if kind == "range":
        return _range(field, token)
    if kind in {"mark", "field"}:
        raise QuerySyntaxError(f"Cannot parse: unexpected {token!r}")
    if kind == "bare" and token == "*":
        return _anything if field in {"", "*"} else lambda dataset: bool(dataset.values(field))
    if not field or field in WORD_FIELDS:
        return has_words(_literal(token))
    if kind == "bare" and token.endswith("*"):
        return lambda dataset: any(value.startswith(token[:-1]) for value in dataset.values(field))
    value = _literal(token)
    return lambda dataset: value in dataset.values(field)


def _range(field: str, token: str) -> Test:
    low, high = (_bound(text) for text in re.findall(BOUND, token[1:-1].replace(" TO ", " ", 1)))

    def inside(value: str) -> bool:
        above = not low or _ascending(low, value, strict=token[0] == "{")
        return above and (not high or _ascending(value, high, strict=token[-1] == "}"))

    return lambda dataset: any(map(inside, dataset.values(field)))


def _ascending(low: str, high: str, *, strict: bool) -> bool:
    return low < high or (low == high and not strict)


def _bound(text: str) -> str:
    """The end of a range; empty when open. Dates are compared as the records write them, without Z."""
    return "" if text == "*" else re.sub(r"(?<=\d)Z$", "", _literal(text))


def _literal(token: str) -> str:
    return re.sub(r"\\(.)", r"\1", token[1:-1] if token.startswith('"') else token)


def _anything(_dataset: Searchable) -> bool:
    return True


def _decided(clauses: list[tuple[str, Test]], *, is_nested: bool) -> Test:
    """The set that clauses describe: all of the required, none of the excluded; one of the others if none is required.

    Solr lets a query that only excludes begin with everything, and a group in parentheses with nothing.
    """
    required, others, excluded = ([test for occurs, test in clauses if occurs == one] for one in ("+", "", "-"))
    if not required and not others:
        others = [_nothing if is_nested else _anything]

    def test(dataset: Searchable) -> bool:
        if any(one(dataset) for one in excluded):
            return False
        return all(one(dataset) for one in required) and (bool(required) or any(one(dataset) for one in others))

    return clauses[0][1] if len(clauses) == 1 and not excluded else test


def _nothing(_dataset: Searchable) -> bool:
    return False
