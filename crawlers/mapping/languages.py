"""Languages into BCP 47 tags."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

import langcodes
from langcodes.tag_parser import LanguageTagError

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST = 100
_NO_LANGUAGE = {"und", "mul", "zxx", "mis"}
_NAMES = """
ar arabic العربية|bg bulgarian български|bn bengali বাংলা|bs bosnian bosanski|ca catalan català
cs czech čeština česky|cy welsh cymraeg|da danish dansk|de german deutsch|el greek ελληνικά
en english englisch anglais inglés inglese|es spanish español castellano|et estonian eesti
eu basque euskara|fa persian farsi فارسی|fi finnish suomi|fr french français francais
ga irish gaeilge|gl galician galego|he hebrew עברית|hi hindi हिन्दी|hr croatian hrvatski
hu hungarian magyar|hy armenian հայերեն|id indonesian|is icelandic íslenska|it italian italiano
ja japanese 日本語|ka georgian ქართული|ko korean 한국어|lb luxembourgish lëtzebuergesch
lt lithuanian lietuvių|lv latvian latviešu|mk macedonian македонски|ms malay melayu|mt maltese malti
nb bokmål|ne nepali नेपाली|nl dutch nederlands flemish|nn nynorsk|no norwegian norsk|pl polish polski
ps pashto پښتو|pt portuguese português portugues|rm romansh rumantsch|ro romanian română|ru russian русский
sk slovak slovenčina|sl slovenian slovene slovenščina|so somali|sq albanian shqip|sr serbian srpski српски
sv swedish svenska|sw swahili kiswahili|th thai ไทย|tr turkish türkçe|uk ukrainian українська
ur urdu اردو|vi vietnamese|zh chinese 中文
"""
_BY_NAME = {
    name: tag for tag, *names in (entry.split() for entry in re.split(r"[|\n]", _NAMES) if entry) for name in names
}


def languages(texts: Iterable[str]) -> list[str]:
    """Tags without repetitions; a text may name several.

    >>> languages(["http://publications.europa.eu/resource/authority/language/FRA", "eng, fr_FR", "Klingonese"])
    ['fr', 'en', 'fr-FR']
    """
    parts = (part for text in texts for part in re.split(r"[,;|]", text))
    return list(dict.fromkeys(filter(None, map(language, parts))))


def language(text: str) -> str | None:
    """From a BCP 47 tag, an ISO 639 code, a POSIX locale, a vocabulary's URI, or a name in English or its own tongue.

    >>> [language(text) for text in ("ger", "pt_BR.UTF-8", "English", "Français (fr)", "und", "x", "Deutsch")]
    ['de', 'pt-BR', 'en', 'fr', None, None, 'de']
    """
    return _language(text) if len(text) <= _LONGEST else None


@lru_cache(maxsize=512)
def _language(text: str) -> str | None:
    name = re.split(r"[/#]", text.strip().rstrip("/"))[-1].partition("(")[0].strip()
    return _BY_NAME.get(name.lower()) or _tag(re.split(r"[.@]", name)[0])


def _tag(code: str) -> str | None:
    try:
        tag = langcodes.standardize_tag(code)
    except LanguageTagError:
        return None
    return tag if tag not in _NO_LANGUAGE and langcodes.tag_is_valid(tag) else None
