"""Codes of the vocabularies that DCAT-AP takes its words from: types, statuses, availabilities."""

from __future__ import annotations

import re

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


def code(text: str) -> str:
    """Return the code that an IRI of the EU's vocabularies, or of ADMS's statuses, ends with; others as they are.

    >>> code("http://publications.europa.eu/resource/authority/planned-availability/STABLE")
    'STABLE'
    >>> code("http://purl.org/adms/status/Completed"), code("http://a.org/type/1"), code("raster")
    ('COMPLETED', 'http://a.org/type/1', 'raster')
    """
    found = _IRIS.fullmatch(text) if "://" in text else None
    if not found:
        return text
    written = found[1].upper()
    return _SAME.get(written, written)


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
