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
      | (?P<mark>[()+-])
      | (?P<bare>(?:\\.|[^\s()"\[\]{{}}:/\\])+)
    )""",
    re.VERBOSE,
)
KEYSET = re.compile(rf"(?:^|\s)\+?id:(?P<open>[\[{{])\s*(?P<bound>{BOUND})\s+TO\s+\*\s*[\]}}]")


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
    """Clauses joined by spaces or AND must all hold; OR, parentheses and leading signs work as in Solr."""
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
        test = self.alternatives() if self.tokens else _anything
        if self.at < len(self.tokens):
            raise QuerySyntaxError(f"Cannot parse: unexpected {self.tokens[self.at][1]!r}")
        return test

    def alternatives(self, field: str = "", depth: int = 0) -> Test:
        found = [[self.clause(field, depth)]]
        while self.at < len(self.tokens) and self.tokens[self.at][1] != ")":
            if self.accept("OR"):
                found.append([self.clause(field, depth)])
            else:
                self.accept("AND")
                found[-1].append(self.clause(field, depth))
        return _any_of([_all_of(tests) for tests in found])

    def clause(self, field: str, depth: int) -> Test:
        if self.accept("-") or self.accept("NOT"):
            return _not(self.clause(field, depth))
        self.accept("+")
        kind, token = self.take()
        if kind == "field":
            field, (kind, token) = token[:-1], self.take()
        return self.group(field, depth + 1) if token == "(" else _term(field, kind, token)

    def group(self, field: str, depth: int) -> Test:
        if depth > DEPTH:
            raise QuerySyntaxError("Cannot parse: too deep")
        test = self.alternatives(field, depth)
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


def _not(test: Test) -> Test:
    return lambda dataset: not test(dataset)


def _all_of(tests: list[Test]) -> Test:
    return tests[0] if len(tests) == 1 else lambda dataset: all(test(dataset) for test in tests)


def _any_of(tests: list[Test]) -> Test:
    return tests[0] if len(tests) == 1 else lambda dataset: any(test(dataset) for test in tests)
