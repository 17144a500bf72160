"""What a crawl collects, whatever the source: DCAT 3's words, ISO 8601 dates, ``None`` for absent.

`Dataset` is the normalised record and goes to feeds (``-O datasets.jsonl``). Its ``document``, the record as the
publisher gave it, goes to disk. `Export` is a document that is asked for besides the listing, and no more than that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, TypedDict

from crawlers.fields import REQUIRED, VOCABULARIES, as_of, spec

if TYPE_CHECKING:
    from pathlib import Path

Kind = Literal["dataset", "dataset_metadata", "resource_metadata", "file", "site", "extension"]
Status = Literal["new", "updated", "unchanged", "withdrawn", "restored"]
Document = dict[str, Any]


_LEADS_HERE = dict.fromkeys(VOCABULARIES, "has it as the property that leads here")
_OWN_NAME = {"rdf": "has it as the node's own name, or as `owl:sameAs` of a blank node"}
_NO_SERVICES = {"schema_org": "has no services of files"}


@dataclass(slots=True, kw_only=True)
class Agent:
    """A person or organisation: foaf:Agent or vcard:Kind."""

    name: str | None = spec(
        "text",
        "Of the person or organisation.",
        rdf="foaf:name vcard:fn schema:name rdfs:label skos:prefLabel dct:title",
        data_json="name fn prefLabel label title organization-name",
        schema_org="name legalName alternateName",
        ckan="name",
    )
    uri: str | None = spec(
        "iri",
        "Its URI.",
        data_json="@id",
        schema_org="@id sameAs identifier",
        ckan="uri",
        without=_OWN_NAME,
    )
    email: str | None = spec(
        "email",
        "Its mail address.",
        rdf="vcard:hasEmail vcard:email foaf:mbox schema:email",
        data_json="hasEmail email mbox",
        schema_org="email",
        ckan="email",
    )
    url: str | None = spec(
        "address",
        "Its web page.",
        rdf="vcard:hasURL vcard:hasUrl vcard:url foaf:homepage foaf:page schema:url",
        data_json="hasURL homepage url",
        schema_org="url homepage",
        ckan="url",
    )
    role: str | None = spec(
        "text",
        "`publisher`, `creator`, `maintainer`, `contact`; of DCAT also `contributor`, `rightsHolder`, `custodian` ...",
        without=_LEADS_HERE,
    )


@dataclass(slots=True, kw_only=True)
class Period:
    """dct:PeriodOfTime."""

    start: str | None = spec(
        "moment",
        "The first day, or as precise as the source; without one it is open.",
        rdf="dcat:startDate schema:startDate time:hasBeginning scovo:min",
        data_json="startDate start",
        schema_org="startDate",
        ckan="start",
    )
    end: str | None = spec(
        "moment",
        "The last day, or as precise as the source; without one it is open.",
        rdf="dcat:endDate schema:endDate time:hasEnd scovo:max",
        data_json="endDate end",
        schema_org="endDate",
        ckan="end",
    )


@dataclass(slots=True, kw_only=True)
class Place:
    """dct:Location."""

    name: str | None = spec(
        "text",
        "Its name.",
        rdf="skos:prefLabel rdfs:label locn:geographicName dct:title schema:name",
        data_json="prefLabel label title name altLabel",
        schema_org="name alternateName",
        ckan="text",
    )
    code: str | None = spec(
        "text",
        "ISO 3166-1 alpha-3, upper case, where the source gives one.",
        without=dict.fromkeys(VOCABULARIES, "has it in the address of the place"),
    )
    uri: str | None = spec(
        "iri",
        "Its address in a gazetteer.",
        data_json="@id",
        schema_org="@id sameAs",
        ckan="uri",
        without=_OWN_NAME,
    )
    geometry: dict[str, Any] | None = spec(
        "geometry",
        "GeoJSON: WGS 84, longitude first, on Earth.",
        rdf="locn:geometry dcat:bbox dcat:centroid schema:geo",
        data_json="geometry bbox centroid",
        schema_org="geo",
        ckan="geom",
    )


@dataclass(slots=True, kw_only=True)
class License:
    """dct:LicenseDocument."""

    id: str | None = spec(
        "text",
        "The SPDX identifier where there is one, else the source's own.",
        rdf="dct:identifier",
        data_json="identifier notation",
        ckan="license_id license",
        without={"schema_org": "has it in its address or name"},
    )
    uri: str | None = spec(
        "address",
        "Its address.",
        rdf="foaf:page schema:url owl:sameAs rdfs:seeAlso dct:source dct:identifier",
        data_json="accessURL url @id",
        schema_org="url @id",
        ckan="license_url",
    )
    title: str | None = spec(
        "text",
        "Its title.",
        rdf="rdfs:label dct:title schema:name",
        data_json="title label prefLabel name",
        schema_org="name",
        ckan="license_title",
    )
    text: str | None = spec(
        "markdown",
        "Its text.",
        rdf="dct:description rdfs:comment",
        without=dict.fromkeys(("data_json", "schema_org", "ckan"), "has it in place of the title"),
    )


@dataclass(slots=True, kw_only=True)
class Checksum:
    """spdx:Checksum."""

    algorithm: str = spec(
        "text",
        "`md5`, `sha1`, `sha256`, `sha512` ...",
        default=REQUIRED,
        rdf="spdx:algorithm",
        data_json="algorithm",
        ckan="hash_algorithm",
        without={"schema_org": "has it as the property's name"},
    )
    value: str = spec(
        "text",
        "Hexadecimal.",
        default=REQUIRED,
        rdf="spdx:checksumValue",
        data_json="checksumValue value",
        schema_org="sha256 sha512 sha1 md5",
        ckan="hash",
    )


@dataclass(slots=True, kw_only=True)
class Relation:
    """Something that a dataset has to do with: dct:relation and its kin."""

    role: str = spec(
        "text",
        "What it is to the dataset: `source`, `isVersionOf`, `inSeries`, `isReferencedBy` ..., else `relation`.",
        default="relation",
        rdf="dcat:hadRole",
        data_json="hadRole",
        ckan="role",
        without={"schema_org": "has it as the property that leads here"},
    )
    uri: str | None = spec(
        "iri", "Its address.", data_json="@id", schema_org="@id", ckan="relation uri", without=_OWN_NAME
    )
    title: str | None = spec(
        "text",
        "Its title.",
        rdf="rdfs:label skos:prefLabel dct:title foaf:name schema:name",
        data_json="prefLabel label title name",
        schema_org="name",
        without={"ckan": "has addresses alone, or an object's name"},
    )


@dataclass(slots=True, kw_only=True)
class Service:
    """dcat:DataService: a programme that gives the data."""

    uri: str | None = spec("iri", "Its URI.", data_json="@id", ckan="uri", without=_OWN_NAME | _NO_SERVICES)
    title: str | None = spec(
        "text", "Its title.", rdf="dct:title", data_json="title", ckan="title", without=_NO_SERVICES
    )
    description: str | None = spec(
        "markdown",
        "Its description.",
        rdf="dct:description",
        data_json="description",
        ckan="description",
        without=_NO_SERVICES,
    )
    endpoint_url: str | None = spec(
        "address",
        "Where requests go.",
        rdf="dcat:endpointURL",
        data_json="endpointURL",
        ckan="endpoint_url",
        without=_NO_SERVICES,
    )
    endpoint_description: str | None = spec(
        "reference",
        "The address of its capabilities or of an OpenAPI file, or words.",
        rdf="dcat:endpointDescription",
        data_json="endpointDescription",
        ckan="endpoint_description",
        without=_NO_SERVICES,
    )
    conforms_to: list[str] = spec(
        "references",
        "Standards that it conforms to.",
        rdf="dct:conformsTo dc:conformsTo",
        data_json="conformsTo",
        ckan="conforms_to",
        without=_NO_SERVICES,
    )


class Flaw(str):
    """A sentence about what of a kept record can't be read; a flaw is known by its place and kind, not by its words.

    Args:
        sentence: what is wrong.
        field: the field concerned, in the words of the record: modified, temporal.
        kind: one of `crawlers.causes.FLAWS`.
        resource_id: the resource concerned; ``None`` for the dataset itself.
    """

    __slots__ = ("field", "kind", "resource_id")

    field: str
    kind: str
    resource_id: str | None

    def __new__(
        cls, sentence: str, field: str = "", kind: str = "unreadable_value", resource_id: str | None = None
    ) -> Self:
        found = super().__new__(cls, sentence)
        found.field, found.kind, found.resource_id = field, kind, resource_id
        return found


@dataclass(slots=True, kw_only=True)
class Stored:
    """The status of a document on disk; set by the pipelines."""

    file: str
    """Relative to the source's folder."""
    status: Status
    sha256: str
    bytes: int


