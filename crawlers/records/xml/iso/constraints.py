"""The terms of a record: licence, access rights, other rights."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from crawlers.items import License
from crawlers.records.licenses import license as license_of
from crawlers.records.licenses import stated
from crawlers.records.linked import ADDRESS

if TYPE_CHECKING:
    from crawlers.items import Dataset
    from crawlers.records.xml.iso.part import Part

_NO_LICENSE = "noConditionsApply", "conditionsUnknown"
_LONGEST_TITLE = 300
_NAME = re.compile(
    r"li[cs]en[cçsțţt]|lizen[zc]|лиценз|ліценз|creative ?commons|etalab|\bcc[ -]?(?:by|0|zero)\b|\bogl\b|\bdl-de\b"
    r"|\bodbl\b|public domain|domaine public|open ?data ?commons",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"\b(?:not|no|never|without|cannot|nicht|keine?[mnrs]?|ohne|non|pas|sans|aucune?|sin|senza|nessuna?|geen|niet|zonder"
    r"|não|sem|nie|bez|inte|ikke|ej|ei|не|без)\b(?!-)|n['\u2019]t\b",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r"[.,:;!?\n](?:\s|$)")


class Statement(NamedTuple):
    text: str | None
    address: str | None

    @property
    def written(self) -> str:
        return self.text or self.address or ""

    def is_code(self, *codes: str) -> bool:
        """Return whether it is one of the codes, by its address or as its text."""
        last = (self.address or self.text or "").rstrip("/").rpartition("/")[2]
        return last in codes


def describe(item: Dataset, identification: Part) -> None:
    """Set the licence, the access rights and the other rights.

    `otherConstraints` beside `useConstraints` are the licence, whatever they say; a `useLimitation` is one if SPDX
    knows it, or it names a licence and has an address. INSPIRE's "no conditions apply" is not a licence.
    """
    used, access, limits = _statements(identification)
    found = [(each, named) for each in used if (named := _license(each))]
    found += [(each, named) for each in limits if (named := _license(each)) and _is_named(each, named)]
    chosen, item.license = min(found, key=_order, default=(None, None))
    item.access_rights = _access(access)
    rest = [each.written for each in (*limits, *used) if each is not chosen and license_of(None, None, each.written)]
    item.rights = "\n\n".join(dict.fromkeys((*rest, *_classifications(identification)))) or None


def _statements(identification: Part) -> tuple[list[Statement], list[Statement], list[Statement]]:
    """Return the statements about use, about access, and about limits."""
    used: list[Statement] = []
    access: list[Statement] = []
    limits: list[Statement] = []
    for each in identification.parts("constraints"):
        limits += [Statement(*found) for found in each.values("limitation")]
        others = [Statement(*found) for found in each.values("other")]
        is_about_use = bool(each.find("use")) or not each.find("access")
        for other in others:
            is_about_access = "LimitationsOnPublicAccess" in (other.address or "") or not is_about_use
            (access if is_about_access else used).append(other)
        used += [Statement(title, each.text("reference_url")) for title in each.texts("reference")]
    return used, access, limits


def _license(statement: Statement) -> License | None:
    text, address = statement
    if statement.is_code(*_NO_LICENSE):
        return None
    if not address and text and (found := ADDRESS.search(text)):
        if _is_denied(text, found.start()):
            return License(title=text) if len(text) <= _LONGEST_TITLE else License(text=text)
        address = found[0]
    return stated(text or address or "", address, _LONGEST_TITLE)


def _is_named(statement: Statement, license_: License) -> bool:
    """Return whether a limitation is a licence: one that SPDX knows, or one that its words name beside an address."""
    if license_.id or not license_.uri:
        return license_.id is not None
    found = _NAME.search(statement.text or "")
    if found:
        return not _is_denied(statement.text or "", found.start())
    return _NAME.search(license_.uri) is not None


def _is_denied(text: str, at: int) -> bool:
    """Return whether a negation precedes a place of a text, in the same clause.

    >>> _is_denied("This is NOT under CC BY", 18), _is_denied("Not for navigation. CC BY", 20)
    (True, False)
    """
    return _NOT.search(_CLAUSE_END.split(text[max(at - 200, 0) : at])[-1]) is not None


def _order(found: tuple[Statement, License]) -> tuple[bool, bool]:
    """Return a key: what SPDX knows precedes an address, and that precedes words."""
    return not found[1].id, not found[1].uri


def _access(statements: list[Statement]) -> str | None:
    if any(each.is_code("noLimitations") for each in statements):
        return "PUBLIC"
    return "\n\n".join(dict.fromkeys(each.written for each in statements)) or None


def _classifications(identification: Part) -> list[str]:
    found = (each.text("classification") for each in identification.parts("constraints"))
    return [code for code in found if code and code != "unclassified"]
