"""Languages into BCP 47 tags."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from crawlers.records.tables import csv_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST = 100
_NO_LANGUAGE = {"und", "mul", "zxx", "mis"}


def languages(texts: Iterable[str]) -> list[str]:
    """Return the tags without repetitions; a text may name several.

    >>> languages(["http://publications.europa.eu/resource/authority/language/FRA", "eng, fr_FR", "Klingonese"])
    ['fr', 'en', 'fr-FR']
    """
    parts = (part for text in texts for part in re.split(r"[,;|]", text))
    return list(dict.fromkeys(filter(None, map(language, parts))))


def language(text: str) -> str | None:
    """Return the tag of a tag, an ISO 639 code, a POSIX locale, a vocabulary's URI, or a name in English or itself.

    >>> [language(text) for text in ("ger", "pt_BR.UTF-8", "English", "Français (fr)", "und", "x", "Deutsch")]
    ['de', 'pt-BR', 'en', 'fr', None, None, 'de']
    """
    return _language(text) if len(text) <= _LONGEST else None


@lru_cache(maxsize=512)
def _language(text: str) -> str | None:
    name = re.split(r"[/#]", text.strip().rstrip("/"))[-1].partition("(")[0].strip()
    return _tags().get(name.lower()) or _tag(re.split(r"[.@]", name)[0])


@cache
def _tags() -> dict[str, str]:
    """Return the tag of each name, in lower case."""
    return {name: tag for tag, names in csv_rows(__package__, "languages.csv") for name in names.split()}


def _tag(code: str) -> str | None:
    import langcodes  # noqa: PLC0415 -- takes 60 ms, and few catalogues name languages
    from langcodes.tag_parser import LanguageTagError  # noqa: PLC0415

    try:
        tag = langcodes.standardize_tag(code)
    except LanguageTagError:
        return None
    return tag if tag not in _NO_LANGUAGE and langcodes.tag_is_valid(tag) else None