_PUBLISHED = ("rdf", "data_json", "schema_org")
_OF_PLACES = {"rdf": "is of its places' addresses", "data_json": "is of its places"}


def _without_documents(resources: list[Resource]) -> list[dict[str, Any]]:
    """Feeds carry the normalised fields only; the documents are on disk."""
    names = [one.name for one in fields(Resource) if one.name != "document"]
    return [{name: getattr(resource, name) for name in names} for resource in resources]


@dataclass(slots=True, kw_only=True)
class Dataset:
    """dcat:Dataset. Identity is ``(source, id)``; a title or a slug never is."""

    kind: ClassVar[Kind] = "dataset"

    source: str
    id: str
    identifier: str | None = spec(
        "text",
        "Its identifier, as the publisher gives it.",
        rdf="dct:identifier dc:identifier dcat:identifier adms:identifier schema:identifier",
        data_json="identifier @id",
        schema_org="identifier sameAs @id url",
        ckan="identifier guid id",
    )
    uri: str | None = spec(
        "iri",
        "Its URI.",
        label="URI",
        data_json="@id identifier",
        schema_org="@id identifier",
        ckan="uri",
        without={"rdf": "is the node's own name", "html": "is the identifier, if that is an address"},
    )
    name: str | None = spec(
        "text",
        "The slug in the portal's own addresses.",
        ckan="name",
        without=dict.fromkeys(_PUBLISHED, "has no slugs") | {"html": "a page has its address"},
    )
    title: str | None = spec(
        "text",
        "Its title.",
        rdf="dct:title dc:title schema:name rdfs:label",
        data_json="title titleMap",
        schema_org="name headline alternateName",
        ckan="title title_translated",
    )
    description: str | None = spec(
        "markdown",
        "Its description, in Markdown; at CKAN as written.",
        rdf="dct:description dct:abstract dc:description schema:description",
        data_json="description descriptionMap",
        schema_org="description abstract disambiguatingDescription",
        ckan="notes notes_translated",
    )
    landing_page: str | None = spec(
        "address",
        "Its page at the portal.",
        label="Page",
        rdf="dcat:landingPage foaf:homepage schema:url",
        data_json="landingPage",
        schema_org="url mainEntityOfPage",
        ckan="url",
        without={"html": "is the page's own address"},
    )
    issued: str | None = spec(
        "moment",
        "When it was published.",
        rdf="dct:issued dct:created dc:issued schema:datePublished schema:dateCreated",
        data_json="issued created",
        schema_org="datePublished dateIssued uploadDate dateCreated",
        ckan="issued metadata_created",
    )
    modified: str | None = spec(
        "moment",
        "When it or its description was modified, by its own date.",
        rdf="dct:modified dc:modified schema:dateModified",
        data_json="modified",
        schema_org="dateModified",
        ckan="modified metadata_modified",
    )
    version: str | None = spec(
        "text",
        "Its version.",
        rdf="dcat:version owl:versionInfo adms:version pav:version schema:version",
        data_json="version",
        schema_org="version",
        ckan="version",
    )
    publisher: Agent | None = spec(
        "agent",
        "Who publishes it.",
        facet="publisher",
        rdf="dct:publisher dc:publisher schema:publisher",
        data_json="publisher",
        schema_org="publisher",
        ckan="organization publisher_name publisher_uri publisher_email publisher_url publisher",
    )
    contacts: list[Agent] = spec(
        "agents",
        "Whom to ask, and who had a part in it.",
        label="Contact",
        one="contact",
        rdf="dcat:contactPoint adms:contactPoint",
        data_json="contactPoint mbox",
        schema_org="contactPoint",
        ckan="author maintainer contact_name contact_uri contact_email contact_url creator contact",
    )
    creator: Agent | None = spec(
        "agent",
        "The first of the contacts who has that role.",
        rdf="dct:creator dc:creator schema:creator",
        data_json="creator",
        schema_org="creator author",
        ckan="author author_email creator",
        found=True,
    )
    maintainer: Agent | None = spec(
        "agent",
        "The first of the contacts who has that role, or is its custodian.",
        rdf="geodcatap:custodian schema:maintainer",
        schema_org="maintainer",
        ckan="maintainer maintainer_email",
        found=True,
        without={"data_json": "has creators and contributors"},
    )
    keywords: list[str] = spec(
        "labels",
        "What it is about, in the publisher's words.",
        facet="keyword",
        rdf="dcat:keyword dc:subject schema:keywords",
        data_json="keyword keywordMap",
        schema_org="keywords",
        ckan="tags keywords",
    )
    themes: list[str] = spec(
        "labels",
        "What it is about, in the words of a vocabulary.",
        facet="theme",
        rdf="dcat:theme dct:subject dcatap:hvdCategory",
        data_json="theme category subject",
        schema_org="about genre",
        ckan="groups theme",
    )
    languages: list[str] = spec(
        "languages",
        "BCP 47 tags.",
        facet="language",
        rdf="dct:language dc:language schema:inLanguage",
        data_json="language",
        schema_org="inLanguage",
        ckan="language",
    )
    license: License | None = spec(
        "license",
        "Its licence.",
        facet="license",
        label="Licence",
        rdf="dct:license dct:#license cc:license schema:license dct:rights dc:rights",
        data_json="license",
        schema_org="license",
        ckan="license_id license license_url license_title",
    )
    access_rights: str | None = spec(
        "text",
        "Who may see it: PUBLIC, RESTRICTED, NON_PUBLIC, or the source's word.",
        label="Access",
        rdf="dct:accessRights dcat:accessRights",
        data_json="accessLevel accessRights",
        schema_org="conditionsOfAccess isAccessibleForFree",
        ckan="access_rights",
    )
    rights: str | None = spec(
        "markdown",
        "A statement of rights.",
        brief=True,
        rdf="dct:rights dc:rights",
        data_json="rights accessLevelComment",
        schema_org="usageInfo copyrightNotice",
        ckan="rights",
    )
    frequency: str | None = spec(
        "frequency",
        "How often it is updated: a code of the EU's vocabulary (DAILY, IRREG ...).",
        rdf="dct:accrualPeriodicity dc:accrualPeriodicity",
        data_json="accrualPeriodicity modified",
        ckan="frequency accrual_periodicity accrualPeriodicity update_frequency",
        without={"schema_org": "has no such property"},
    )
    temporal: Period | None = spec(
        "period",
        "The period that the data cover.",
        label="Period",
        rdf="dct:temporal dcat:temporal schema:temporalCoverage",
        data_json="temporal",
        schema_org="temporalCoverage",
        ckan="temporal_start temporal_coverage-from temporal_coverage_from temporal_end temporal_coverage-to"
        " temporal_coverage_to temporal_coverage",
    )
    temporal_resolution: str | None = spec(
        "duration",
        "An ISO 8601 duration: the smallest time between two values.",
        rdf="dcat:temporalResolution",
        data_json="temporalResolution",
        ckan="temporal_resolution",
        without={"schema_org": "has no such property"},
    )
    spatial: list[Place] = spec(
        "places",
        "The places that the data cover.",
        facet="country",
        label="Places",
        rdf="dct:spatial dcat:spatial schema:spatialCoverage dcat-us:geographicBoundingBox",
        data_json="spatial geographicBoundingBox",
        schema_org="spatialCoverage spatial",
        ckan="spatial spatial_text spatial_uri spatial_coverage geographic_coverage",
    )
    country: str | None = spec(
        "text",
        "ISO 3166-1 alpha-3 of all its places, else in the source's words.",
        facet="country",
        schema_org="spatialCoverage",
        ckan="country",
        without=_OF_PLACES,
    )
    state: str | None = spec(
        "text",
        "A state, province or region of the country.",
        schema_org="spatialCoverage",
        ckan="province region extras state",
        without=_OF_PLACES,
    )
    city: str | None = spec(
        "text",
        "A city.",
        schema_org="spatialCoverage",
        ckan="city",
        without=_OF_PLACES,
    )
    spatial_resolution: float | None = spec(
        "metres",
        "Metres.",
        rdf="dcat:spatialResolutionInMeters",
        data_json="spatialResolutionInMeters",
        ckan="spatial_resolution_in_meters spatial_resolution",
        without={"schema_org": "has no such property"},
    )
    conforms_to: list[str] = spec(
        "references",
        "Standards that it conforms to.",
        rdf="dct:conformsTo dct:#conformsTo",
        data_json="conformsTo",
        schema_org="conformsTo",
        ckan="conforms_to",
    )
    provenance: str | None = spec(
        "markdown",
        "Where the data come from.",
        rdf="dct:provenance",
        data_json="provenance",
        schema_org="isBasedOn isBasedOnUrl",
        ckan="provenance",
    )
    type: str | None = spec(
        "code",
        "What kind of dataset it is: a code of the EU's vocabulary (GEOSPATIAL ...), an IRI, or a word.",
        rdf="dct:type dc:type",
        data_json="type",
        schema_org="additionalType",
        ckan="dcat_type",
        found=True,
    )
    status: str | None = spec(
        "code",
        "A code of the EU's or ADMS's vocabulary (COMPLETED, DEPRECATED ...), an IRI, or a word.",
        rdf="adms:status schema:creativeWorkStatus",
        data_json="status",
        schema_org="creativeWorkStatus",
        ckan="status",
        found=True,
    )
    version_notes: str | None = spec(
        "markdown",
        "What is new in this version.",
        rdf="adms:versionNotes",
        data_json="versionNotes",
        ckan="version_notes",
        found=True,
        without={"schema_org": "has no such property"},
    )
    relations: list[Relation] = spec(
        "relations",
        "What it has to do with.",
        rdf="dct:relation dcat:qualifiedRelation",
        data_json="relation source isReferencedBy hasVersion isVersionOf hasCurrentVersion previousVersion replaces"
        " isReplacedBy inSeries isPartOf qualifiedRelation",
        schema_org="isBasedOn isBasedOnUrl isPartOf citation isRelatedTo",
        ckan="related_resource relation source has_version is_version_of in_series is_referenced_by dataseries_name"
        " qualified_relation relationships_as_subject",
        found=True,
    )
    documentation: list[str] = spec(
        "addresses",
        "Addresses of pages about it.",
        rdf="foaf:page wdrs:describedby",
        data_json="page documentation describedBy references",
        schema_org="subjectOf documentation hasDigitalDocument publishingPrinciples",
        ckan="documentation",
    )
    applicable_legislation: list[str] = spec(
        "references",
        "The IRIs of the laws that it is published by.",
        label="Legislation",
        rdf="dcatap:applicableLegislation",
        data_json="applicableLegislation",
        ckan="applicable_legislation",
        found=True,
        without={"schema_org": "has no laws"},
    )
    hvd_categories: list[str] = spec(
        "references",
        "The IRIs of its categories of high-value datasets.",
        label="High-value categories",
        rdf="dcatap:hvdCategory",
        data_json="hvdCategory",
        ckan="hvd_category",
        found=True,
        without={"schema_org": "has no such property"},
    )
    sample: list[str] = spec(
        "addresses",
        "Addresses of files that show a part of it.",
        label="Samples",
        rdf="adms:sample",
        data_json="sample",
        schema_org="workExample",
        ckan="sample",
    )
    resources: list[Resource] = field(default_factory=list, metadata={"serializer": _without_documents})
    metadata_source: str | None = None
    metadata_url: str | None = None
    retrieved: str | None = None
    caveats: str | None = spec(
        "markdown",
        "The publisher's warnings.",
        ckan="caveats",
        without={
            "rdf": "has comments of any sort",
            "data_json": "has none",
            "schema_org": "has none",
            "html": "only HDX has them",
        },
    )
    data_modified: str | None = spec(
        "moment",
        "When the data, not its description, last changed.",
        ckan="last_modified",
        without=dict.fromkeys(_PUBLISHED, "has one date") | {"html": "only HDX has it"},
    )
    metadata_modified: str | None = spec(
        "stamp",
        "The source's own stamp, letter for letter: a re-run takes the same stamp for the same record.",
        ckan="metadata_modified",
        without=dict.fromkeys(_PUBLISHED, "has none of the record")
        | {"html": "is the header Last-Modified", "index": "is in its line of the manifest"},
    )
    aliases: list[str] = field(default_factory=list)
    """Other ids of the same dataset: the origin's at a portal that harvests, an earlier form, a version's."""
    flaws: list[Flaw] = field(default_factory=list)
    """What of the record could not be read, a sentence each; the fields concerned are empty."""
    set_by_operator: list[str] = field(default_factory=list)
    """The fields whose value the operator of the harvest has set, not the publisher: ``defaults``, ``overrides``."""
    torn: bool = False
    """Whether something of the record may be lost, as of a file that can't be read whole: it replaces no document."""
    document: Document | bytes | None = None
    """The record as its publisher gave it: the JSON object; of an XML protocol the bytes of the element."""
    stored: Stored | None = None

    @property
    def is_mapped(self) -> bool:
        """Whether all its fields are known; see `crawlers.records.lazy_dataset.LazyDataset`."""
        return True

    def amend(self, change: Callable[[Dataset], None]) -> None:
        """Change its fields.

        Args:
            change: gets the dataset, with all its fields.
        """
        change(self)

    def derive(self) -> None:
        """Fill in what other fields say: creator and maintainer by their roles, the country if all places have one.

        A relation to the dataset itself says nothing, and is left out.
        """
        itself = {self.id, self.identifier, self.uri}
        self.relations = [each for each in self.relations if (each.uri or each.title) not in itself]
        self.creator = self.creator or _first(self.contacts, "creator")
        self.maintainer = self.maintainer or _first(self.contacts, "maintainer") or _first(self.contacts, "custodian")
        self.contacts += [agent for agent in (self.creator, self.maintainer) if agent and agent not in self.contacts]
        codes = {place.code for place in self.spatial if place.code or place.name or place.uri}
        if not self.country and len(codes) == 1:
            self.country = codes.pop()


