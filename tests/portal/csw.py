"""A catalogue service (CSW) on the loopback, of any number of synthetic records, with every trap of real ones."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from xml.sax.saxutils import escape

from lxml import etree

from tests.site import Answer

if TYPE_CHECKING:
    from tests.site import Asked

CSW = {"2.0.2": "http://www.opengis.net/cat/csw/2.0.2", "3.0.0": "http://www.opengis.net/cat/csw/3.0"}
ISO = "http://www.isotc211.org/2005/gmd"
ISO_3 = "http://standards.iso.org/iso/19115/-3/mdb/2.0"
DCAT = "http://www.w3.org/ns/dcat#"
GEODCAT = "http://data.europa.eu/930/"
OWS = {"2.0.2": "http://www.opengis.net/ows", "3.0.0": "http://www.opengis.net/ows/2.0"}
WINDOW = 10_000
"""What a server says that it has, when it has more than it gives."""
XML = {"Content-Type": "application/xml; charset=UTF-8"}

_ISO = """<gmd:MD_Metadata xmlns:gmd="http://www.isotc211.org/2005/gmd" xmlns:gco="http://www.isotc211.org/2005/gco">
<gmd:fileIdentifier><gco:CharacterString>{id}</gco:CharacterString></gmd:fileIdentifier>
<gmd:hierarchyLevel><gmd:MD_ScopeCode codeList="x" codeListValue="{level}"/></gmd:hierarchyLevel>
<gmd:dateStamp><gco:DateTime>{modified}</gco:DateTime></gmd:dateStamp>
<gmd:identificationInfo><gmd:MD_DataIdentification><gmd:citation><gmd:CI_Citation>
<gmd:title><gco:CharacterString>{title}</gco:CharacterString></gmd:title></gmd:CI_Citation></gmd:citation>
<gmd:abstract><gco:CharacterString>What it is: {title}.</gco:CharacterString></gmd:abstract>
</gmd:MD_DataIdentification></gmd:identificationInfo><gmd:distributionInfo><gmd:MD_Distribution><gmd:transferOptions>
<gmd:MD_DigitalTransferOptions><gmd:onLine><gmd:CI_OnlineResource><gmd:linkage>
<gmd:URL>https://example.org/{id}.csv</gmd:URL></gmd:linkage></gmd:CI_OnlineResource></gmd:onLine>
</gmd:MD_DigitalTransferOptions></gmd:transferOptions></gmd:MD_Distribution></gmd:distributionInfo>
</gmd:MD_Metadata>"""
_ISO_3 = """<mdb:MD_Metadata xmlns:mdb="http://standards.iso.org/iso/19115/-3/mdb/2.0"
 xmlns:mcc="http://standards.iso.org/iso/19115/-3/mcc/1.0" xmlns:mri="http://standards.iso.org/iso/19115/-3/mri/1.0"
 xmlns:cit="http://standards.iso.org/iso/19115/-3/cit/2.0" xmlns:gco="http://standards.iso.org/iso/19115/-3/gco/1.0">
<mdb:metadataIdentifier><mcc:MD_Identifier><mcc:code><gco:CharacterString>{id}</gco:CharacterString></mcc:code>
</mcc:MD_Identifier></mdb:metadataIdentifier>
<mdb:metadataScope><mdb:MD_MetadataScope><mdb:resourceScope><mcc:MD_ScopeCode codeListValue="{level}"/>
</mdb:resourceScope></mdb:MD_MetadataScope></mdb:metadataScope>
<mdb:identificationInfo><mri:MD_DataIdentification><mri:citation><cit:CI_Citation>
<cit:title><gco:CharacterString>{title}</gco:CharacterString></cit:title></cit:CI_Citation></mri:citation>
</mri:MD_DataIdentification></mdb:identificationInfo></mdb:MD_Metadata>"""
_DC = """<csw:Record xmlns:csw="{csw}" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dct="http://purl.org/dc/terms/">
<dc:identifier>{id}</dc:identifier><dc:title>{title}</dc:title><dc:type>{level}</dc:type>
<dct:modified>{modified}</dct:modified><dct:references>https://example.org/{id}.csv</dct:references></csw:Record>"""
_DCAT = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dcat="http://www.w3.org/ns/dcat#"
 xmlns:dct="http://purl.org/dc/terms/" xmlns:foaf="http://xmlns.com/foaf/0.1/">
