"""The output schemas that are read: which a server offers, and what a request for each says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from crawlers.records.tables import toml_table

if TYPE_CHECKING:
    from collections.abc import Collection


class Schema(NamedTuple):
    """An output schema.

    Args:
        name: what ``-a schema=`` calls it.
        uri: what CSW calls it.
        type: the type of record that goes with it, with the prefix of `crawlers.kinds.csw.getrecords`.
        roots: the elements that its records are.
        version: the only version of CSW that has it; empty if both do.
    """

    name: str
    uri: str
    type: str
    roots: frozenset[str]
    version: str = ""

    @property
    def is_dublin_core(self) -> bool:
        return bool(self.version)

    @property
    def is_rdf(self) -> bool:
        """Whether a dataset's id is that of its RDF, which is not the record's."""
        return any(root.endswith("#}RDF") for root in self.roots)


SCHEMAS = tuple(
    Schema(**{**table, "roots": frozenset(table["roots"])})
    for table in toml_table("crawlers.kinds.csw", "schemas.toml")["schema"]
)
"""All of them, the richest first."""
_BY_URI = {schema.uri: schema for schema in SCHEMAS}
NAMES = tuple(dict.fromkeys(schema.name for schema in SCHEMAS))


def by_uri(uri: str) -> Schema:
    """Return the schema that CSW calls so.

    Raises:
        KeyError: it is not read here.
    """
    return _BY_URI[uri]


def is_known(uri: str) -> bool:
    return uri in _BY_URI


def name(text: str) -> str:
    """Return the name of a schema, given that or what CSW calls it.

    >>> name("iso19139"), name("http://www.isotc211.org/2005/gmd")
    ('iso19139', 'iso19139')
    """
    found = _BY_URI[text].name if text in _BY_URI else text
    if found not in NAMES:
        raise ValueError("one of " + ", ".join(NAMES))
    return found


def candidates(version: str, offered: Collection[str] = (), chosen: str | None = None) -> tuple[str, ...]:
    """Return the schemas to request, the richest first.

    Args:
        version: of CSW.
        offered: what the capabilities name; all schemas are tried if they name none that is read here.
        chosen: the name of the only one that is wanted.
    """
    fitting = [one.uri for one in SCHEMAS if one.version in ("", version) and chosen in (None, one.name)]
    return tuple(uri for uri in fitting if uri in offered) or tuple(fitting)


def dublin_core(version: str) -> str:
    """Return the schema of Dublin Core, which every server has."""
    return next(one.uri for one in SCHEMAS if one.version == version)


def in_version(uri: str, version: str) -> str:
    """Return what another version of CSW calls a schema."""
    return dublin_core(version) if by_uri(uri).version not in ("", version) else uri


def is_given(uri: str, elements: Collection[Any]) -> bool:
    """Return whether some of these records are in a schema."""
    return any(element.tag in _BY_URI[uri].roots for element in elements)
