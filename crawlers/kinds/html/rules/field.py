"""The rule of one field: ``title = "h1"``, ``license = { label = "Lizenz" }``, or a list of such ways."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import RulesError
from crawlers.kinds.html.rules.rules import MANY, Rule
from crawlers.kinds.html.rules.selectors import pattern, selector
from crawlers.records.toml import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_WAYS = 10
_ORDERS = ("auto", "dmy", "mdy", "ymd")
LINK_KEYS = {"url": "href"}
"""The fields that are an address: the attribute that has it, where the rule names none."""


def fields(table: Table | None, known: Sequence[str] | None) -> tuple[Rule, ...]:
    """
    Args:
        known: the names there are; any name will do when it is ``None``.
    """
    if table is None:
        return ()
    found = [name for name in table.left if known is None or name in known]
    rules = tuple(field(name, table.value(name), table.name(name)) for name in found)
    table.end(known or ())
    return rules


def field(name: str, value: Any, where: str, attributes: dict[str, str] | None = None) -> Rule:
    """
    Args:
        value: as TOML has it: a CSS selector, a table, or a list of these, which are tried in order.
        attributes: the attribute of a field whose rule names none.

    Raises:
        RulesError: a key is unknown, a way is none, or is several; or there are too many.
    """
    if not isinstance(value, list):
        return _way(name, value, where, attributes or {})
    if not 1 <= len(value) <= _MOST_WAYS:
        raise RulesError(f"{where} has {len(value)} ways: a list has from 1 to {_MOST_WAYS}.")
    ways = [_way(name, one, f"{where}[{number}]", attributes or {}) for number, one in enumerate(value, 1)]
    if any(way.otherwise for way in ways[:-1]):
        raise RulesError(f"{where}: only the last way has a default, for the ways after it are never tried.")
    further = tuple(each for way in ways[1:] for each in way.ways)
    required = any(way.required for way in ways)
    return replace(ways[0], required=required, otherwise=ways[0].otherwise + further)


def _way(name: str, value: Any, where: str, attributes: dict[str, str]) -> Rule:
    if isinstance(value, str):
        value = {"css": value}
    if not isinstance(value, dict):
        raise RulesError(f'{where} is neither a CSS selector nor a table such as {{ label = "Lizenz" }}.')
    table = Table(value, where)
    rule = _rule(name, table, attributes)
    table.end()
    return rule


def single(name: str, value: Any, where: str) -> Rule:
    """Return the rule of what has one way only: a link, a number.

    Raises:
        RulesError: as `field`, or there are several ways, or a default.
    """
    rule = field(name, value, where)
    if rule.otherwise:
        raise RulesError(f"{where} has one way only, and no default.")
    return rule


def _rule(name: str, table: Table, attributes: dict[str, str]) -> Rule:
    css, xpath = selector(table)
    label = table.value("label") if table.left.get("label") is True else None
    labels, constant = table.texts("label"), table.texts("constant")
    _one_way(table.path, xpath, labels or label, constant)
    default, many = table.texts("default"), table.typed("many", bool, name in MANY)
    return Rule(
        name=name,
        css=css,
        xpath=xpath,
        labels=labels,
        by_label=bool(labels or label),
        constant=constant,
        threshold=_threshold(table),
        attr=table.text("attr") or (_default(xpath, attributes, name) if xpath else None),
        regex=pattern(table, "regex"),
        many=many,
        split=table.typed("split", str, "") or None,
        date=_date(table),
        html=table.typed("html", bool, False),  # the default, as in dict.get
        required=table.typed("required", bool, name == "title"),
        otherwise=(Rule(name=name, constant=default, many=many),) if default else (),
    )


def _one_way(where: str, *ways: Any) -> None:
    if sum(1 for way in ways if way) != 1:
        raise RulesError(f"{where} needs one of css, xpath, label and constant, and has {sum(map(bool, ways))}.")


def _default(xpath: str, attributes: dict[str, str], name: str) -> str | None:
    return None if "/@" in xpath or "text()" in xpath else attributes.get(name)


def _threshold(table: Table) -> float:
    value = table.typed("threshold", float, 85.0)
    if not 50 <= value <= 100:
        raise RulesError(f"{table.name('threshold')} is {value:g}, and must be from 50 to 100.")
    return value


def _date(table: Table) -> str | None:
    value = table.value("date")
    if value in (None, False):
        return None
    order = "auto" if value is True else value
    if order not in _ORDERS:
        raise RulesError(f"{table.name('date')} is neither true nor one of {', '.join(_ORDERS[1:])}.")
    return str(order)
