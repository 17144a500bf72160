"""Licences into SPDX identifiers, by address, identifier or title."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from license_expression import get_spdx_licensing  # type: ignore[import-untyped]

from crawlers.items import License
from crawlers.records.tables import csv_rows, toml_table
from crawlers.records.values import url as web_address

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_LONGEST = 300
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

_CREATIVE = re.compile(
    "creative-commons?|クリエイティブ-?コモンズ|크리에이티브-커먼즈|知识共享|創用-?cc|المشاع-الإبداعي"
)
_ENGLISH = {
    "license": "",
    "international": "",
    "attribution": "attribution",
    "noncommercial": "noncommercial",
    "sharealike": "sharealike",
    "noderivatives": "noderivatives",
}


def license(id: str | None, url: str | None = None, title: str | None = None) -> License | None:  # noqa: A001, A002
    """Return the licence by its SPDX identifier if one of its three names is known, else as the source gives it.

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


def stated(text: str, address: str | None, longest: int = 200) -> License | None:
    """Return the licence of a statement that may be an address, a name, or the whole text of a licence.

    Args:
        address: what the statement links to. It tells more than the words; a likeness of words tells nothing.
        longest: a longer statement is the licence's text, not its title.
    """
    found = license(None, address, None if address == text else text)
    if found and found.title and len(text) > longest:
        found.title, found.text = None, text
    return found


def agreed(licenses: Iterable[License | None]) -> License | None:
    """Return the licence of the distributions that have one, if it is the same.

    >>> agreed([License(id="CC0-1.0"), None]), agreed([License(id="CC0-1.0"), License(id="CC-BY-4.0")])
    (License(id='CC0-1.0', uri=None, title=None, text=None), None)
    """
    found = {each.id or (each.uri, each.title, each.text): each for each in licenses if each}
    return next(iter(found.values())) if len(found) == 1 else None


def says_nothing(text: str, languages: Collection[str] | None = None) -> bool:
    """Return whether a text is what portals write where nothing is given.

    Args:
        languages: those in which a single word may say so, which is a name in another; ``None`` for all.

    >>> says_nothing("Keine Angabe"), says_nothing("неуточнен"), says_nothing("2019")
    (True, True, False)
    >>> [says_nothing(each, ("en",)) for each in ("keine Angabe", "k.A.", "None", "NEMA", "-")]
    [True, True, True, False, True]
    """
    key = _key(text[:_LONGEST])
    said = _no_license().get(key)
    is_word = "-" not in key and "." not in key
    return said is not None and not (is_word and languages is not None and key and said.isdisjoint(languages))


def _given(name: str | None) -> str | None:
    return None if not name or says_nothing(name) else name


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
    return _names("assumed").get(key) or _known(key)


def _known(key: str) -> str | None:
    return _names("stated").get(key) or _identifiers().get(key)


def _by_address(address: str, addresses: list[tuple[re.Pattern[str], str]]) -> str:
    bare = address.strip().lower().partition("://")[2].removeprefix("www.")
    for pattern, prefix in addresses:
        if found := pattern.search(bare):
            return _authority("-".join(filter(None, (prefix, *found.groups()))))
    return ""


def _authority(name: str) -> str:
    """Return the key of a name as the EU writes it: ``CC_BYNCSA_4_0``."""
    key = _key(name)
    return re.sub(r"^cc-by(nc)?(nd|sa)?-", lambda part: "-".join(filter(None, ("cc-by", *part.groups()))) + "-", key)


