"""Single values as portals write them, into the form the items hold; ``None`` for what is not one of the kind."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from crawlers.items import Checksum, Relation

if TYPE_CHECKING:
    from collections.abc import Iterable


_DATE = re.compile(
    r"([0-9]{4})(-[0-9]{2})?(-[0-9]{2})?"
    r"(?:(?<=-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?) ?"
    r"(Z|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2})?)?)?",
    re.IGNORECASE,
)
_ZONED = re.compile(r"([0-9]{4}(?:-[0-9]{2}){0,2})(?:Z|[+-][0-9]{2}:[0-9]{2})")
_WHOLE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?(Z|[+-][0-9]{2}:[0-9]{2})?")
_HOST = re.compile(r"(?:https?|ftp)://([^\s/?#]++)", re.IGNORECASE)
_UNPRINTABLE = re.compile(r"[\s\x00-\x1f\x7f]+")
_EMAIL = re.compile(r"[^\s@<>]+@[^\s@<>]+")
_LONGEST_EMAIL = 400
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*")
_BYTES = re.compile(r"([0-9]{1,18})(?:\.0*)?")
_NO_BYTES = re.compile(r"-[0-9.]{1,20}|[0-9][0-9.,]{0,20} ?[A-Za-z]{1,5}")
_BETWEEN_KEYWORDS = re.compile(r"(?<![0-9]),|,(?![0-9])|[;|\n、，；،؛]")
SEPARATORS = re.compile(r"[,;|\n、，；،؛]")
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
    if len(text.split()) > 1:  # a regular expression takes ten times as long to find no space
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
    if not SEPARATORS.search("".join(texts)):
        return list(dict.fromkeys(filter(None, map(text, texts))))
    if len(texts) == 1 and is_list_alone:
        return list(dict.fromkeys(filter(None, map(text, between.split(texts[0])))))
    lists = (between if len(between.findall(each)) + 1 >= _FEWEST else _IN_NO_KEYWORD for each in texts)
    parts = (part for each, separators in zip(texts, lists, strict=True) for part in separators.split(each))
    return list(dict.fromkeys(filter(None, map(text, parts))))


_LENGTHS = {32: "md5", 40: "sha1", 56: "sha224", 64: "sha256", 96: "sha384", 128: "sha512"}
_VALUE = re.compile(r"(?:([a-z0-9-]{1,20}):)?([0-9a-f]{8,256})", re.IGNORECASE)


def checksum(text: str | None, algorithm: str | None = None) -> Checksum | None:
    """Return a checksum in hexadecimal; ``None`` for ETags and all else.

    ``algorithm`` is a name (``SHA-256``) or SPDX's URI of it. It must fit the value's length.

    >>> checksum("62c3691f2558c7788f1c4fb923c0ad60")
    Checksum(algorithm='md5', value='62c3691f2558c7788f1c4fb923c0ad60')
    >>> checksum("sha1:6F1E452320DAFBE9A5304AC77ED7A4FF79BFAFC3").algorithm
    'sha1'
    >>> checksum('W/"90a921cdd859fbbdfa5fa70a59009bab"'), checksum("cbf43926"), checksum("ab" * 16, "sha1")
    (None, None, None)
    >>> checksum("cbf43926", "crc32").algorithm
    'crc32'
    """
    found = _VALUE.fullmatch(text.strip()) if text else None
    if not found:
        return None
    value = found[2].lower()
    by_length = _LENGTHS.get(len(value), "")
    name = _name(algorithm or found[1]) or by_length
    fits = name == by_length or name not in _LENGTHS.values()
    return Checksum(algorithm=name, value=value) if name and fits else None


def _name(algorithm: str | None) -> str:
    bare = algorithm and algorithm.replace("#", "/").replace("_", "/").rpartition("/")[2]
    return bare.lower().replace("-", "")[:20] if bare else ""


_LONGEST_AMOUNT = 100
_DISTANCE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(?:[eE]([-+]?[0-9]))? ?([^\W\d]{0,12})\.?")
_METRES = {
    **dict.fromkeys(("", "m", "meter", "meters", "metre", "metres", "metro", "metros", "mètres", "metri"), 1.0),
    **dict.fromkeys(("km", "kilometer", "kilometers", "kilometre", "kilometres", "kilómetros"), 1000.0),
    **dict.fromkeys(("cm", "centimeter", "centimeters", "centimetre", "centimetres"), 0.01),
    **dict.fromkeys(("mm", "millimeter", "millimeters", "millimetre", "millimetres"), 0.001),
    **dict.fromkeys(("ft", "foot", "feet"), 0.3048),
}
_DURATION = re.compile(
    r"P(?=[0-9T])(?:[0-9]{1,6}Y)?(?:[0-9]{1,6}M)?(?:[0-9]{1,6}W)?(?:[0-9]{1,6}D)?"
    r"(?:T(?=[0-9])(?:[0-9]{1,6}H)?(?:[0-9]{1,6}M)?(?:[0-9]{1,6}(?:\.[0-9]{1,9})?S)?)?"
)


def metres(text: str) -> float | None:
    """Return a distance on the ground in metres; degrees and scales are none.

    >>> metres("10"), metres("0.5 km"), metres("30 metres"), metres("3.0E1"), metres("1:5000"), metres("0.25 degrees")
    (10.0, 500.0, 30.0, 30.0, None, None)
    """
    found = _DISTANCE.fullmatch(text.strip()) if len(text) <= _LONGEST_AMOUNT else None
    unit = _METRES.get(found[3].casefold()) if found else None
    if not found or unit is None:
        return None
    return round(float(f"{found[1]}e{found[2] or 0}") * unit, 9) or None


def duration(text: str) -> str | None:
    """Return an ISO 8601 duration.

    >>> duration("p1d"), duration("PT15M"), duration("P"), duration("daily")
    ('P1D', 'PT15M', None, None)
    """
    text = text.strip().upper() if len(text) <= _LONGEST_AMOUNT else ""
    return text if _DURATION.fullmatch(text) else None


_WITH_ADDRESS = re.compile(r"(https?://\S+)|(10\.[0-9]{4,9}/\S+)|(urn:[A-Za-z0-9-]{2,32}:\S+)")


def relation(named: str, role: str = "relation", title: str | None = None) -> Relation | None:
    """Return the relation that a text names: by its address, a DOI or a URN, else in words.

    >>> relation("https://example.org/a", "source"), relation("10.5072/x").uri, relation("The census").title
    (Relation(role='source', uri='https://example.org/a', title=None), 'https://doi.org/10.5072/x', 'The census')
    """
    written = text(named)
    if not written:
        return Relation(role=role, title=title) if title else None
    found = _WITH_ADDRESS.fullmatch(written)
    if not found:
        return Relation(role=role, title=title or written)
    return Relation(role=role, uri=f"https://doi.org/{found[2]}" if found[2] else written, title=title)


def relations(texts: Iterable[str], role: str = "relation") -> list[Relation]:
    """Return the relations that texts name."""
    return [found for text in texts if (found := relation(text, role))]


_EU = "http://publications.europa.eu/resource/authority/"
_ADMS = "http://purl.org/adms/status/"
_IRIS = re.compile(
    r"https?://(?:publications\.europa\.eu/resource/authority/[a-z-]+/"
    r"|data\.europa\.eu/r5r/availability/|purl\.org/adms/status/)([A-Za-z0-9_-]{1,60})/?"
)

_SAME = {"UNDERDEVELOPMENT": "DEVELOP"}
"""ADMS's name of what has another one in the EU's vocabulary."""

_TYPES = (
    *("APROF", "CODE_LIST", "CORE_COMP", "DOMAIN_MODEL", "DSCRP_SERV", "GEOSPATIAL", "GLOSSARY", "HVD", "IEPD"),
    *("MAPPING", "NAL", "ONTOLOGY", "RELEASE", "SCHEMA", "STATISTICAL", "SYNTAX_ECD_SCHEME", "SYNTHETIC_DATA"),
    *("TAXONOMY", "TEST_DATA", "THESAURUS"),
)
_STATUSES = {
    "COMPLETED": "Completed",
    "DEPRECATED": "Deprecated",
    "DEVELOP": "UnderDevelopment",
    "WITHDRAWN": "Withdrawn",
}
"""ADMS's, which the released shapes ask for; DCAT-AP's text has the EU's codes."""
_AVAILABILITIES = ("AVAILABLE", "EXPERIMENTAL", "STABLE", "TEMPORARY", "OP_DATPRO")
_CODES = {*_TYPES, *_STATUSES, *_AVAILABILITIES}


