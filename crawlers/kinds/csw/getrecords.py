"""GetRecords requests: a body for POST, parameters for GET."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qsl, quote_plus, urlencode, urlsplit
from xml.sax.saxutils import escape, quoteattr

_SPACES = {
    "csw": {"2.0.2": "http://www.opengis.net/cat/csw/2.0.2", "3.0.0": "http://www.opengis.net/cat/csw/3.0"},
    "filter": {"2.0.2": "http://www.opengis.net/ogc", "3.0.0": "http://www.opengis.net/fes/2.0"},
}
_FIXED = {
    "apiso": "http://www.opengis.net/cat/csw/apiso/1.0",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dct": "http://purl.org/dc/terms/",
}
_OWN = frozenset(
    (
        *("service", "request", "version", "acceptversions", "typenames", "elementsetname", "resulttype", "id"),
        *("outputschema", "outputformat", "startposition", "maxrecords", "constraint", "constraintlanguage"),
        *("constraint_language_version", "sortby", "namespace"),
    )
)
"""The parameters of CSW itself."""


_SAFE = "/:,()"  # in values


class Query(NamedTuple):
    """What a GetRecords request says.

    Args:
        version: of CSW.
        schema: the output schema.
        type: the type of record.
        start: the position of the first record, from 1.
        rows: how many records at most.
        sort: the property that orders them; empty if nothing does.
        modified: the property that the next two are about.
        since: only what was modified then or later; empty for all.
        until: only what was modified before; empty for all.
        is_undated: only what has no date of modification.
    """

    version: str
    schema: str
    type: str
    start: int
    rows: int
    sort: str = ""
    modified: str = ""
    since: str = ""
    until: str = ""
    is_undated: bool = False

    @property
    def comparisons(self) -> list[tuple[str, str, str]]:
        """The filter: the element's name, the operator in CQL and the value of each comparison."""
        both = ("PropertyIsGreaterThanOrEqualTo", ">=", self.since), ("PropertyIsLessThan", "<", self.until)
        return [one for one in both if one[2]]


def body(query: Query) -> bytes:
    """Return the request as XML."""
    spaces = _FIXED | {prefix: uris[query.version] for prefix, uris in _SPACES.items()} | _type_space(query)
    declared = " ".join(f"xmlns:{prefix}={quoteattr(uri)}" for prefix, uri in spaces.items())
    result = ' resultType="results"' if query.version == "2.0.2" else ""
    text = (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<csw:GetRecords {declared} service="CSW" version="{query.version}"'
        f'{result} outputFormat="application/xml" outputSchema={quoteattr(query.schema)}'
        f' startPosition="{query.start}" maxRecords="{query.rows}"><csw:Query typeNames="{query.type}">'
        f"<csw:ElementSetName>full</csw:ElementSetName>{_constraint(query)}{_order(query)}</csw:Query></csw:GetRecords>"
    )
    return text.encode()


def _type_space(query: Query) -> dict[str, str]:
    """Return the namespace of the type's prefix, by prefix: that of an ISO type is the output schema itself."""
    prefix = query.type.partition(":")[0]
    return {prefix: _SPACES["csw"][query.version] if prefix == "csw" else query.schema}


def _named(query: Query, name: str) -> str:
    element = "PropertyName" if query.version == "2.0.2" else "ValueReference"
    return f"<filter:{element}>{escape(name)}</filter:{element}>"


def _constraint(query: Query) -> str:
    named = _named(query, query.modified)
    undated = [f"<filter:PropertyIsNull>{named}</filter:PropertyIsNull>"] if query.is_undated else []
    compared = undated or [
        f"<filter:{name}>{named}<filter:Literal>{escape(value)}</filter:Literal></filter:{name}>"
        for name, _, value in query.comparisons
    ]
    if not compared:
        return ""
    both = f"<filter:And>{''.join(compared)}</filter:And>" if len(compared) > 1 else compared[0]
    return f'<csw:Constraint version="1.1.0"><filter:Filter>{both}</filter:Filter></csw:Constraint>'


def _order(query: Query) -> str:
    if not query.sort:
        return ""
    name = f"{_named(query, query.sort)}<filter:SortOrder>ASC</filter:SortOrder>"
    return f"<filter:SortBy><filter:SortProperty>{name}</filter:SortProperty></filter:SortBy>"


def address(endpoint: str, query: Query) -> str:
    """Return the address of the request by GET."""
    prefix, space = next(iter(_type_space(query).items()))
    parameters = {
        "service": "CSW",
        "version": query.version,
        "request": "GetRecords",
        "typeNames": query.type,
        **({"resultType": "results"} if query.version == "2.0.2" else {}),
        "namespace": f"xmlns({prefix}={space})",
        "outputSchema": query.schema,
        "elementSetName": "full",
        "outputFormat": "application/xml",
        "startPosition": str(query.start),
        "maxRecords": str(query.rows),
    }
    if query.comparisons or query.is_undated:
        compared = [f"{query.modified} {operator} '{value}'" for _, operator, value in query.comparisons]
        constraint = f"{query.modified} IS NULL" if query.is_undated else " AND ".join(compared)
        parameters |= {"constraintLanguage": "CQL_TEXT", "constraint_language_version": "1.1.0"}
        parameters |= {"constraint": constraint}
    return with_parameters(endpoint, parameters | ({"sortBy": f"{query.sort}:A"} if query.sort else {}))


def record_address(endpoint: str, version: str, schema: str, identifier: str | None) -> str:
    """Return the address of one record (GetRecordById); the server's with the schema if the record's id is unknown."""
    if identifier is None:
        return with_parameters(endpoint, {"outputSchema": schema})
    before, behind = _around(endpoint, version, schema)
    return before + quote_plus(identifier, _SAFE) + behind


@lru_cache(maxsize=16)
def _around(endpoint: str, version: str, schema: str) -> tuple[str, str]:
    """Return what precedes and what follows the id in the addresses of all records."""
    before = with_parameters(endpoint, {"service": "CSW", "version": version, "request": "GetRecordById", "id": ""})
    return before, "&" + urlencode({"outputSchema": schema, "elementSetName": "full"}, safe=_SAFE)


def capabilities_address(endpoint: str) -> str:
    """Return the address of the capabilities; the server chooses the first version that it has."""
    named = {"service": "CSW", "request": "GetCapabilities", "acceptVersions": "2.0.2,3.0.0"}
    return with_parameters(endpoint, named)


def endpoint(url: str) -> str:
    """Return an address without what only one request says; a server's own parameters stay.

    >>> endpoint("https://example.org/csw.py?config=a.yml&Service=CSW&REQUEST=GetCapabilities")
    'https://example.org/csw.py?config=a.yml'
    """
    parts = urlsplit(url)
    kept = [one for one in parse_qsl(parts.query, keep_blank_values=True) if one[0].lower() not in _OWN]
    return parts._replace(query=urlencode(kept, safe="/:,")).geturl()


def schema_of(url: str) -> str | None:
    return dict(parse_qsl(urlsplit(url).query)).get("outputSchema")


def with_parameters(endpoint: str, parameters: dict[str, str]) -> str:
    return f"{endpoint}{'&' if urlsplit(endpoint).query else '?'}{urlencode(parameters, safe=_SAFE)}"
