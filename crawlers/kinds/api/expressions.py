"""What the texts of a declaration are: JMESPath over JSON, or templates of addresses with names in braces."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import jmespath  # type: ignore[import-untyped]
from jmespath.exceptions import JMESPathError  # type: ignore[import-untyped]
from jmespath.functions import Functions as Standard  # type: ignore[import-untyped]
from jmespath.functions import signature
from jmespath.lexer import Lexer  # type: ignore[import-untyped]
from jmespath.visitor import Options, TreeInterpreter  # type: ignore[import-untyped]

from crawlers.exceptions import RulesError, hint
from crawlers.items import Checksum, Period
from crawlers.records.geometries import geometry
from crawlers.records.languages import language
from crawlers.records.markup import markdown
from crawlers.records.moment import written
from crawlers.records.periods import any_period
from crawlers.records.places import place
from crawlers.records.record import parse
from crawlers.records.values import checksum

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    Node = dict[str, Any]
    Find = Callable[[Any], Any]

_NAME = re.compile(r"\{(\w{1,60})\}")
_TEMPLATE = ("{portal}", "{host}", "https://", "http://")
_LONGEST = 4_000
_UNFILLED: tuple[Any, ...] = (None, "", [], {})
ANY: dict[str, list[str]] = {"types": []}

_TAGS = ("@language", "language", "lang")
_TEXTS = ("@value", "value", "text", "label", "title", "#text")
_STARTS = ("start", "startDate", "start_date", "from", "gte", "begin")
_ENDS = ("end", "endDate", "end_date", "to", "lte")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST = 100_000
"""Parts of a list that is taken apart."""


class ExpressionError(ValueError):
    """An expression met a value that it can't read: ``contains`` of null, ``join`` of a text."""


@dataclass(frozen=True, slots=True)
class Expression:
    """JMESPath that is compiled once; call it with the JSON it reads.

    Args:
        text: as the declaration has it.
    """

    text: str
    _search: Callable[[Any], Any] = field(repr=False, compare=False)

    def __call__(self, value: Any) -> Any:
        """
        Raises:
            ExpressionError: the value is not what the expression can read.
        """
        try:
            return self._search(value)
        except Exception as error:  # noqa: BLE001 -- JMESPath's functions raise anything when they meet any JSON
            why = " ".join(str(error).split())[:200]
            raise ExpressionError(f"{type(error).__name__}: {why}") from None

    def find(self, value: Any) -> Any:
        """Return what it finds; nothing where it can't read the value."""
        try:
            return self(value)
        except ExpressionError:
            return None


def expression(text: str, where: str, language: str = "en") -> Expression:
    """Return compiled JMESPath.

    Args:
        where: the key that has it, for messages.
        language: the one that ``lang()`` prefers.

    Raises:
        RulesError: it is not JMESPath, calls an unknown function, or has a fallback that can never be taken.
    """
    if len(text) > _LONGEST:
        raise RulesError(f"{where} has {len(text)} characters, and may have {_LONGEST}.")
    functions = Functions(language)
    try:
        tree = jmespath.compile(text).parsed
        find = compiled(tree, functions)
    except (JMESPathError, ValueError, RecursionError) as error:
        why = " ".join(str(error).split())[:160].rstrip(".:")
        raise RulesError(f"{where} is not JMESPath: {why}: {text}") from None
    _check(tree, functions, where, text)
    return Expression(text, find)


def _check(tree: dict[str, Any], functions: Functions, where: str, text: str) -> None:
    """Refuse what compiles but can't be meant."""
    for node in _nodes(tree):
        if node["type"] == "function_expression":
            _check_call(node, functions, where, text)
    if _is_fallback_in_pipe(text):
        raise RulesError(
            f"{where}: `a | b || c` is `a | (b || c)`, so c is looked up in what a gives. "
            f"Write `(a | b) || c`, or `a | (b || c)` if that is meant: {text}"
        )


def _check_call(node: dict[str, Any], functions: Functions, where: str, text: str) -> None:
    name, known = node["value"], functions.FUNCTION_TABLE
    if name not in known:
        raise RulesError(f"{where} calls {name}(), which is unknown.{hint(name, known)}: {text}")
    declared = known[name]["signature"]
    fits = len(node["children"]) == len(declared) or any(one.get("variadic") for one in declared)
    if not fits:
        raise RulesError(f"{where}: {name}() takes {len(declared)} values, not {len(node['children'])}: {text}")


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict) and "type" in node:
            yield node
            waiting += node.get("children") or []


