"""Values as RDF literals that every serialisation can hold, with the datatypes that DCAT-AP requires."""

from __future__ import annotations

import re

from crawlers.records.rdf.terms import XSD, Literal

_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")  # XML can't hold these
_MOMENT = re.compile(
    r"[0-9]{4}(?P<month>-[0-9]{2}(?P<day>-[0-9]{2}"
    r"(?P<time>T[0-9]{2}:[0-9]{2}(?P<seconds>:[0-9]{2}(\.[0-9]+)?)?"
    r"(?P<zone>Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00)))?)?)?"
)


def plain(text: str | None) -> str | None:
    r"""Return a text without characters that XML cannot hold, with ``\n`` as line end; ``None`` if nothing is left.

    >>> plain("a\r\nb\x00"), plain("\x1b")
    ('a\nb', None)
    """
    if not text:
        return None
    return _UNPRINTABLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip() or None


def printable(text: str) -> str:
    """Return a text without characters that XML cannot hold."""
    return _UNPRINTABLE.sub("", text)


def literal(text: str | None, datatype: str | None = None) -> Literal | None:
    written = plain(text)
    return Literal(written, datatype=datatype) if written else None


def moment(text: str | None) -> Literal | None:
    """Return a date or time with the datatype of its precision; ``None`` if it is neither.

    >>> [moment(text).datatype.partition("#")[2] for text in ("2020", "2020-03", "2020-03-01", "2020-03-01T10:00:00Z")]
    ['gYear', 'gYearMonth', 'date', 'dateTime']
    >>> moment("2020-03-01T10:00+02:00").value, moment("yesterday"), moment(None)
    ('2020-03-01T10:00:00+02:00', None, None)
    """
    found = _MOMENT.fullmatch(text or "")
    if not found:
        return None
    written, kind = found[0], "gYear"
    if found["time"]:
        zone = found["zone"]
        written, kind = written if found["seconds"] else written.removesuffix(zone) + ":00" + zone, "dateTime"
    elif found["month"]:
        kind = "date" if found["day"] else "gYearMonth"
    return Literal(written, datatype=XSD + kind)