def _first(agents: list[Agent], role: str) -> Agent | None:
    for agent in agents:
        if agent.role == role:
            return agent
    return None


_SAID_OF_DATASETS = {"html": "pages say it of the dataset", "index": "is asked of datasets"}


@dataclass(slots=True, kw_only=True)
class Resource:
    """dcat:Distribution, a CKAN resource."""

    id: str
    dataset_id: str
    title: str | None = as_of(
        Dataset, "title", rdf="dct:title dc:title rdfs:label schema:name", ckan="name name_translated"
    )
    description: str | None = as_of(Dataset, "description", brief=True, ckan="description description_translated")
    url: str | None = spec(
        "address",
        "Its address: the file's, else that of the page or service which leads to it.",
        label="Address",
        rdf="dcat:downloadURL dcat:accessURL",
        data_json="downloadURL accessURL",
        schema_org="contentUrl url",
        ckan="url",
    )
    stated_url: str | None = spec(
        "text",
        "What the source gives as its address where that is none: www.example.org/a.csv, N/A.",
        label="Address as stated",
        without=dict.fromkeys((*VOCABULARIES, "html"), "is kept where what it gives for the url is no address"),
    )
    access_url: str | None = spec(
        "address",
        "Where to get it.",
        rdf="dcat:accessURL",
        data_json="accessURL accessService webService",
        schema_org="url embedUrl",
        ckan="access_url url",
        without={"html": "is its url"},
    )
    download_url: str | None = spec(
        "address",
        "The file itself.",
        rdf="dcat:downloadURL schema:contentUrl",
        data_json="downloadURL",
        schema_org="contentUrl",
        ckan="download_url",
        without={"html": "is its url"},
    )
    format: str | None = spec(
        "text",
        "Its format, as the source spells it.",
        facet="format",
        rdf="dct:format dc:format",
        data_json="format",
        schema_org="encodingFormat",
        ckan="format",
    )
    media_type: str | None = spec(
        "text",
        "Its media type, as IANA spells it.",
        rdf="dcat:mediaType schema:encodingFormat dct:format dc:format",
        data_json="mediaType",
        schema_org="fileFormat encodingFormat",
        ckan="mimetype content_type",
    )
    size: int | None = spec(
        "size",
        "Bytes.",
        rdf="dcat:byteSize",
        data_json="byteSize",
        schema_org="contentSize fileSize",
        ckan="size",
    )
    checksum: Checksum | None = spec(
        "checksum",
        "Its checksum.",
        rdf="spdx:checksum",
        data_json="checksum",
        schema_org="sha256 sha512 sha1 md5",
        ckan="hash",
        without={"html": "can't be told from other numbers"},
    )
    issued: str | None = as_of(Dataset, "issued", ckan="issued created")
    modified: str | None = as_of(
        Dataset, "modified", says="When it was modified.", ckan="modified last_modified metadata_modified"
    )
    license: License | None = as_of(Dataset, "license", says="Its own licence, if it has one.")
    languages: list[str] = as_of(Dataset, "languages", without=_SAID_OF_DATASETS)
    rights: str | None = as_of(
        Dataset,
        "rights",
        rdf="dct:rights dc:rights dct:accessRights dcat:accessRights",
        data_json="rights accessRights",
        without={"html": "pages say it of the dataset"},
    )
    conforms_to: list[str] = as_of(Dataset, "conforms_to", without=_SAID_OF_DATASETS)
    documentation: list[str] = as_of(
        Dataset,
        "documentation",
        schema_org="",
        without={"schema_org": "has pages about datasets alone", "index": "is asked of datasets"},
    )
    applicable_legislation: list[str] = as_of(
        Dataset, "applicable_legislation", found=False, without={"schema_org": "has no laws"} | _SAID_OF_DATASETS
    )
    access_services: list[Service] = spec(
        "services",
        "Programmes that give the data.",
        label="Services",
        one="services",
        rdf="dcat:accessService",
        data_json="accessService",
        ckan="access_services",
        found=True,
        without={"schema_org": "has no services of files", "html": "pages link them as files"},
    )
    availability: str | None = spec(
        "code",
        "How long it will be there: STABLE, TEMPORARY ...",
        rdf="dcatap:availability",
        data_json="availability",
        ckan="availability",
        without={"schema_org": "has no such property"},
    )
    status: str | None = as_of(
        Dataset, "status", schema_org="", found=False, without={"schema_org": "has one of datasets alone"}
    )
    spatial_resolution: float | None = as_of(
        Dataset, "spatial_resolution", without={"schema_org": "has no such property"} | _SAID_OF_DATASETS
    )
    temporal_resolution: str | None = as_of(
        Dataset, "temporal_resolution", without={"schema_org": "has no such property"} | _SAID_OF_DATASETS
    )
    document: Document | None = None


