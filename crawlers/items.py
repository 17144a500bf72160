"""What a crawl collects, whatever the source: DCAT 3's words, ISO 8601 dates, ``None`` for absent.

`Dataset` is the normalised record and goes to feeds (``-O datasets.jsonl``). Its ``document``, the record as the
publisher gave it, goes to disk. `Export` is a document that is asked for besides the listing, and no more than that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, TypedDict

if TYPE_CHECKING:
    from pathlib import Path

Kind = Literal["dataset", "dataset_metadata", "resource_metadata", "file", "site", "extension"]
Status = Literal["new", "updated", "unchanged", "withdrawn", "restored"]
Document = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Agent:
    """A person or organisation: foaf:Agent or vcard:Kind."""

    name: str | None = None
    uri: str | None = None
    email: str | None = None
    url: str | None = None
    role: str | None = None
    """publisher, creator, contact, maintainer ..."""


@dataclass(slots=True, kw_only=True)
class Period:
    """dct:PeriodOfTime; an open end is ``None``."""

    start: str | None = None
    end: str | None = None


@dataclass(slots=True, kw_only=True)
class Place:
    """dct:Location."""

    name: str | None = None
    code: str | None = None
    """ISO 3166-1 alpha-3, upper case, where the source gives one."""
    uri: str | None = None
    geometry: dict[str, Any] | None = None
    """A GeoJSON geometry."""


@dataclass(slots=True, kw_only=True)
class License:
    """dct:LicenseDocument."""

    id: str | None = None
    """The SPDX identifier where there is one, else the source's own."""
    uri: str | None = None
    title: str | None = None
    text: str | None = None


@dataclass(slots=True, kw_only=True)
class Checksum:
    """spdx:Checksum."""

    algorithm: str
    """md5, sha1, sha256, sha512 ..."""
    value: str


@dataclass(slots=True, kw_only=True)
class Relation:
    """Something that a dataset has to do with: dct:relation and its kin."""

    role: str = "relation"
    """What it is to the dataset: relation, source, isVersionOf, inSeries, isReferencedBy ..."""
    uri: str | None = None
    title: str | None = None


@dataclass(slots=True, kw_only=True)
class Service:
    """dcat:DataService: a programme that gives the data."""

    uri: str | None = None
    title: str | None = None
    description: str | None = None
    endpoint_url: str | None = None
    endpoint_description: str | None = None
    """The address of its capabilities or of an OpenAPI file, or words."""
    conforms_to: list[str] = field(default_factory=list)


