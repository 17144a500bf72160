"""Licences into SPDX identifiers, by address, identifier or title."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from license_expression import get_spdx_licensing  # type: ignore[import-untyped]

from crawlers.items import License
from crawlers.mapping.values import url as web_address

_LONGEST = 300
_NOTHING = frozenset(
    (
        *("", "notspecified", "not-specified", "license-not-specified", "no-license-specified", "no-license-provided"),
        *(
            "none",
            "unknown",
            "unspecified",
            "undefined",
            "null",
            "na",
            "n-a",
            "n.a",
            "n.-a",
            "not-applicable",
            "not-available",
            "nil",
        ),
        *("no-license", "no-license-given", "none-specified", "none-given", "not-stated", "not-known", "not-provided"),
        *(
            "unknown-license",
            "license-unknown",
            "license-not-provided",
            "tbd",
            "to-be-determined",
            "other-not-specified",
        ),
        *(
            "keine-angabe",
            "keine-angaben",
            "keine",
            "k.a",
            "k.-a",
            "ohne-angabe",
            "unbekannt",
            "nicht-angegeben",
            "keine-lizenz",
        ),
        *("non-specifie", "non-spécifié", "non-spécifiée", "non-renseigné", "non-renseignée", "inconnue", "aucune"),
        *("license-non-spécifiée", "no-especificado", "no-especificada", "sin-especificar"),
        *("desconocida", "ninguna", "sin-licencia", "não-especificada", "não-especificado", "não-informado", "nenhuma"),
        *("non-specificato", "non-specificata", "nessuna", "sconosciuta", "niet-gespecificeerd", "onbekend", "geen"),
        *("ej-angiven", "ikke-angivet", "ikke-oppgitt", "brak", "brak-danych", "nie-podano", "nieznana", "neuvedeno"),
        *("не-указана", "не-указано", "не-вказано", "指定なし", "不明", "未指定"),
    )
)
"""Keys of what stands where no licence is given."""
_VERSION = re.compile(r"[0-9][._-][0-9]")

# An address of a licence, and what precedes its groups in the SPDX identifier.
_ADDRESSES = [
    (re.compile(pattern), prefix)
    for pattern, prefix in (
        (r"creativecommons\.org/licen[sc]es/(by[a-z-]*)/([0-9]\.[0-9])(?:/([a-z]{2,3})(?![a-z.]))?", "cc"),
        (r"creativecommons\.org/publicdomain/zero/(1\.0)", "cc0"),
        (r"creativecommons\.org/publicdomain/mark/(1\.0)", "cc-pdm"),
        (r"(?:opendatacommons\.org|okfn\.org)/licen[sc]es/(odbl)\b", "odc"),
        (r"(?:opendatacommons\.org|okfn\.org)/licen[sc]es/(pddl)\b", "odc"),
        (r"(?:opendatacommons\.org|okfn\.org)/licen[sc]es/(by)\b", "odc"),
        (r"nationalarchives\.gov\.uk/doc/open-government-licence/version/([0-9])\b", "ogl-uk"),
        (r"govdata\.de/dl-de/(by|zero)-([0-9]-[0-9])", "dl-de"),
        (r"dcat-ap\.de/def/licenses/dl-(by|zero)-de/([0-9][._][0-9])", "dl-de"),
        (r"dcat-ap\.de/def/licenses/(cc-[a-z-]+|odbl|odby|odcpddl)(?:/([0-9][._][0-9]))?$", ""),
        (r"data\.norge\.no/nlod/(?:[a-z]{2}/)?([0-9]\.[0-9])", "nlod"),
        (r"etalab.*licence-ouverte.*v?(2)[._]?0", "etalab"),
        (r"publications\.europa\.eu/resource/authority/licence/([a-z0-9_]+)", ""),
        (r"opensource\.org/licen[sc]es?/([a-z0-9.+-]+?)(?:-license)?(?:\.html|\.php)?$", ""),
        (r"spdx\.org/licenses/([a-z0-9.+-]+?)(?:\.html|\.json|\.txt)?$", ""),
        (r"gnu\.org/(?:licenses|copyleft)/(?:old-licenses/)?([al]?gpl-[0-9]\.[0-9])", ""),
        (r"gnu\.org/(?:licenses|copyleft)/(?:old-licenses/)?fdl-([0-9]\.[0-9])", "gfdl"),
        (r"apache\.org/licenses/license-([0-9]\.[0-9])", "apache"),
    )
]

# Names that carry a version without the word, or SPDX's words in another order.
_EXACT = {
    "odc-odbl": "ODbL-1.0",
    "odc-by": "ODC-By-1.0",
    "odc-pddl": "PDDL-1.0",
    "odc-bl": "ODbL-1.0",
    "odbl": "ODbL-1.0",
    "odby": "ODC-By-1.0",
    "odcpddl": "PDDL-1.0",
    "pddl": "PDDL-1.0",
    "hdx-odc-by": "ODC-By-1.0",
    "hdx-odc-odbl": "ODbL-1.0",
    "hdx-pddl": "PDDL-1.0",
    "cc-by-igo": "CC-BY-3.0-IGO",
    "cc0": "CC0-1.0",
    "cc-zero": "CC0-1.0",
    "cc-0": "CC0-1.0",
    "cc-pddc": "CC-PDDC",
    "ogl-uk-1": "OGL-UK-1.0",
    "ogl-uk-2": "OGL-UK-2.0",
    "ogl-uk-3": "OGL-UK-3.0",
    "ogl-1.0": "OGL-UK-1.0",
    "ogl-2.0": "OGL-UK-2.0",
    "ogl-3.0": "OGL-UK-3.0",
    "uk-ogl-1.0": "OGL-UK-1.0",
    "uk-ogl-2.0": "OGL-UK-2.0",
    "uk-ogl-3.0": "OGL-UK-3.0",
    "etalab-2": "etalab-2.0",
    "lov2": "etalab-2.0",
    "gnu-fdl-1.3": "GFDL-1.3-only",
    "gfdl-1.3": "GFDL-1.3-only",
    "gfdl-1.2": "GFDL-1.2-only",
    "gfdl-1.1": "GFDL-1.1-only",
    "creative-commons-cczero": "CC0-1.0",
    "creative-commons-zero": "CC0-1.0",
    "creative-commons-cc0": "CC0-1.0",
    "open-data-commons-open-database-license": "ODbL-1.0",
    "open-data-commons-database-license": "ODbL-1.0",
    "open-database-license": "ODbL-1.0",
    "open-data-commons-attribution-license": "ODC-By-1.0",
    "open-data-commons-public-domain-dedication-and-license": "PDDL-1.0",
    "datenlizenz-deutschland-namensnennung-2.0": "DL-DE-BY-2.0",
    "datenlizenz-deutschland-zero-2.0": "DL-DE-ZERO-2.0",
    "license-ouverte-open-license-2.0": "etalab-2.0",
    "license-ouverte-2.0": "etalab-2.0",
    "norwegian-license-for-open-government-data-2.0": "NLOD-2.0",
    "open-government-license-canada": "OGL-Canada-2.0",
    "ca-ogl-lgo": "OGL-Canada-2.0",
}

# Names without a version: what CKAN's list of licences points to, opendefinition.org, describes the one given here.
_CUSTOMARY = {
    "cc-by": "CC-BY-4.0",
    "cc-by-sa": "CC-BY-SA-4.0",
    "cc-by-nc": "CC-BY-NC-4.0",
    "cc-by-nd": "CC-BY-ND-4.0",
    "cc-by-nc-sa": "CC-BY-NC-SA-4.0",
    "cc-by-nc-nd": "CC-BY-NC-ND-4.0",
    "cc-nc": "CC-BY-NC-2.0",
    "gnu-fdl": "GFDL-1.3-or-later",
    "gfdl": "GFDL-1.3-or-later",
    "uk-ogl": "OGL-UK-3.0",
    "ogl": "OGL-UK-3.0",
    "ogl-uk": "OGL-UK-3.0",
    "uk-open-government-license": "OGL-UK-3.0",
    "gnu-free-documentation-license": "GFDL-1.3-or-later",
}
_CUSTOMARY_ADDRESSES = [
    (re.compile(pattern), prefix)
    for pattern, prefix in (
        (r"opendefinition\.org/licen[sc]es/([a-z0-9-]+)", ""),
        (r"creativecommons\.org/licen[sc]es/(by[a-z-]*)/?$", "cc"),
        (r"(?:nationalarchives\.gov\.uk/doc|reference\.data\.gov\.uk/id)/open-government-licence/?$", "ogl-uk"),
        (r"gnu\.org/(?:licenses|copyleft)/(fdl)\.html$", "gnu"),
    )
]

_CREATIVE_COMMONS = re.compile(
    r"creative-commons-(?:license-)?attribution(-non-?commercial)?(-share-?alike|-no-?deriv[a-z]*)?"
    r"(-for-intergovernmental-organi[sz]ations|-igo)?(?:-([0-9]\.[0-9]))?"
    r"(-igo)?(?:-international|-unported|-generic)?(?:-public)?(?:-license)?"
)


def license(id: str | None, url: str | None = None, title: str | None = None) -> License | None:  # noqa: A001, A002
    """The licence by SPDX's identifier where one of its three names tells it, else as the source gives it.

    A name with a version wins over one without, an address over an identifier over a title. A version that SPDX does
    not have is not taken for another one.

    >>> license("cc-by", "https://creativecommons.org/licenses/by/3.0/igo/legalcode").id
    'CC-BY-3.0-IGO'
    >>> license("odc-odbl").id, license("cc-by", None, "Creative Commons Attribution 3.0 Spain").id
    ('ODbL-1.0', 'cc-by')
    >>> license("notspecified", None, "License not specified"), license("other-open").id
    (None, 'other-open')
    >>> license("No license specified"), license("Keine Angabe"), license(None, None, "N/A"), license("k.A.")
    (None, None, None, None)
    """
    if id and "://" in id:
        id, url = None, url or id  # noqa: A001
    id, title = _given(id), _given(title)  # noqa: A001
    names = tuple(name for name in (url, id, title) if name and len(name) <= _LONGEST)
    address = web_address(url) if url else None
    known = _spdx(names)
    return License(id=known or id, uri=address, title=title) if known or id or address or title else None


def _given(name: str | None) -> str | None:
    return name if name and _key(name[:_LONGEST]) not in _NOTHING else None


@lru_cache(maxsize=1024)
def _spdx(names: tuple[str, ...]) -> str | None:
    for name in names:
        if found := _exact(name):
            return found
    if any(_VERSION.search(name) for name in names):
        return None
    return next(filter(None, map(_customary, names)), None)


def _exact(name: str) -> str | None:
    if "://" in name:
        return _known(_by_address(name, _ADDRESSES))
    key = _key(name)
    titled = _creative_commons(key)
    return _known(key) or (_known(titled) if titled and _VERSION.search(titled) else None)


def _customary(name: str) -> str | None:
    key = _by_address(name, _CUSTOMARY_ADDRESSES) if "://" in name else _key(name)
    key = _creative_commons(key) or key
    return _CUSTOMARY.get(key) or _known(key)


def _known(key: str) -> str | None:
    return _EXACT.get(key) or _identifiers().get(key)


def _by_address(address: str, addresses: list[tuple[re.Pattern[str], str]]) -> str:
    bare = address.strip().lower().partition("://")[2].removeprefix("www.")
    for pattern, prefix in addresses:
        if found := pattern.search(bare):
            return _authority("-".join(filter(None, (prefix, *found.groups()))))
    return ""


def _authority(name: str) -> str:
    """The EU writes ``CC_BYNCSA_4_0``."""
    key = _key(name)
    return re.sub(r"^cc-by(nc)?(nd|sa)?-", lambda part: "-".join(filter(None, ("cc-by", *part.groups()))) + "-", key)


def _creative_commons(key: str) -> str:
    """``creative-commons-attribution-share-alike-4.0-international`` is ``cc-by-sa-4.0``."""
    found = _CREATIVE_COMMONS.fullmatch(key)
    if not found:
        return ""
    commercial, derived, igo, version, also_igo = found.groups()
    rest = "" if not derived else "sa" if "share" in derived else "nd"
    return "-".join(filter(None, ("cc-by", commercial and "nc", rest, version, (igo or also_igo) and "igo")))


@lru_cache(maxsize=1024)
def _key(name: str) -> str:
    """Lower case, hyphens for what is between words, nothing in brackets, ``4.0`` for ``4-0`` and ``version 4.0``.

    >>> _key("Creative Commons Attribution Share-Alike (CC BY-SA)"), _key("DL-DE/BY-2-0"), _key("UK Licence v2.0")
    ('creative-commons-attribution-share-alike', 'dl-de-by-2.0', 'uk-license-2.0')
    """
    bare = re.sub(r"\([^()]*\)", " ", name.lower()).replace("licence", "license")
    bare = re.sub(r"[^\w.+]+|_", " ", bare).strip(" .")
    bare = re.sub(r"\b(?:version |v\.? ?)(?=[0-9])", "", bare)
    return re.sub(r"(?<![0-9.])([0-9]) ([0-9])(?![0-9.])", r"\1.\2", bare).replace(" ", "-")


@cache
def _identifiers() -> dict[str, str]:
    """SPDX's list, with the identifiers it has withdrawn; ScanCode's own are left out."""
    symbols = get_spdx_licensing().known_symbols.values()
    names = (
        (name, symbol.key) for symbol in symbols if not symbol.is_exception for name in (*symbol.aliases, symbol.key)
    )
    return {
        _key(name): key for name, key in names if not key.startswith("LicenseRef") and not name.startswith("LicenseRef")
    }