@dataclass(slots=True, kw_only=True)
class Export:
    """A document asked for besides the listing: HDX's ``download_metadata``, CKAN's ``package_show`` ..."""

    kind: Kind
    source: str
    dataset_id: str
    dataset_name: str | None = None
    dataset_title: str | None = None
    resource_id: str | None = None
    resource_name: str | None = None
    resource_format: str | None = None
    metadata_modified: str | None = None
    """The dataset's stamp when this was asked for."""
    metadata_source: str | None = None
    metadata_url: str | None = None
    fallback: bool = False
    document: Document | None = None
    stored: Stored | None = None


class Known(TypedDict):
    """A fact that an earlier run found out.

    Attributes:
        value: what it was.
        day: the last day on which it was found so.
    """

    value: Any
    day: str


@dataclass(slots=True, kw_only=True)
class Profile:
    """What a run found out about one member of the CKAN ecosystem; what it did not find out is ``None``, never 0."""

    kind: ClassVar[Kind]
    facts: ClassVar[tuple[str, ...]]
    """The fields that each run asks for; of those that it does not get, the last known value stays visible."""

    source: str
    id: str
    """What the document's file is named after; a slash parts two names: ``ckan/ckanext-dcat``."""
    name: str | None = None
    title: str | None = None
    state: str = "unknown"
    reason: str | None = None
    """Why it has that state, or what could not be found out: one sentence."""
    checked: str | None = None
    """When it was looked at, in UTC."""
    last_known: dict[str, Known] = field(default_factory=dict)
    """The facts that this run did not find out and an earlier one did."""
    metadata_source: str | None = None
    metadata_url: str | None = None
    metadata_modified: str | None = None
    document: Document | None = None
    """The fields above and the kind's own, as one flat object."""
    stored: Stored | None = None