<dcat:CatalogRecord rdf:about="https://example.org/record/{id}"><foaf:primaryTopic
 rdf:resource="https://example.org/id/{id}"/><dct:identifier>{id}</dct:identifier></dcat:CatalogRecord>
<{node} rdf:about="https://example.org/id/{id}"><dct:title>{title}</dct:title><dcat:distribution><dcat:Distribution
 rdf:about="https://example.org/{id}.csv"><dcat:accessURL rdf:resource="https://example.org/{id}.csv"/>
</dcat:Distribution></dcat:distribution></{node}></rdf:RDF>"""


@dataclass
class Record:
    id: str
    title: str
    modified: str = "2024-03-01T00:00:00Z"
    level: str = "dataset"

    def xml(self, schema: str) -> str:
        node = "dcat:DataService" if self.level == "service" else "dcat:Dataset"
        values = {"title": escape(self.title), "csw": schema, "node": node}
        values |= {"id": escape(self.id), "level": self.level, "modified": self.modified}
        return {ISO: _ISO, ISO_3: _ISO_3, DCAT: _DCAT, GEODCAT: _DCAT}.get(schema, _DC).format(**values)


def records(count: int, **known: str) -> list[Record]:
    """Return records whose dates are one day apart."""
    first = datetime(2010, 1, 1, tzinfo=UTC)
    stamps = ((first + timedelta(days=number)).strftime("%Y-%m-%dT%H:%M:%SZ") for number in range(count))
    return [Record(f"r-{number:05}", f"Record {number}", stamp, **known) for number, stamp in enumerate(stamps)]


@dataclass
class Question:
    """What a GetRecords request says, by POST or by GET."""

    version: str
    schema: str
    type: str
    start: int
    rows: int
    sort: str | None
    bounds: tuple[str, str]
    """Modified then or later, and before; empty for no bound."""
    is_undated: bool = False
    """Only records without a date."""

    def is_met(self, record: Record) -> bool:
        since, until = self.bounds
        if self.is_undated or not (record.modified or since or until):
            return not record.modified
        return bool(record.modified) and record.modified >= since and (not until or record.modified < until)


def question(asked: Asked) -> Question | None:
    """Return a request's question; ``None`` if it is for the capabilities."""
    return _posted(etree.fromstring(asked.body)) if asked.method == "POST" and asked.body else _got(asked)


def _posted(root: Any) -> Question:
    query = next(root.iter("{*}Query"))
    sort = next((node[0].text for node in query.iter("{*}SortProperty")), None)
    values = {
        etree.QName(node).localname: node.find("{*}Literal").text
        for node in query.iter("{*}PropertyIsGreaterThanOrEqualTo", "{*}PropertyIsLessThan")
    }
    bounds = values.get("PropertyIsGreaterThanOrEqualTo", ""), values.get("PropertyIsLessThan", "")
    numbers = int(root.get("startPosition")), int(root.get("maxRecords"))
    assert etree.QName(root).namespace == CSW[root.get("version")]
    null = next(query.iter("{*}PropertyIsNull"), None)
    assert null is None or len(null) == 1
    known = root.get("version"), root.get("outputSchema"), query.get("typeNames")
    return Question(*known, *numbers, sort, bounds, null is not None)


def _got(asked: Asked) -> Question | None:
    given = {name.lower(): value for name, value in asked.parameters.items()}
    if given.get("request") != "GetRecords":
        return None
    constraint = given.get("constraint", "")
    found = [re.search(rf"{operator} '([^']*)'", constraint) for operator in (">=", "<")]
    since, until = (one[1] if one else "" for one in found)
    numbers = int(given["startposition"]), int(given["maxrecords"])
    known = given["version"], given["outputschema"], given["typenames"]
    return Question(*known, *numbers, given.get("sortby"), (since, until), " IS NULL" in constraint)


