"""Single values as portals write them, into the form the items hold; ``None`` for what is not one of the kind."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from urllib.parse import quote, urlsplit

_DATE = re.compile(
    r"([0-9]{4})(-[0-9]{2})?(-[0-9]{2})?"
    r"(?:(?<=-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?) ?"
    r"(Z|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2})?)?)?",
    re.IGNORECASE,
)
_ZONED = re.compile(r"([0-9]{4}(?:-[0-9]{2}){0,2})(?:Z|[+-][0-9]{2}:[0-9]{2})")
_WHOLE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?(Z|[+-][0-9]{2}:[0-9]{2})?")
_HOST = re.compile(r"(?:https?|ftp)://([^\s/?#]++)", re.IGNORECASE)
_SPACE = re.compile(r"\s")
_UNPRINTABLE = re.compile(r"[\s\x00-\x1f\x7f]+")
_EMAIL = re.compile(r"[^\s@<>]+@[^\s@<>]+")
_LONGEST_EMAIL = 400
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*")
_BYTES = re.compile(r"([0-9]{1,18})(?:\.0*)?")
_NO_BYTES = re.compile(r"-[0-9.]{1,20}|[0-9][0-9.,]{0,20} ?[A-Za-z]{1,5}")
_BETWEEN_KEYWORDS = re.compile(r"(?<![0-9]),|,(?![0-9])|[;|\n、，；،؛]")
_SEPARATORS = re.compile(r"[,;|\n、，；،؛]")
_IN_NO_KEYWORD = re.compile(r"[;|\n、；؛]")
_FEWEST = 4  # parts that make one text of several a list: "Paris, Texas, USA" is a keyword
_VOCABULARIES = ("publications.europa.eu/resource/authority/file-type/", "iana.org/assignments/media-types/")


def text(value: str) -> str | None:
    r"""Return the text without surrounding space; half characters, which no file can hold, become U+FFFD.

    >>> text(" a b\n"), text("  "), text("\ud83d")
    ('a b', None, '\ufffd')
    """
    value = value.strip()
    try:
        value.encode()
    except UnicodeEncodeError:
        value = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value or None


def date(text: str) -> str | None:
    """Return an ISO 8601 date with the precision of the source; a time without a zone is UTC, as in CKAN and HDX.

    >>> date("2020"), date("2020-03"), date("2020-03-01")
    ('2020', '2020-03', '2020-03-01')
    >>> date("2025-04-10T15:05:42.983941"), date("2020-03-01 10:00+0200")
    ('2025-04-10T15:05:42.983941Z', '2020-03-01T10:00+02:00')
    >>> date("03/04/2020"), date("2021-02-29"), date("2020-13"), date("2020-03-01T25:00"), date("2020T10:00")
    (None, None, None, None, None)
    """
    if len(text) == 10 and text[4] == text[7] == "-":  # nearly always these two, so without a detour
        return text if _in_calendar(text) else None
    if whole := _WHOLE.fullmatch(text):
        return (text if whole[1] else f"{text}Z") if _in_calendar(text) else None
    found = _DATE.fullmatch(text.strip())
    if not found:
        return None
    year, month, day, time, zone = found.groups()
    written = year + (month or "") + (day or "")
    if time:
        written += "T" + time + _zone(zone)
    return written if _in_calendar(year + (month or "-01") + (day or "-01") + written[10:]) else None


def xsd_date(text: str) -> str | None:
    """Return a date as `date` does; XML Schema's days, months and years may have a zone too.

    >>> xsd_date("2016-12-14T18:59:02"), xsd_date("2016-12-14+01:00"), xsd_date("2016Z"), xsd_date("{{modified:toISO}}")
    ('2016-12-14T18:59:02Z', '2016-12-14', '2016', None)
    """
    found = date(text)
    if found or not (zoned := _ZONED.fullmatch(text.strip())):
        return found
    return date(zoned[1])


def has_come(date: str) -> bool:
    """Return whether a date is not in the future. A day is added for the zones east of UTC.

    >>> has_come("2020-03"), has_come("2999")
    (True, False)
    """
    return date[:10] <= _IMPORTED[: len(date)] or date[:10] <= _tomorrow()[: len(date)]


def _tomorrow() -> str:
    return (datetime.now(UTC) + timedelta(days=1)).strftime("%Y-%m-%d")


_IMPORTED = _tomorrow()  # most dates are long past: that needs no clock


def _zone(zone: str | None) -> str:
    if not zone or zone[0] not in "+-":
        return "Z"
    return f"{zone[:3]}:{zone[3:].lstrip(':') or '00'}"


def _in_calendar(moment: str) -> bool:
    try:
        datetime.fromisoformat(moment)
    except ValueError:
        return False
    return True


def url(text: str) -> str | None:
    """Return an http, https or ftp address; space inside it is percent-encoded, nothing else is touched.

    >>> url(" https://example.org/a b.csv ")
    'https://example.org/a%20b.csv'
    >>> url("/dataset/a"), url("javascript:alert(1)"), url("http://"), url("http://[a/")
    (None, None, None, None)
    """
    text = text.strip()
    is_plain = text.isascii() and text.isprintable() and " " not in text  # nearly always
    if not is_plain and _SPACE.search(text):
        text = _UNPRINTABLE.sub(lambda space: quote(space[0], errors="replace"), text)
    found = _HOST.match(text)
    return text if found and _is_host(found[1]) else None


def _is_host(host: str) -> bool:
    if host.isascii() and "[" not in host and "]" not in host:
        return True
    try:
        urlsplit(f"http://{host}")
    except ValueError:
        return False
    return True


def email(text: str) -> str | None:
    """Return the first address in the text.

    >>> email("mailto: hello@its.me"), email("Jane <jane@doe.org>"), email("see the site")
    ('hello@its.me', 'jane@doe.org', None)
    """
    found = _EMAIL.search(text.strip().removeprefix("mailto:")) if len(text) <= _LONGEST_EMAIL else None
    return found[0] if found else None


def media_type(text: str) -> str | None:
    """Return an IANA media type, without its parameters.

    >>> media_type("Text/CSV; charset=utf-8"), media_type("CSV")
    ('text/csv', None)
    >>> media_type("https://www.iana.org/assignments/media-types/text/csv")
    'text/csv'
    """
    bare = text.partition(";")[0].rpartition("/media-types/")[2].strip().lower()
    return bare if _MEDIA_TYPE.fullmatch(bare) else None


def file_format(text: str) -> str | None:
    """Return the format in the source's spelling; of a URI of the EU's or IANA's vocabulary the last part.

    >>> file_format(" GeoJSON "), file_format("http://publications.europa.eu/resource/authority/file-type/CSV")
    ('GeoJSON', 'CSV')
    """
    text = text.strip().rstrip("/")
    if "://" in text and any(vocabulary in text for vocabulary in _VOCABULARIES):
        return text.rpartition("/")[2]
    return text or None


def size(text: str) -> int | None:
    """Return the number of bytes; 0 for an unknown size: 0, a negative number, a rounded one with its unit.

    >>> size("299107"), size("34.0"), size("0"), size("-1"), size("20.4K"), size("big")
    (299107, 34, 0, 0, 0, None)
    """
    if found := _BYTES.fullmatch(text):
        return int(found[1])
    return 0 if _NO_BYTES.fullmatch(text) else None


def keywords(
    texts: list[str], between: re.Pattern[str] = _BETWEEN_KEYWORDS, *, is_list_alone: bool = True
) -> list[str]:
    """Return keywords, each once. A text that stands alone is usually a list; of several each is one keyword.

    Commas make one of several a list only if there are many; semicolons, bars and lines always do.

    >>> keywords(["water, 1,5 m; flood"]), keywords(["a, b", "c"])
    (['water', '1,5 m', 'flood'], ['a, b', 'c'])
    >>> keywords(["rain|snow", "hail"]), keywords(["a, b, c, d", "e"]), keywords(["雨、雪"])
    (['rain', 'snow', 'hail'], ['a', 'b', 'c', 'd', 'e'], ['雨', '雪'])
    """
    if not _SEPARATORS.search("".join(texts)):
        return list(dict.fromkeys(filter(None, map(text, texts))))
    if len(texts) == 1 and is_list_alone:
        return list(dict.fromkeys(filter(None, map(text, between.split(texts[0])))))
    lists = (between if len(between.findall(each)) + 1 >= _FEWEST else _IN_NO_KEYWORD for each in texts)
    parts = (part for each, separators in zip(texts, lists, strict=True) for part in separators.split(each))
    return list(dict.fromkeys(filter(None, map(text, parts))))