@dataclass(slots=True, kw_only=True)
class Site(Profile):
    """A CKAN portal: its version, extensions and sizes, and whether it answers.

    Its ``state`` is up, down, blocked, moved, not_ckan or unknown; docs/ecosystem.md says when each is given.
    """

    kind: ClassVar[Kind] = "site"
    facts: ClassVar[tuple[str, ...]] = (
        *("site_title", "description", "ckan_version", "extensions", "num_datasets", "num_resources", "num_groups"),
        *("num_organizations", "locale", "contact", "api_root", "newest_modified", "oldest_modified"),
        *("response_time", "tls_valid_until"),
    )

    url: str | None = None
    """As the catalogue has it."""
    catalog_id: str | None = None
    """The id of its package in the catalogue."""
    site_title: str | None = None
    """What the portal calls itself."""
    description: str | None = None
    ckan_version: str | None = None
    """``None`` if the portal hides it."""
    extensions: list[str] | None = None
    num_datasets: int | None = None
    num_resources: int | None = None
    num_groups: int | None = None
    num_organizations: int | None = None
    locale: str | None = None
    contact: str | None = None
    """Where its errors are mailed to."""
    api_root: str | None = None
    """What stands before ``/api/3/action``."""
    newest_modified: str | None = None
    """When the metadata of a dataset last changed."""
    oldest_modified: str | None = None
    response_time: float | None = None
    """Seconds until the headers of its first answer."""
    tls: Literal["valid", "refused"] | None = None
    """Of its certificate; ``None`` without one, or if none came."""
    tls_valid_until: str | None = None
    redirected_to: str | None = None
    country: str | None = None
    """ISO 3166-1 alpha-2: by the catalogue's record, else by the host's ending."""
    latitude: float | None = None
    """As the catalogue's record has it."""
    longitude: float | None = None


