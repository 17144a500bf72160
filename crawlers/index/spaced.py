"""Scripts that put no space between words: their characters one by one, so that a part of a sentence is found."""

from __future__ import annotations

import re

UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0edf\u1000-\u109f\u1780-\u17d3"  # Thai, Lao, Burmese, Khmer
    "\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"  # Japanese, Chinese
    "\uac00-\ud7a3"  # Korean, whose words have endings and are made of others
    "\U00020000-\U0003ffff"
)
"""Their characters, as a range of a regular expression."""

_ONE = re.compile(f"[{UNSPACED}]")


def spaced(text: str) -> str:
    """
    >>> spaced("2024年 flood 洪水数据")
    '2024 年  flood  洪  水  数  据 '
    >>> spaced("flood")
    'flood'
    """
    return text if text.isascii() else _ONE.sub(r" \g<0> ", text)
