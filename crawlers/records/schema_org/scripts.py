"""The JSON-LD scripts of a page, parsed: those that people broke in the usual ways, too."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.html import HtmlElement

_TYPE = "application/ld+json"
_LONGEST = 4 << 20  # of all scripts of a page: as JSON it takes thirty times that
_BEFORE = re.compile(r"(?:[\s\ufeff;]|//|/\*|\*/|<!--|<!\[CDATA\[)*+", re.IGNORECASE)
_LOOSE = " \t\r\n\f;,/*\ufeff"
_ENDS = 4  # a comment in a section in a comment
_TRAILING_COMMA = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|(,)(?=\s*+[}\]])', re.DOTALL)


def documents(root: HtmlElement, flaws: list[str]) -> Iterator[Any]:
    """Yield the JSON of each script; a script that can't be read adds a sentence to ``flaws``."""
    left = _LONGEST
    for script in root.iter("script"):
        if not _is_json_ld(script.get("type")):
            continue
        text = script.text or ""
        left -= len(text)
        if left < 0:
            flaws.append(f"the page's JSON-LD is over {_LONGEST >> 20} MiB long, and is not read any further")
            return
        if bare := _unwrapped(text):
            try:
                yield _parsed(bare)
            except ValueError as error:
                flaws.append(f"a JSON-LD script can't be read: {error}")


def _is_json_ld(type_: str | None) -> bool:
    """
    >>> _is_json_ld(' Application/LD+JSON; profile="x"'), _is_json_ld("application/json"), _is_json_ld(None)
    (True, False, False)
    """
    return (type_ or "").partition(";")[0].strip().lower() == _TYPE


def _unwrapped(text: str) -> str:
    r"""Return a script without the comment or CDATA section around it, and a semicolon after it.

    >>> _unwrapped("//<![CDATA[\n {} \n//]]>"), _unwrapped("<!-- [] -->"), _unwrapped("/*<![CDATA[*/{};/*]]>*/")
    ('{}', '[]', '{}')
    """
    bare = text[_BEFORE.match(text).end() :]  # type: ignore[union-attr]
    for _ in range(_ENDS):
        bare = bare.rstrip(_LOOSE).removesuffix("]]>").removesuffix("-->")
    return bare


def _parsed(text: str) -> Any:
    r"""
    Raises:
        ValueError: it can't be parsed, or is nested too deep.

    >>> _parsed('{"a": "1\n2, ]", "b": [1, 2,],}'), _parsed("{&quot;a&quot;: &quot;R&amp;D&quot;}")
    ({'a': '1\n2, ]', 'b': [1, 2]}, {'a': 'R&D'})
    """
    if "&quot;" in text and '"' not in text:
        text = unescape(text)
    try:
        return _loads(text)
    except ValueError:
        mended = _TRAILING_COMMA.sub(lambda found: "" if found[1] else found[0], text)
        if len(mended) == len(text):
            raise
    return _loads(mended)


def _loads(text: str) -> Any:
    """Return parsed JSON; raw line breaks in texts are accepted."""
    try:
        return json.loads(text, strict=False, parse_constant=lambda _: None)
    except RecursionError:
        raise ValueError("nested too deep") from None