@dataclass(slots=True, kw_only=True)
class Extension(Profile):
    """A CKAN extension: the figures of its repository at GitHub.

    Its ``state`` is found, moved, gone, blocked, other_forge or unknown; docs/ecosystem.md says when each is given.
    """

    kind: ClassVar[Kind] = "extension"
    facts: ClassVar[tuple[str, ...]] = (
        *("github_id", "stars", "forks", "open_issues", "open_pull_requests", "releases", "latest_release"),
        *("release_date", "contributors", "discussions", "last_commit", "license", "topics", "archived", "language"),
        *("default_branch", "ckan_ecosystem", "ckan_ecosystem_text", "ckan_ecosystem_error"),
    )

    catalog_ids: list[str] = field(default_factory=list)
    """The ids of the packages in the catalogue that name the repository."""
    catalog_names: list[str | None] = field(default_factory=list)
    """Their names, in the same order."""
    forge: str | None = None
    """The host that has the repository; ``None`` if the catalogue names none."""
    repository: str | None = None
    """Owner and name, as they are now: ``ckan/ckanext-dcat``."""
    url: str | None = None
    former: list[str] = field(default_factory=list)
    """The names that the repository had before, in lower case."""
    github_id: str | None = None
    """What GitHub itself knows it by, whatever its name is."""
    stars: int | None = None
    forks: int | None = None
    open_issues: int | None = None
    """Without pull requests."""
    open_pull_requests: int | None = None
    releases: int | None = None
    latest_release: str | None = None
    """Its tag; ``None`` if there is none, too."""
    release_date: str | None = None
    contributors: int | None = None
    """With those that GitHub knows by a mail address alone."""
    discussions: int | None = None
    last_commit: str | None = None
    """When the last commit of the default branch was made."""
    license: str | None = None
    """SPDX; NOASSERTION for one that GitHub does not recognise."""
    topics: list[str] | None = None
    archived: bool | None = None
    language: str | None = None
    default_branch: str | None = None
    ckan_ecosystem: dict[str, Any] | None = None
    """What the repository's ckan_ecosystem.yaml says."""
    ckan_ecosystem_text: str | None = None
    """That file, if it can't be read."""
    ckan_ecosystem_error: str | None = None
    """What is wrong with it."""