@dataclass
class Catalogue:
    """The answers of a CSW.

    Args:
        records: what it has.
        version: of CSW.
        schemas: the output schemas that it truly gives, besides Dublin Core.
        listed: those that its capabilities name; ``None`` for the same.
        most: the most records in an answer.
        window: the last position that it gives; what has more matches is said to have `WINDOW`.
        faults: the names of what is wrong with it; see `answer`.
        broken: the ids of records that it can't render in any schema but Dublin Core.
        lost: the ids of records that it can't render at all.
        shows: whether it answers to GetRecordById.
        unlisted: the ids of records that it gives by their ids alone.
    """

    records: list[Record]
    version: str = "2.0.2"
    schemas: tuple[str, ...] = (ISO,)
    listed: tuple[str, ...] | None = None
    most: int = 100
    window: int | None = None
    faults: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    shows: bool = False
    unlisted: tuple[str, ...] = ()
    questions: list[Question] = field(default_factory=list)

    def __call__(self, asked: Asked) -> Answer:
        if urlsplit(asked.path).path == "/robots.txt":
            return Answer(b"", 404)
        if "no_post" in self.faults and asked.method == "POST":
            return Answer(b"<html>Method not allowed</html>", 405, {"Content-Type": "text/html"})
        if self.shows and asked.parameters.get("request") == "GetRecordById":
            return self.one(asked.parameters["id"], asked.parameters["outputSchema"])
        found = question(asked)
        if found is None:
            return self.capabilities()
        self.questions.append(found)
        return self.refusal(found) or self.page(found)

    # What it refuses

    def capabilities(self) -> Answer:
        if "no_capabilities" in self.faults:
            return Answer(b"<html>Welcome</html>", headers={"Content-Type": "text/html"})
        named = [*(self.schemas if self.listed is None else self.listed), CSW[self.version]]
        values = "".join(f"<ows:Value>{uri}</ows:Value>" for uri in named if "unnamed" not in self.faults)
        return self.xml(
            f'<csw:Capabilities xmlns:csw="{CSW[self.version]}" xmlns:ows="{OWS[self.version]}">'
            f'<ows:OperationsMetadata><ows:Operation name="GetRecords"><ows:Parameter name="outputSchema">{values}'
            f"</ows:Parameter></ows:Operation></ows:OperationsMetadata></csw:Capabilities>"
        )

    def refusal(self, asked: Question) -> Answer | None:
        """Return what it answers instead of records."""
        is_null_refused = "no_null" in self.faults and asked.is_undated
        has_filter = any(asked.bounds) or asked.is_undated
        if asked.version != self.version:
            return self.exception("InvalidParameterValue", "version", "Version not supported")
        is_known = asked.schema in (*self.schemas, CSW[self.version]) or "ignores_schema" in self.faults
        if not is_known:
            return self.exception("InvalidParameterValue", "outputSchema", f"Invalid outputSchema {asked.schema}")
        if "no_sort" in self.faults and asked.sort:
            return self.exception("NoApplicableCode", "", "SortBy is not supported")
        if ("no_filter" in self.faults and has_filter) or is_null_refused:
            return self.exception("InvalidParameterValue", "constraint", "Invalid Filter request")
        if "only_plain" in self.faults and asked.type != "csw:Record":
            return self.exception("InvalidParameterValue", "typeNames", f"Unknown type {asked.type}")
        named = {
            "login": ('<!DOCTYPE html><html><input type="password"></html>', "text/html"),
            "acknowledgement": (f'<csw:Acknowledgement xmlns:csw="{CSW[self.version]}"/>', "application/xml"),
            "no_results": (
                f'<csw:GetRecordsResponse xmlns:csw="{CSW[self.version]}"><csw:SearchStatus/></csw:GetRecordsResponse>',
                "application/xml",
            ),
        }
        body = next((named[fault] for fault in self.faults if fault in named), None)
        return Answer(body[0].encode(), headers={"Content-Type": body[1]}) if body else None

    def exception(self, code: str, locator: str, text: str) -> Answer:
        root = f'<ows:ExceptionReport xmlns:ows="{OWS[self.version]}" version="1.2.0">'
        body = (
            f'<ows:Exception exceptionCode="{code}" locator="{locator}"><ows:ExceptionText>{text}</ows:ExceptionText>'
        )
        status = 400 if self.version == "3.0.0" or "http_400" in self.faults else 200
        return self.xml(f"{root}{body}</ows:Exception></ows:ExceptionReport>", status)

    def xml(self, body: str, status: int = 200) -> Answer:
        return Answer(f'<?xml version="1.0" encoding="UTF-8"?>\n<!-- pycsw 3 -->\n{body}'.encode(), status, XML)

    def one(self, name: str, schema: str) -> Answer:
        """Return a record by its id; CSW 3.0 says that there is none, and 2.0.2 gives none."""
        records = [one.xml(schema) for one in self.records if one.id == name]
        if self.version == "2.0.2":
            space = f'xmlns:csw="{CSW[self.version]}"'
            return self.xml(f"<csw:GetRecordByIdResponse {space}>{''.join(records)}</csw:GetRecordByIdResponse>")
        if records:
            return self.xml(records[0])
        answer = self.exception("NotFound", "id", f"No records found for {name}")
        return Answer(answer.body, 404, answer.headers)

    # What it gives

    def matching(self, asked: Question) -> list[Record]:
        found = self.records if "ignores_filter" in self.faults else [*filter(asked.is_met, self.records)]
        found = [one for one in found if one.id not in self.unlisted]
        if "unordered" in self.faults and not asked.sort:  # neighbouring pages overlap
            return found if asked.start == 1 else [*found[1:], found[0]]
        return found

    def page(self, asked: Question) -> Answer:
        found = self.matching(asked)
        reachable = found[: self.window] if self.window else found
        if self.window and asked.start > self.window and "repeats" not in self.faults:
            return self.exception("NoApplicableCode", "", "Result window is too large")
        start = self.window - self.most + 1 if self.window and asked.start > self.window else asked.start
        start = 1 if "same_page" in self.faults else start
        here = reachable[start - 1 : start - 1 + min(asked.rows, self.most)]
        is_plain = asked.schema in CSW.values()
        broken = [one.id for one in here if one.id in self.lost or (one.id in self.broken and not is_plain)]
        if broken and not {"comments", "cut", "cut_gzip"} & {*self.faults}:
            return self.broken_page()
        schema = asked.schema if asked.schema in self.schemas else CSW[self.version]
        texts = [self.rendered(one, schema) for one in here]
        matched = WINDOW if self.window and len(found) > self.window else len(found)
        answer = self.xml(self.response(asked, texts, str(matched)))
        return self.cut(answer, broken[0]) if broken and "comments" not in self.faults else answer

    def cut(self, answer: Answer, name: str) -> Answer:
        """Return the beginning of an answer, up to the middle of a record."""
        assert isinstance(answer.body, bytes)
        is_packed = "cut_gzip" in self.faults
        body = gzip.compress(answer.body, 0) if is_packed else answer.body  # stored as it is
        headers = answer.headers | ({"Content-Encoding": "gzip"} if is_packed else {})
        return Answer(body[: body.index(name.encode()) + len(name)], 200, headers)

    def broken_page(self) -> Answer:
        if "broken_html" in self.faults:
            page = b"<html><h1>HTTP 200</h1><pre>java.lang.NullPointerException: null</pre></html>"
            return Answer(page, headers={"Content-Type": "text/html"})
        if "broken_500" in self.faults:
            return Answer(b"oh", 500, {"Content-Type": "text/plain"})
        return self.exception("NoApplicableCode", "OutputSchema", "OutputSchema not supported for this record")

    def rendered(self, record: Record, schema: str) -> str:
        is_broken = record.id in self.lost or (record.id in self.broken and schema not in CSW.values())
        return "<!-- empty -->" if is_broken and "comments" in self.faults else record.xml(schema)

    def response(self, asked: Question, texts: list[str], matched: str) -> str:
        behind = asked.start + len(texts)
        following = "0" if behind > int(matched) else str(behind)
        following = "1" if asked.start > int(matched) else following
        returned = matched if "returned_lies" in self.faults else str(len(texts))
        if "next_lies" in self.faults:
            following = str(asked.start + asked.rows)
        return (
            f'<csw:GetRecordsResponse xmlns:csw="{CSW[self.version]}" version="{self.version}"><csw:SearchStatus/>'
            f'<csw:SearchResults numberOfRecordsMatched="{matched}" numberOfRecordsReturned="{returned}" '
            f'nextRecord="{following}" elementSet="full">{"".join(texts)}</csw:SearchResults></csw:GetRecordsResponse>'
        )
