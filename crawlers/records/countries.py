"""Countries into their ISO 3166-1 alpha-2 codes."""

from __future__ import annotations

from functools import cache

from crawlers.records.tables import csv_rows

_OTHER_ENDINGS = {"uk": "GB", "gov": "US", "mil": "US"}
_FOR_ANYBODY = (
    *("ad", "ai", "as", "bz", "cc", "cd", "co", "dj", "fm", "io"),
    *("la", "me", "ms", "nu", "sc", "sr", "su", "tv", "tk", "ws"),
)
"""Endings of countries that are sold as words, to anybody."""
_PUBLIC = ("ac", "edu", "gob", "gouv", "gov", "go", "gub", "gv", "mil")
"""What stands before such an ending at the country's own institutions."""


def country(text: str) -> str | None:
    """Return the code of a code or of a name in English.

    >>> [country(text) for text in ("de", "Germany", "UK", "Europe", "EU", "San Jose, CA")]
    ['DE', 'DE', 'GB', None, None, None]
    """
    return _codes().get(text.strip().casefold())


def country_of_host(host: str) -> str | None:
    """Return the code of the country that a host name's ending is of; ``None`` if anybody may have that.

    >>> [country_of_host(host) for host in ("data.gov.uk", "data.gov", "datos.gov.co", "a.io", "a.org", "b.eu")]
    ['GB', 'US', 'CO', None, None, None]
    """
    *_, second, ending = ["", *host.casefold().rstrip(".").split(".")]
    if ending in _OTHER_ENDINGS:
        return _OTHER_ENDINGS[ending]
    if len(ending) != 2 or (ending in _FOR_ANYBODY and second not in _PUBLIC):
        return None
    return _codes().get(ending)


@cache
def _codes() -> dict[str, str]:
    """Return the code of each code and each name, in lower case."""
    rows = list(csv_rows(__package__, "countries.csv"))
    return {word.casefold(): code for code, name in rows for word in (code, name)}