def _is_fallback_in_pipe(text: str) -> bool:
    """Return whether ``||`` stands after ``|`` without a bracket of its own.

    >>> [_is_fallback_in_pipe(text) for text in ("a | [0] || b", "(a | [0]) || b", "a | (b || c)")]
    [True, False, False]
    >>> [_is_fallback_in_pipe(text) for text in ("a || b | [0]", "{x: a | b, y: c || d}", "'|' || b")]
    [False, False, False]
    """
    piped = [False]
    for token in Lexer().tokenize(text):
        match token["type"]:
            case "lparen" | "lbrace" | "lbracket" | "filter":
                piped.append(False)
            case "rparen" | "rbrace" | "rbracket" if len(piped) > 1:
                piped.pop()
            case "comma":
                piped[-1] = False
            case "pipe":
                piped[-1] = True
            case "or" if piped[-1]:
                return True
    return False


# Templates


@dataclass(frozen=True, slots=True)
class Template:
    """A text with names in braces: ``{portal}/dataset/{id}``.

    Args:
        text: as the declaration has it.
    """

    text: str
    _parts: list[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_parts", _NAME.split(self.text))

    @property
    def names(self) -> list[str]:
        """The names that it needs, each as often as it stands there."""
        return self._parts[1::2]

    def fill(self, values: Mapping[str, Any]) -> str | None:
        """Return the text with the values as they are; ``None`` where one of them is missing."""
        return self._filled(values, lambda _, value: value)

    def address(self, values: Mapping[str, Any]) -> str | None:
        """Return the address, its values percent-encoded, but for those that are addresses; ``None`` if one is missing.

        >>> Template("{portal}/dataset/{id}").address({"portal": "https://a.org/x", "id": "b/c ü"})
        'https://a.org/x/dataset/b%2Fc%20%C3%BC'
        """
        return self._filled(
            values, lambda name, value: value if name in ("portal", "host") else quote(value, safe="", errors="replace")
        )

    def _filled(self, values: Mapping[str, Any], text_of: Callable[[str, str], str]) -> str | None:
        parts = self._parts.copy()
        for number in range(1, len(parts), 2):
            value = values.get(parts[number])
            if value in _UNFILLED or isinstance(value, bool | list | dict):
                return None
            parts[number] = text_of(parts[number], str(value))
        return "".join(parts)


def template(text: str, where: str, known: Collection[str]) -> Template:
    """
    Args:
        known: the names that may stand in braces.

    Raises:
        RulesError: nobody fills a name.
    """
    found = Template(text)
    for name in found.names:
        if name not in known:
            names = ", ".join(f"{{{each}}}" for each in sorted(known))
            raise RulesError(f"{where}: nobody fills {{{name}}}.{hint(name, known)} There are: {names}.")
    return found


def is_template(text: str) -> bool:
    """Return whether a text is the template of an address: no JMESPath begins so."""
    return text.startswith(_TEMPLATE)


# The functions that an expression may call besides JMESPath's own: pure, and total over any JSON


class Functions(Standard):  # type: ignore[misc]
    """
    Args:
        wanted: the language that `lang` prefers, as a BCP 47 tag.
    """

    def __init__(self, wanted: str = "en") -> None:
        super().__init__()
        self.wanted = wanted

    @signature(ANY)  # type: ignore[untyped-decorator]
    def _func_lang(self, value: Any) -> str | None:
        """Return a text in the wanted language, else in English, else the first that is filled."""
        ranked = [(_rank(tag, self.wanted), text) for tag, text in _translations(value) if text.strip()]
        return min(ranked, key=lambda each: each[0])[1] if ranked else None

    @signature(ANY)  # type: ignore[untyped-decorator]
    def _func_html(self, value: Any) -> str | None:
        """Return HTML as Markdown."""
        return markdown(value) if isinstance(value, str) else None

    @signature(ANY)  # type: ignore[untyped-decorator]
    def _func_items(self, value: Any) -> list[dict[str, Any]]:
        """Return an object's members as a list of ``{key, value}``; nothing has none."""
        return [{"key": key, "value": each} for key, each in value.items()] if isinstance(value, dict) else []

    @signature(ANY)  # type: ignore[untyped-decorator]
    def _func_epoch_ms(self, value: Any) -> str | None:
        """Return the moment of a number of milliseconds since 1970."""
        return _moment(value, 1_000)

    @signature(ANY)  # type: ignore[untyped-decorator]
    def _func_epoch_s(self, value: Any) -> str | None:
        """Return the moment of a number of seconds since 1970."""
        return _moment(value, 1)

    @signature(ANY)  # type: ignore[untyped-decorator]
    def _func_checksum(self, value: Any) -> dict[str, Any] | None:
        """Return ``{algorithm, value}`` of ``md5:...``, of bare hexadecimal digits, or of ``{type, value}``."""
        found = checksum_of(value)
        return asdict(found) if found else None

    @signature(ANY)  # type: ignore[untyped-decorator]
    def _func_period(self, value: Any) -> dict[str, Any] | None:
        """Return ``{start, end}`` of an interval as a list, an object or a text, or of one date."""
        found = period_of(value)
        return asdict(found) if found else None

    @signature(ANY)  # type: ignore[untyped-decorator]
    def _func_place(self, value: Any) -> dict[str, Any] | None:
        """Return ``{name, uri, geometry}`` of a name, an IRI, or a shape in any notation."""
        found = place(value)
        return asdict(found) if found else None

    @signature(ANY)  # type: ignore[untyped-decorator]
    def _func_bbox(self, value: Any) -> dict[str, Any] | None:
        """Return the shape of a box of four numbers, or of six: west, south, (low,) east, north (, high)."""
        return geometry(value) if isinstance(value, list) and len(value) in (4, 6) else None

    @signature(ANY, ANY)  # type: ignore[untyped-decorator]
    def _func_zip(self, names: Any, values: Any) -> Any:
        """Return an object of names and values; of a list of rows, a list of objects."""
        if not isinstance(names, list) or not isinstance(values, list):
            return None
        if values and all(isinstance(row, list) for row in values):
            return [_object(names, row) for row in values]
        return _object(names, values)

    @signature(ANY, {"types": ["string"]})  # type: ignore[untyped-decorator]
    def _func_split(self, value: Any, between_: str) -> list[str]:
        """Return the parts of a text, without blanks around them, and without empty ones."""
        if not isinstance(value, str):
            return []
        parts = value.split(between_, _MOST) if between_ else [value]
        return [part for each in parts if (part := each.strip())]


NAMES = sorted(name.removeprefix("_func_") for name in vars(Functions) if name.startswith("_func_"))
"""What the project adds to JMESPath."""


def checksum_of(value: Any) -> Checksum | None:
    """Return the checksum of a text, or of an object that names its algorithm."""
    if not isinstance(value, dict):
        return checksum(value) if isinstance(value, str) else None
    return checksum(_text(value, "value", "checksum_value"), _text(value, "algorithm", "type"))


def _text(value: dict[str, Any], *names: str) -> str | None:
    """Return the first of these members that is a text."""
    for name in names:
        if isinstance(found := value.get(name), str):
            return found
    return None


def period_of(value: Any) -> Period | None:
    """Return the period of a list of two dates, of an object, of a text in any notation, or of a year.

    >>> period_of(["2015-06-27T00:00:00Z", None]), period_of({"start": "2020", "end": ".."}), period_of("2019/2020")
    (Period(start='2015-06-27T00:00:00Z', end=None), Period(start='2020', end=None), Period(start='2019', end='2020'))
    """
    if isinstance(value, list):
        first, *rest = value or [None]
        if isinstance(first, list | dict):
            return period_of(first)
        return any_period(f"{_end(first)}/{_end(rest[0])}") if rest else period_of(first)
    if isinstance(value, dict):
        ends = [next((value[name] for name in names if value.get(name)), None) for names in (_STARTS, _ENDS)]
        return any_period("/".join(map(_end, ends)))
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return any_period(str(value)[:1_000])


def _end(value: Any) -> str:
    return str(value)[:100].strip().replace("/", "-") if value and isinstance(value, str | int) else ".."


def _translations(value: Any) -> Iterator[tuple[str | None, str]]:
    """Yield the texts, each with its language: of a text, of objects by language or with one, and of lists of those."""
    if isinstance(value, str):
        yield None, value
    elif isinstance(value, list):
        for part in value[:_MOST]:
            if not isinstance(part, list):
                yield from _translations(part)
    elif isinstance(value, dict):
        text, tag = _text(value, *_TEXTS), _text(value, *_TAGS)
        if text is not None:
            yield tag, text
        else:
            yield from ((name, each) for name, each in value.items() if isinstance(each, str) and name not in _TAGS)


def _rank(tag: str | None, wanted: str) -> int:
    """
    >>> _rank("de-AT", "de"), _rank("langger", "de"), _rank("eng", "de"), _rank("default", "de")
    (0, 0, 1, 2)
    """
    found = tag and language(tag.removeprefix("lang"))
    ranks = {wanted.partition("-")[0]: 0, "en": 1}
    return min(ranks.get(found.partition("-")[0], 2), ranks.get(found, 2)) if found else 2


def _moment(value: Any, per_second: int) -> str | None:
    """
    >>> _moment(1773480413000, 1_000), _moment("1503676584", 1), _moment(-1, 1), _moment(1e300, 1), _moment("x", 1)
    ('2026-03-14T09:26:53Z', '2017-08-25T15:56:24Z', None, None, None)
    """
    number = parse(value[:20]) if isinstance(value, str) else value
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    if not is_number or not 0 < number < 1e15:  # NaN neither
        return None
    try:
        return written(_EPOCH + timedelta(seconds=number // per_second))
    except OverflowError:
        return None


def _object(names: list[Any], values: list[Any]) -> dict[str, Any]:
    return {name: value for name, value in zip(names, values, strict=False) if isinstance(name, str)}


# JMESPath's tree as functions that call each other: what its interpreter finds, in a fraction of the time


def compiled(node: Node, functions: Standard) -> Find:
    """Return the function that finds what a node of JMESPath's tree says.

    Args:
        functions: what it may call.
    """
    if build := _BUILDERS.get(node["type"]):
        return build(node, functions)
    interpreter = TreeInterpreter(Options(custom_functions=functions))
    return lambda value: interpreter.visit(node, value)


def _children(node: Node, functions: Standard) -> list[Find]:
    return [compiled(child, functions) for child in node["children"]]


def _is_false(value: Any) -> bool:
    """Return whether a value counts as false: zero does not."""
    return not value and (value is False or value != 0)


def _literal(node: Node, _: Standard) -> Find:
    literal = node["value"]
    return lambda _: literal


def _field(node: Node, _: Standard) -> Find:
    name = node["value"]
    return lambda value: value.get(name) if isinstance(value, dict) else None


def _index(node: Node, _: Standard) -> Find:
    place = node["value"]

    def find(value: Any) -> Any:
        return value[place] if isinstance(value, list) and -len(value) <= place < len(value) else None

    return find


def _chain(node: Node, functions: Standard) -> Find:
    """Each child is looked up in what the one before it found."""
    if all(child["type"] == "field" for child in node["children"]):
        names = [child["value"] for child in node["children"]]

        def find_path(value: Any) -> Any:
            for name in names:
                if not isinstance(value, dict):
                    return None
                value = value.get(name)
            return value

        return find_path
    first, *rest = _children(node, functions)

    def find(value: Any) -> Any:
        found = first(value)
        for step in rest:
            found = step(found)
        return found

    return find


def _or(node: Node, functions: Standard) -> Find:
    first, second = _children(node, functions)

    def find(value: Any) -> Any:
        found = first(value)
        return second(value) if _is_false(found) else found

    return find


def _and(node: Node, functions: Standard) -> Find:
    first, second = _children(node, functions)

    def find(value: Any) -> Any:
        found = first(value)
        return found if _is_false(found) else second(value)

    return find


def _list(node: Node, functions: Standard) -> Find:
    parts = _children(node, functions)
    return lambda value: None if value is None else [part(value) for part in parts]


def _record(node: Node, functions: Standard) -> Find:
    parts = [(child["value"], compiled(child["children"][0], functions)) for child in node["children"]]
    return lambda value: None if value is None else {name: part(value) for name, part in parts}


def _flatten(node: Node, functions: Standard) -> Find:
    (base,) = _children(node, functions)

    def find(value: Any) -> list[Any] | None:
        found = base(value)
        if not isinstance(found, list):
            return None
        return [part for each in found for part in (each if isinstance(each, list) else (each,))]

    return find


def _projection(node: Node, functions: Standard) -> Find:
    base, each = _children(node, functions)

    def find(value: Any) -> list[Any] | None:
        found = base(value)
        if not isinstance(found, list):
            return None
        return [part for part in map(each, found) if part is not None]

    return find


def _function(node: Node, functions: Standard) -> Find:
    name, parts = node["value"], _children(node, functions)
    return lambda value: functions.call_function(name, [part(value) for part in parts])


_BUILDERS: dict[str, Callable[[Node, Standard], Find]] = {
    **dict.fromkeys(("current", "identity"), lambda *_: lambda value: value),
    "literal": _literal,
    "field": _field,
    "index": _index,
    **dict.fromkeys(("subexpression", "index_expression", "pipe"), _chain),
    "or_expression": _or,
    "and_expression": _and,
    "multi_select_list": _list,
    "multi_select_dict": _record,
    "flatten": _flatten,
    "projection": _projection,
    "function_expression": _function,
}
"""The nodes that most expressions are made of; comparisons, filters and slices are left to the interpreter."""