class Flaw(str):
    """A sentence about what of a kept record can't be read; a flaw is known by its place and kind, not by its words.

    Args:
        sentence: what is wrong.
        field: the field concerned, in the words of the record: modified, temporal.
        kind: one of `crawlers.signals.FLAWS`.
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


@dataclass(slots=True, kw_only=True)
class Resource:
    """dcat:Distribution, a CKAN resource."""

    id: str
    dataset_id: str
    title: str | None = None
    description: str | None = None
    url: str | None = None
    access_url: str | None = None
    download_url: str | None = None
    format: str | None = None
    media_type: str | None = None
    size: int | None = None
    """Bytes."""
    checksum: Checksum | None = None
    issued: str | None = None
    modified: str | None = None
    license: License | None = None
    languages: list[str] = field(default_factory=list)
    rights: str | None = None
    conforms_to: list[str] = field(default_factory=list)
    documentation: list[str] = field(default_factory=list)
    applicable_legislation: list[str] = field(default_factory=list)
    access_services: list[Service] = field(default_factory=list)
    availability: str | None = None
    """How long it will be there: STABLE, TEMPORARY ..."""
    status: str | None = None
    """COMPLETED, DEPRECATED, DEVELOP, WITHDRAWN ..."""
    spatial_resolution: float | None = None
    """Metres."""
    temporal_resolution: str | None = None
    """An ISO 8601 duration."""
    document: Document | None = None


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
    identifier: str | None = None
    uri: str | None = None
    name: str | None = None
    """The slug in the portal's own addresses."""
    title: str | None = None
    description: str | None = None
    landing_page: str | None = None
    issued: str | None = None
    modified: str | None = None
    version: str | None = None
    publisher: Agent | None = None
    contacts: list[Agent] = field(default_factory=list)
    creator: Agent | None = None
    """The first of the contacts who has that role; so is the maintainer."""
    maintainer: Agent | None = None
    keywords: list[str] = field(default_factory=list)
    themes: list[str] = field(default_factory=list)
    languages: list[str] = field(default_factory=list)
    """BCP 47 tags."""
    license: License | None = None
    access_rights: str | None = None
    rights: str | None = None
    frequency: str | None = None
    """A code of the EU's frequency vocabulary: DAILY, IRREG ..."""
    temporal: Period | None = None
    temporal_resolution: str | None = None
    """An ISO 8601 duration: the smallest time between two values."""
    spatial: list[Place] = field(default_factory=list)
    country: str | None = None
    """ISO 3166-1 alpha-3 of all its places, else in the source's words."""
    state: str | None = None
    """A state, province or region of the country."""
    city: str | None = None
    spatial_resolution: float | None = None
    """Metres."""
    conforms_to: list[str] = field(default_factory=list)
    provenance: str | None = None
    type: str | None = None
    """What kind of dataset it is: a code of the EU's vocabulary (GEOSPATIAL ...), an IRI, or a word."""
    status: str | None = None
    """A code of the EU's or ADMS's vocabulary (COMPLETED, DEPRECATED ...), or a word."""
    version_notes: str | None = None
    relations: list[Relation] = field(default_factory=list)
    documentation: list[str] = field(default_factory=list)
    """Addresses of pages about it."""
    applicable_legislation: list[str] = field(default_factory=list)
    """The IRIs of the laws that it is published by."""
    hvd_categories: list[str] = field(default_factory=list)
    """The IRIs of its categories of high-value datasets."""
    sample: list[str] = field(default_factory=list)
    """Addresses of files that show a part of it."""
    resources: list[Resource] = field(default_factory=list, metadata={"serializer": _without_documents})
    metadata_source: str | None = None
    metadata_url: str | None = None
    retrieved: str | None = None
    caveats: str | None = None
    """What the publisher warns of: HDX's ``caveats``."""
    data_modified: str | None = None
    """When the data, not its description, last changed: HDX's ``last_modified``."""
    metadata_modified: str | None = None
    """The source's own stamp, letter for letter: a re-run takes the same stamp for the same record."""
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
        """Whether all its fields are known; see `crawlers.values.lazy_dataset.LazyDataset`."""
        return True

    def amend(self, change: Callable[[Dataset], None]) -> None:
        """Change its fields.

        Args:
            change: gets the dataset, with all its fields.
        """
        change(self)

    def derive(self) -> None:
        """Fill in what other fields say: creator and maintainer by their roles, the country if all places have one."""
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

    path: Path
    size: int
    sha256: str
    md5: str

    def discard(self) -> None:
        """Delete it, if it was not moved away."""


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
    """file, page (searched for links), form, or the service that was asked for its capabilities: wms, wfs ..."""
    state: State = "unknown"
    status: int = 22
    """ckanext-archiver's status_id: 0, 1, 10, 11, 12, 21, 22, 23."""
    error: str | None = None
    """The kind of failure, one of `crawlers.signals.KINDS` or a word of its own; ``None`` for what was kept."""
    reason: str | None = None
    """Why it is not kept, or what is odd about it: one sentence."""
    is_broken: bool | None = False
    """``None`` if that is not known: a time-out, a 403, a server's error."""
    http_status: int | None = None
    redirects: list[str] = field(default_factory=list)
    """The addresses that the first one led to, the last of them the one that answered."""
    headers: list[list[str]] = field(default_factory=list)
    """Of the answer, as pairs of name and value."""
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