def code(text: str) -> str:
    """Return the code that an IRI of the EU's vocabularies, or of ADMS's statuses, ends with; others as they are.

    An IRI whose code is not known here stays as well: nobody could tell it from a word.

    >>> code("http://publications.europa.eu/resource/authority/planned-availability/STABLE")
    'STABLE'
    >>> code("http://publications.europa.eu/resource/authority/dataset-type/X")
    'http://publications.europa.eu/resource/authority/dataset-type/X'
    >>> code("http://purl.org/adms/status/Completed"), code("http://a.org/type/1"), code("raster")
    ('COMPLETED', 'http://a.org/type/1', 'raster')
    """
    found = _IRIS.fullmatch(text) if "://" in text else None
    if not found:
        return text
    written = _SAME.get(found[1].upper(), found[1].upper())
    return written if written in _CODES else text


def dataset_type(code: str | None) -> str | None:
    """Return the EU's IRI of a type of datasets; the others of this kind return theirs.

    >>> dataset_type("GEOSPATIAL"), dataset_type("raster")
    ('http://publications.europa.eu/resource/authority/dataset-type/GEOSPATIAL', None)
    """
    return f"{_EU}dataset-type/{code}" if code in _TYPES else None


def status(code: str | None) -> str | None:
    return f"{_ADMS}{_STATUSES[code]}" if code in _STATUSES else None


def availability(code: str | None) -> str | None:
    return f"{_EU}planned-availability/{code}" if code in _AVAILABILITIES else None


_ACCESS = ("PUBLIC", "RESTRICTED", "NON_PUBLIC", "CONFIDENTIAL", "SENSITIVE")
_ACCESS_RIGHTS = {
    "".join(filter(str.isalnum, name.casefold())): code
    for code in _ACCESS
    for name in (code, f"{_EU}access-right/{code}")
}


def access_right(text: str) -> str | None:
    """Return the EU's IRI of an access right with a label or a code.

    >>> access_right("Non-public"), access_right("on request")
    ('http://publications.europa.eu/resource/authority/access-right/NON_PUBLIC', None)
    """
    code = _ACCESS_RIGHTS.get("".join(filter(str.isalnum, text.casefold())))
    return f"{_EU}access-right/{code}" if code else None
