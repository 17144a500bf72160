"""The IRIs that DCAT-AP requires for frequencies, languages, themes, licences and other controlled values."""

from __future__ import annotations

from functools import lru_cache

import langcodes

from crawlers.records.licenses import is_of_spdx
from crawlers.records.rdf.authorities import authority
from crawlers.records.rdf.terms import SPDX

EU = "http://publications.europa.eu/resource/authority/"
IANA = "https://www.iana.org/assignments/media-types/"

_THEMES = ("AGRI", "ECON", "EDUC", "ENER", "ENVI", "GOVE", "HEAL", "INTR", "JUST", "REGI", "SOCI", "TECH", "TRAN")
_ALGORITHMS = ("adler32", "md2", "md4", "md5", "md6", "sha1", "sha224", "sha256", "sha384", "sha512")


def _key(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


_THEMES_BY_NAME = {
    _key(name): iri
    for iri in (f"{EU}data-theme/{code}" for code in _THEMES)
    for name in (iri, iri[-4:], str(authority(iri)[0]))
}


def theme(text: str) -> str | None:
    """Return the EU's data theme with a label or a code.

    >>> theme("Economy & Finance"), theme("Ponies")
    ('http://publications.europa.eu/resource/authority/data-theme/ECON', None)
    >>> theme("ENVI") == theme("environment") == theme("http://publications.europa.eu/resource/authority/data-theme/ENVI")
    True
    """
    return _THEMES_BY_NAME.get(_key(text.replace("&", "and")))


@lru_cache(maxsize=512)
def language(tag: str) -> str | None:
    """Return the EU's IRI of a language: its ISO 639-3 code, without the region.

    >>> language("fr-CA"), language("x-klingon")
    ('http://publications.europa.eu/resource/authority/language/FRA', None)
    """
    try:
        return f"{EU}language/{langcodes.get(tag).to_alpha3().upper()}"
    except (LookupError, ValueError):
        return None


def frequency(code: str) -> str:
    return f"{EU}frequency/{code}"


def country(code: str) -> str:
    return f"{EU}country/{code}"


def media_type(name: str) -> str:
    return IANA + name


def license(id: str | None) -> str | None:  # noqa: A001, A002
    """Return SPDX's IRI of a licence; ``None`` if SPDX does not know it.

    >>> license("CC-BY-4.0"), license("other-open")
    ('http://spdx.org/licenses/CC-BY-4.0', None)
    """
    return f"http://spdx.org/licenses/{id}" if is_of_spdx(id) else None


def algorithm(name: str) -> str | None:
    """Return SPDX's IRI of a checksum's algorithm; ``None`` if SPDX does not know it.

    >>> algorithm("md5"), algorithm("crc32")
    ('http://spdx.org/rdf/terms#checksumAlgorithm_md5', None)
    """
    return f"{SPDX}checksumAlgorithm_{name}" if name in _ALGORITHMS else None
