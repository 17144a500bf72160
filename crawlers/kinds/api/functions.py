"""The functions that an expression of a declaration may call besides JMESPath's own: pure, and total over any JSON."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import TYPE_CHECKING, Any

from jmespath.functions import Functions as Standard  # type: ignore[import-untyped]
from jmespath.functions import signature

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
    from collections.abc import Iterator

ANY: dict[str, list[str]] = {"types": []}

_TAGS = ("@language", "language", "lang")
_TEXTS = ("@value", "value", "text", "label", "title", "#text")
_STARTS = ("start", "startDate", "start_date", "from", "gte", "begin")
_ENDS = ("end", "endDate", "end_date", "to", "lte")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST = 100_000
"""Parts of a list that is taken apart."""


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
    if not _is_number(number) or not 0 < number < 1e15:
        return None
    try:
        return written(_EPOCH + timedelta(seconds=number // per_second))
    except OverflowError:
        return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _object(names: list[Any], values: list[Any]) -> dict[str, Any]:
    return {name: value for name, value in zip(names, values, strict=False) if isinstance(name, str)}
