"""Names of months, of Unicode's CLDR."""

from __future__ import annotations

from functools import cache

from babel import Locale, UnknownLocaleError

from crawlers.kinds.html.mapping.normalise import key

LANGUAGES = (
    *("ar", "bg", "bs", "ca", "cs", "cy", "da", "de", "el", "en", "es", "et", "eu", "fi", "fo", "fr", "fy", "ga", "gl"),
    *("hr", "hu", "is", "it", "ka", "lb", "lt", "lv", "mk", "mt", "nb", "nl", "nn", "pl", "pt", "rm", "ro", "ru", "sk"),
    *("sl", "sq", "sr", "sr_Latn", "sv", "th", "tr", "uk"),
)
_SHORTEST = 3
_SHORTEST_STEM = 5


@cache
def of_language(language: str) -> dict[str, int]:
    """Return the number, 1 to 12, of each name's and abbreviation's key.

    >>> of_language("de")["marz"], of_language("xx")
    (3, {})
    """
    try:
        months = Locale.parse(language.replace("-", "_").split("@")[0]).months
    except (UnknownLocaleError, ValueError):
        return {}
    found: dict[str, int] = {}
    for form in ("format", "stand-alone"):
        for width in ("abbreviated", "wide"):
            found |= {key(name): number for number, name in months[form][width].items()}
    return {name: number for name, number in found.items() if len(name) >= _SHORTEST and not name.isdigit()}


@cache
def _everywhere() -> dict[str, int]:
    """Return the names of all languages, without those of different months: listopad, srpen."""
    found: dict[str, set[int]] = {}
    for language in LANGUAGES:
        for name, number in of_language(language).items():
            found.setdefault(name, set()).add(number)
    return {name: min(numbers) for name, numbers in found.items() if len(numbers) == 1}


def month(word: str, language: str | None) -> int | None:
    """
    Args:
        word: its key.
        language: the one tried first, before all others.

    >>> month("marz", None), month("listopad", "hr"), month("listopad", "pl"), month("listopad", None)
    (3, 10, 11, None)
    >>> month("martxoaren", "eu"), month("version", "de")
    (3, None)
    """
    own = of_language(language[:35]) if language else {}
    return own.get(word) or _begun(word, own) or _everywhere().get(word)


def _begun(word: str, names: dict[str, int]) -> int | None:
    """Return the month of a declined name, as in Basque."""
    found = {number for name, number in names.items() if len(name) >= _SHORTEST_STEM and word.startswith(name)}
    return found.pop() if len(found) == 1 else None
