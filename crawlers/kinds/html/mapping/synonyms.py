"""What portals call the fields of a dataset, by language: the words that stand beside the values on their pages.

A word belongs to one field, except where portals use it for two; `label_similarity` never takes a word
of another field for a misspelling of this one.
"""

from __future__ import annotations

from functools import cache

from crawlers.kinds.html.mapping.normalise import key
from crawlers.records.tables import toml_table


@cache
def words() -> dict[str, dict[str, list[str]]]:
    """Return the words of each field by language, as the file has them."""
    return toml_table(__package__, "synonyms.toml")


@cache
def synonyms(field: str) -> frozenset[str]:
    """Return the keys of a field's words; none where the field is not known.

    >>> "lizenz" in synonyms("license"), synonyms("colour")
    (True, frozenset())
    """
    listed = (word for by_field in words().values() for word in by_field.get(field, ()))
    return frozenset(filter(None, map(key, listed)))


@cache
def fields() -> dict[str, tuple[str, ...]]:
    """Return the fields that each word's key may stand for.

    >>> fields()["licencia"], fields()["email"]
    (('license',), ('contact_email',))
    """
    found: dict[str, tuple[str, ...]] = {}
    for field in words()["en"]:
        for word in synonyms(field):
            found[word] = (*found.get(word, ()), field)
    return found