def _creative_commons(key: str) -> str:
    """Return ``cc-by-sa-4.0`` for ``creative-commons-attribution-share-alike-4.0-international``, in any language.

    >>> _creative_commons(_key("Creative Commons Namensnennung - Nicht kommerziell 4.0 International"))
    'cc-by-nc-4.0'
    >>> _creative_commons(_key("Licencia Creative Commons Reconocimiento-CompartirIgual 3.0 Internacional"))
    'cc-by-sa-3.0'
    >>> _creative_commons(_key("クリエイティブ・コモンズ 表示 4.0 国際")), _creative_commons(_key("表示 4.0"))
    ('cc-by-4.0', '')
    """
    found = _CREATIVE_COMMONS.fullmatch(_in_english(key))
    if not found:
        return ""
    commercial, derived, igo, version, also_igo = found.groups()
    rest = "" if not derived else "sa" if "share" in derived else "nd"
    return "-".join(filter(None, ("cc-by", commercial and "nc", rest, version, (igo or also_igo) and "igo")))


def _in_english(key: str) -> str:
    """Return the key of a Creative Commons licence in English."""
    if not _CREATIVE.search(key):
        return key
    pattern, english = _licence_words()
    said = pattern.sub(lambda found: english[found[0]], _CREATIVE.sub("", key))
    return "-".join(["creative-commons", *filter(None, said.split("-"))])


@cache
def _licence_words() -> tuple[re.Pattern[str], dict[str, str]]:
    """Return what finds a word of a licence's name in any language, and what it is in English."""
    languages = toml_table(__package__, "license_words.toml").values()
    english = {_key(word): _ENGLISH[part] for each in languages for part in each for word in each[part]}
    longest = "|".join(map(re.escape, sorted(english, key=len, reverse=True)))
    return re.compile(rf"(?<!\w)(?:{longest})(?!\w)"), english


@lru_cache(maxsize=1024)
def _key(name: str) -> str:
    """Return lower case, hyphens between words, nothing in brackets, ``4.0`` for ``4-0`` and ``version 4.0``.

    >>> _key("Creative Commons Attribution Share-Alike (CC BY-SA)"), _key("DL-DE/BY-2-0"), _key("UK Licence v2.0")
    ('creative-commons-attribution-share-alike', 'dl-de-by-2.0', 'uk-license-2.0')
    """
    bare = re.sub(r"\([^()]*\)", " ", name.lower()).replace("licence", "license")
    bare = re.sub(r"[^\w.+]+|_", " ", bare).strip(" .")
    bare = re.sub(r"\b(?:version |v\.? ?)(?=[0-9])", "", bare)
    return re.sub(r"(?<![0-9.])([0-9]) ([0-9])(?![0-9.])", r"\1.\2", bare).replace(" ", "-")


@cache
def _names(version: str) -> dict[str, str]:
    """Return the SPDX identifiers of the names whose version is ``stated``, or ``assumed`` because they have none."""
    return {name: spdx for name, spdx, kind in csv_rows(__package__, "licenses.csv") if kind == version}


@cache
def _no_license() -> dict[str, set[str]]:
    """Return the keys of what portals write where no licence is given, with their languages."""
    found: dict[str, set[str]] = {"": set()}
    for language, table in toml_table(__package__, "no_license.toml").items():
        for text in table["texts"]:
            found.setdefault(_key(text), set()).add(language)
    return found


@cache
def _identifiers() -> dict[str, str]:
    """Return SPDX's list with the identifiers it has withdrawn, without ScanCode's own."""
    symbols = get_spdx_licensing().known_symbols.values()
    names = (
        (name, symbol.key) for symbol in symbols if not symbol.is_exception for name in (*symbol.aliases, symbol.key)
    )
    return {
        _key(name): key for name, key in names if not key.startswith("LicenseRef") and not name.startswith("LicenseRef")
    }


def is_of_spdx(identifier: str | None) -> bool:
    """Return whether SPDX's list of licences has an identifier.

    >>> is_of_spdx("CC-BY-4.0"), is_of_spdx("cc-by-4.0"), is_of_spdx("other-open")
    (True, False, False)
    """
    return identifier in _spdx_keys()


@cache
def _spdx_keys() -> frozenset[str]:
    return frozenset(_identifiers().values())
