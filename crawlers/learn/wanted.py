"""What a user has seen of one field, and whether a rule gives it."""

from __future__ import annotations

from dataclasses import dataclass

from crawlers.learn.dated import same_date
from crawlers.learn.texts import SEPARATORS, lists, normal, same, same_list, split
from crawlers.rules.rules import MANY

DATES = ("issued", "modified", "resource.issued", "resource.modified")
EMAILS = ("publisher_email", "contact_email")
_LONG = 40  # characters of a text that may be the beginning of a longer one


@dataclass(frozen=True, slots=True)
class Wanted:
    """
    Args:
        name: the field's.
        values: as typed.
        label: the text beside the value, if the user named it.
        language: the page's.
    """

    name: str
    values: tuple[str, ...]
    label: str | None = None
    language: str | None = None

    @property
    def is_list(self) -> bool:
        return self.name in MANY or len(self.values) > 1

    @property
    def seen(self) -> str:
        """The first of the values, "" where only a label was given."""
        return self.values[0] if self.values else ""

    @property
    def is_date(self) -> bool:
        return self.name in DATES

    @property
    def options(self) -> list[list[str]]:
        """The lists that the values may be; keywords in one text are several."""
        every = lists(list(self.values))
        return every[1:] or every if self.name == "keywords" else every

    def gives(self, found: list[str]) -> float:
        """How well a rule gives what was seen: 1, less for a part of it, 0 for something else."""
        if not self.values:
            return 1.0 if found else 0.0
        if not found:
            return 0.0
        return self._list(found) if self.is_list else self._single(found[0])

    def _list(self, found: list[str]) -> float:
        if any(same_list(found, option) for option in self.options):
            return 1.0
        given, seen = set(map(normal, found)), {normal(one) for one in self.values}
        shortest = max(map(len, found)) <= 3 * max(map(len, self.values)) + 20  # one keyword seen of several
        return 0.7 if self.name == "keywords" and seen < given and len(self.values) == 1 and shortest else 0.0

    def _single(self, found: str) -> float:
        wanted = self.values[0]
        if same(found, wanted):
            return 1.0
        if self.is_date and same_date(found, wanted, self.language):
            return 1.0
        aim = normal(wanted.rstrip("….").rstrip())
        return 0.9 if len(aim) >= _LONG and normal(found).startswith(aim) else 0.0

    def separators(self, found: list[str]) -> list[str]:
        """What a text that has the whole list may be split at."""
        if not self.is_list or len(found) != 1:
            return []
        return [one for one in SEPARATORS if one in found[0] and self.gives(split(found[0], one)) == 1.0]
