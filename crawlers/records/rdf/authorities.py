"""English labels of the themes and codes that catalogues name by IRI only."""

from __future__ import annotations

import re
from functools import cache

from crawlers.records.tables import csv_rows

HIGH_VALUE, INSPIRE = "hvd", "INSPIRE"
"""What a theme of these vocabularies says besides its label."""


_VOCABULARIES = (
    (r"publications\.europa\.eu/resource/authority/data-theme/", "data-theme", None),
    (r"data\.europa\.eu/bna/", "high-value", HIGH_VALUE),
    (r"inspire\.ec\.europa\.eu/theme/", "inspire", INSPIRE),
    (r"inspire\.ec\.europa\.eu/metadata-codelist/TopicCategory/", "topic", None),
    (r"www\.eionet\.europa\.eu/gemet/(?:[a-z]{2}/)?inspire-theme/", "inspire", INSPIRE),
    (r"publications\.europa\.eu/resource/authority/planned-availability/", "availability", None),
    (r"purl\.org/adms/status/", "status", None),
)
_IRIS = [(re.compile(rf"https?://{prefix}([A-Za-z_0-9]+)/?"), name, mark) for prefix, name, mark in _VOCABULARIES]


def authority(iri: str) -> tuple[str | None, str | None]:
    """Return the label of a theme or a code, and the mark of its vocabulary.

    >>> authority("http://publications.europa.eu/resource/authority/data-theme/TRAN")
    ('Transport', None)
    >>> authority("http://inspire.ec.europa.eu/theme/ps"), authority("http://data.europa.eu/bna/c_ac64a52d")
    (('Protected sites', 'INSPIRE'), ('Geospatial', 'hvd'))
    >>> authority("http://eurovoc.europa.eu/100156")
    (None, None)
    """
    if "europa.eu/" in iri or "purl.org/" in iri:
        for pattern, name, mark in _IRIS:
            if found := pattern.fullmatch(iri):
                return labels(name).get(found[1]), mark
    return None, None


@cache
def labels(vocabulary: str) -> dict[str, str]:
    """Return the labels of a vocabulary by their codes."""
    return {code: label for name, code, label in csv_rows(__package__, "themes.csv") if name == vocabulary}
