"""Years of other calendars that pages of their countries write: Japan's eras, Thailand's Buddhist era, Taiwan's."""

from __future__ import annotations

import re

_BEFORE = {"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911, "明治": 1867, "民國": 1911, "民国": 1911}
"""The year before an era's first."""
_LETTERS = {"R": 2018, "H": 1988, "S": 1925}
_ERA = re.compile(rf"({'|'.join(_BEFORE)})\s?(元|[0-9]{{1,3}})\s?(?=年)")
_LETTERED = re.compile(r"(?<![A-Za-z])([RHS])([0-9]{1,2})(?=[./-][0-9]{1,2}(?:[./-][0-9]{1,2})?(?![0-9]))")
_BUDDHIST = re.compile(r"(?:พ\.?\s?ศ\.?\s?)?(?<![0-9])(2[4-6][0-9]{2})(?![0-9])")
_THAI = re.compile("[\u0e00-\u0e7f]")
_AHEAD = 543  # years that the Buddhist era is ahead
_LONGEST_AGO = 2443  # 1900


def in_common_era(text: str, language: str | None) -> str:
    """Return the text with its years in the common era.

    Args:
        language: of the page; Japanese ones abbreviate their eras.

    >>> in_common_era("令和元年5月1日", None), in_common_era("平成30年度", "ja"), in_common_era("R5.3.12", "ja")
    ('2019年5月1日', '2018年度', '2023.3.12')
    >>> in_common_era("12 มีนาคม พ.ศ. 2563", None), in_common_era("12/03/2563", "th"), in_common_era("R5.3.12", "en")
    ('12 มีนาคม 2020', '12/03/2020', 'R5.3.12')
    >>> in_common_era("2563", "en"), in_common_era("民國112年", "zh-TW")
    ('2563', '2023年')
    """
    primary = (language or "").partition("-")[0].lower()
    text = _ERA.sub(lambda era: str(_BEFORE[era[1]] + (1 if era[2] == "元" else int(era[2]))), text)
    if primary == "ja":
        text = _LETTERED.sub(lambda era: str(_LETTERS[era[1]] + int(era[2])), text)
    if primary == "th" or _THAI.search(text):
        text = _BUDDHIST.sub(lambda year: str(_in_ours(int(year[1]))), text)
    return text


def _in_ours(year: int) -> int:
    return year - _AHEAD if year >= _LONGEST_AGO else year
