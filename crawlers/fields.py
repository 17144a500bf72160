"""What there is to know of a field of an item, said once, where the field is declared: see `crawlers.items`.

The index, the search, the JSON API, pages, exports, declarations, rules and readers of records are made of these specs,
by the kind of each field; docs/architecture.md shows how a field is added.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Vocabulary = Literal["rdf", "data_json", "schema_org", "ckan"]
VOCABULARIES: tuple[Vocabulary, ...] = ("rdf", "data_json", "schema_org", "ckan")
LISTS = frozenset(("addresses", "references", "labels", "languages", "agents", "places", "relations", "services"))
"""The kinds whose fields are lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What there is to know of one field.

    Args:
        kind: what its values are: text, markdown, moment ...; each consumer has one way for each kind.
        says: what it is, as a sentence.
        label: what pages call it; by default its name.
        one: what one of several is called, in columns and in rules: ``contact`` of ``contacts``.
        rdf: the properties that say it in RDF, the first preferred, and written by exports.
        data_json: the same for a data.json, by Project Open Data and DCAT-US.
        schema_org: the same for a page's Dataset of schema.org.
        ckan: the fields of a package or a resource of CKAN, and of its usual extensions.
        found: whether a search finds its words among the `details` of a dataset.
        facet: what a search calls its values as a filter, of which it counts the datasets: ``keyword`` of ``keywords``.
        brief: whether the index cuts it to the length of a name, though it is Markdown.
        without: why a vocabulary, ``html`` or the ``index`` lacks it, as a clause.
    """

    kind: str
    says: str
    label: str = ""
    one: str = ""
    rdf: tuple[str, ...] = ()
    data_json: tuple[str, ...] = ()
    schema_org: tuple[str, ...] = ()
    ckan: tuple[str, ...] = ()
    found: bool = False
    facet: str = ""
    brief: bool = False
    without: Mapping[str, str] = field(default_factory=dict)

    def names(self, vocabulary: Vocabulary) -> tuple[str, ...]:
        """Return what the field is called in a vocabulary, the preferred name first."""
        return getattr(self, vocabulary)  # type: ignore[no-any-return]

    def title(self, name: str) -> str:
        """Return what pages call the field of that name."""
        return self.label or name.replace("_", " ").capitalize()


REQUIRED: Any = MISSING
"""The default of a field without which there is no item."""


def spec(kind: str, says: str, *, default: Any = None, **facts: Any) -> Any:
    """Declare a field of an item.

    Args:
        default: what it is unless something gives it; a list is empty then.
        facts: the other facts of `Spec`; the names of a vocabulary are one text, with blanks between them.
    """
    return _declared(Spec(kind=kind, says=says, **_split(facts)), default)


def as_of(item: type, name: str, **facts: Any) -> Any:
    """Declare a field that another item has, too.

    Args:
        facts: those that differ, as of `spec`.
    """
    return _declared(replace(specs(item)[name], **_split(facts)))


def _declared(found: Spec, default: Any = None) -> Any:
    empty: dict[str, Any] = {"default_factory": list} if found.kind in LISTS else {"default": default}
    return field(metadata={"spec": found}, **empty)


def _split(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(fact.split()) if name in VOCABULARIES else fact for name, fact in facts.items()}


@cache
def specs(item: type) -> Mapping[str, Spec]:
    """Return the specs of the fields of an item's class, by name: those that a publisher may say."""
    found = {each.name: each.metadata["spec"] for each in fields(item) if "spec" in each.metadata}
    return MappingProxyType(found)


_OBJECTS = {
    "agent": "an [Agent](#agent)",
    "agents": "[Agents](#agent)",
    "places": "[Places](#place)",
    "period": "a [Period](#period)",
    "license": "a [License](#license)",
    "relations": "[Relations](#relation)",
    "services": "[Services](#service)",
    "checksum": "a [Checksum](#checksum)",
}


def table(item: type) -> str:
    """Return the table that docs/items.md has of an item's fields: what each is, and where CKAN says it."""
    lines = ["| Field | Meaning | CKAN |", "|---|---|---|"]
    for name, spec in specs(item).items():
        kind = _OBJECTS.get(spec.kind) or ("a list" if spec.kind in LISTS else "")
        meaning = f"{spec.says} {kind[:1].upper()}{kind[1:]}." if kind else spec.says
        lines.append(f"| `{name}` | {meaning} | {', '.join(f'`{each}`' for each in spec.ckan) or '–'} |")
    return "\n".join(lines)