State = Literal["kept", "unchanged", "alive", "broken", "unknown", "not_taken", "failed_here"]
"""What a look at a linked file found; docs/archive.md says when each is given.

``alive`` is a link check's "it is there"; the others are an archive's, and a check's, too, where it finds them.
"""


class Body(Protocol):
    """A downloaded file that is not in the store yet."""

    content: bytes | Path
    size: int
    sha256: str
    md5: str


@dataclass(slots=True, kw_only=True)
class Capture:
    """One look at the file that a resource links: what came, and what is kept of it."""

    kind: ClassVar[Kind] = "file"

    source: str
    """The archive's: ``archive-of-hdx``."""
    dataset_id: str
    resource_id: str
    url: str
    """As the catalogue has it, or as the page `origin` links it."""
    origin: str | None = None
    """The page that links it, if the catalogue links only that page."""
    title: str | None = None
    """The resource's."""
    format: str | None = None
    """As the catalogue claims it."""
    mode: Literal["archive", "check"] = "archive"
    request_type: str = "file"
    """file, page (searched for links), address (of the metadata, no resource's), form, or the service that was asked
    for its capabilities: wms, wfs ..."""
    state: State = "unknown"
    status: int = 22
    """ckanext-archiver's status_id: 0, 1, 10, 11, 12, 21, 22, 23."""
    error: str | None = None
    """The kind of failure, one of `crawlers.causes.KINDS` or a word of its own; ``None`` for what was kept."""
    reason: str | None = None
    """Why it is not kept, or what is odd about it: one sentence."""
    is_broken: bool | None = False
    """``None`` if that is not known: a time-out, a 403, a server's error."""
    http_status: int | None = None
    redirects: list[str] = field(default_factory=list)
    """The addresses that the first one led to, the last of them the one that answered."""
    headers: list[list[str]] = field(default_factory=list)
    """Of the answer, as pairs of name and value."""
    method: str | None = None
    """Of the request that was answered, the last one of redirects; ``None`` if none was."""
    request_headers: list[list[str]] = field(default_factory=list)
    """Of that request, as they were sent, without cookies and credentials."""
    media_type: str | None = None
    """As the server declares it."""
    found_type: str | None = None
    """As the first bytes show it, a media type."""
    extension: str | None = None
    """For the readable name, by what was found: csv; no dot."""
    finding: str | None = None
    """Where catalogue, header and bytes disagree: "says CSV, is HTML"."""
    name: str | None = None
    """A readable file name, without extension."""
    size: int | None = None
    """Bytes: of what is kept, else as the server declares them."""
    sha256: str | None = None
    """Of the blob that is held for this resource; also in later looks that found it unchanged or gone."""
    md5: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    fresh_until: str | None = None
    """The moment until which the answer's headers say that it need not be asked for again."""
    kept_at: str | None = None
    """When the resource was first found to have that blob; names it in ``cache_url``."""
    cache_url: str | None = None
    first_failure: str | None = None
    """Of the failures since the last success."""
    last_success: str | None = None
    failure_count: int = 0
    """Failures in a row."""
    time: str | None = None
    run: str | None = None
    body: Body | None = None
    """What came and is to be stored; not part of the capture's line."""
