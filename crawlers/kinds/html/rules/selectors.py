"""Selectors and patterns of a rules file, tried out before any page is asked for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import re2
from cssselect import SelectorError
from lxml import etree
from parsel.csstranslator import HTMLTranslator

from crawlers.exceptions import RulesError

if TYPE_CHECKING:
    from crawlers.records.toml import Table

_TRANSLATOR = HTMLTranslator()
_MOST = 2_000  # characters of a selector or a pattern
_CALLS = re.compile(r"([\w-]+)\s*\(")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_FUNCTIONS = {
    *("last", "position", "count", "id", "local-name", "namespace-uri", "name", "string", "concat", "starts-with"),
    *("contains", "substring-before", "substring-after", "substring", "string-length", "normalize-space", "translate"),
    *("boolean", "not", "true", "false", "lang", "number", "sum", "floor", "ceiling", "round"),
    *("text", "node", "comment", "processing-instruction", "and", "or", "div", "mod"),
}
_EMPTY = etree.fromstring("<html/>")
_QUIET = re2.Options()
_QUIET.log_errors = False


def selector(table: Table, css_key: str = "css", xpath_key: str | None = "xpath") -> tuple[str | None, str | None]:
    """Return the selector as written in CSS, if it is, and as XPath.

    Raises:
        RulesError: it is neither, or both are given.
    """
    css = table.text(css_key)
    xpath = table.text(xpath_key) if xpath_key else None
    if css and xpath:
        raise RulesError(f"{table.path} has both {css_key} and {xpath_key}: one of them finds the element.")
    if css:
        return css, from_css(css, table.name(css_key))
    return None, checked_xpath(xpath, table.name(str(xpath_key))) if xpath else None


def from_css(css: str, where: str) -> str:
    """
    >>> from_css("h1", "fields.title")
    'descendant-or-self::h1'
    """
    _check_text(css, where)
    try:
        return str(_TRANSLATOR.css_to_xpath(css))
    except (SelectorError, ValueError) as error:
        raise RulesError(f"{where} is not a CSS selector: {error}.") from None


def _check_text(text: str, where: str) -> None:
    if len(text) > _MOST:
        raise RulesError(f"{where} is longer than {_MOST} characters.")
    if not text.isprintable():
        raise RulesError(f"{where} has a character that can't be seen: {text[:100]!r}.")


def checked_xpath(xpath: str, where: str) -> str:
    _check_text(xpath, where)
    unknown = set(_CALLS.findall(_QUOTED.sub("''", xpath))) - _FUNCTIONS
    if unknown:
        raise RulesError(f"{where} is not XPath 1.0: there is no function {min(unknown)}().")
    try:
        etree.XPath(xpath)(_EMPTY)
    except etree.XPathError as error:  # its syntax; or a function or a prefix that is not known
        raise RulesError(f"{where} is not an XPath: {error}.") from None
    return xpath


def pattern(table: Table, key: str) -> str | None:
    """Return a regular expression of RE2, whose time is linear in the text whatever the pattern.

    Raises:
        RulesError: it is none.
    """
    text = table.text(key)
    if text is None:
        return None
    if len(text) > _MOST:
        raise RulesError(f"{table.name(key)} is longer than {_MOST} characters.")
    try:
        re2.compile(text, _QUIET)
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else error
        raise RulesError(f"{table.name(key)} is not a regular expression of RE2: {reason}.") from None
    return text
