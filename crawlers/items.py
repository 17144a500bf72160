"""What a crawl collects, whatever the source: DCAT 3's words, ISO 8601 dates, ``None`` for absent.

`Dataset` is the normalised record and goes to feeds (``-O datasets.jsonl``). Its ``document``, the record as the
publisher gave it, goes to disk. `Export` is a document that is asked for besides the listing, and no more than that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

if TYPE_CHECKING:
    from pathlib import Path

Kind = Literal["dataset", "dataset_metadata", "resource_metadata", "file"]
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
    spatial: list[Place] = field(default_factory=list)
    conforms_to: list[str] = field(default_factory=list)
    provenance: str | None = None
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
    flaws: list[str] = field(default_factory=list)
    """What of the record could not be read, a sentence each; the fields concerned are empty."""
    torn: bool = False
    """Whether something of the record may be lost, as of a file that can't be read whole: it replaces no document."""
    document: Document | None = None
    stored: Stored | None = None

    @property
    def is_mapped(self) -> bool:
        """Whether all its fields are known; see `LazyDataset`."""
        return True


class LazyDataset(Dataset):
    """A dataset whose fields are mapped when one that is not given is read: most records of a crawl are unchanged.

    Args:
        mapping: maps the record; called once at most.
        given: the fields that are known without it, as `Dataset` takes them.
    """

    __slots__ = ("_mapping", "_own")

    def __init__(self, mapping: Callable[[], Dataset] | None = None, **given: Any) -> None:
        known = {"torn": False, "stored": None} | given
        object.__setattr__(self, "_own", set(known))
        object.__setattr__(self, "_mapping", mapping)
        for name, value in known.items():
            object.__setattr__(self, name, value)

    @property
    def is_mapped(self) -> bool:
        return self._mapping is None

    def __setattr__(self, name: str, value: Any) -> None:
        self._own.add(name)
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        """Return it without mapping it: a line of the log must not fail."""
        return super().__repr__() if self.is_mapped else f"LazyDataset(source={self.source!r}, id={self.id!r}, ...)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dataset) and all(getattr(self, name) == getattr(other, name) for name in _FIELDS)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        """Map it: a copy is a plain dataset."""
        return _dataset, ({name: getattr(self, name) for name in _FIELDS},)

    def __getattr__(self, name: str) -> Any:
        """Map the record; called for a field that has no value yet."""
        if name.startswith("_") or self._mapping is None:
            raise AttributeError(name)
        self.map()
        return getattr(self, name)

    def map(self) -> None:
        """Map the record, if it is not mapped; a field that was given or set stays.

        Raises:
            Exception: whatever the mapping raises.
        """
        if self._mapping is None:
            return
        mapped = self._mapping()
        object.__setattr__(self, "_mapping", None)
        for name, its in _FIELDS.items():
            if name not in self._own:
                its.__set__(self, its.__get__(mapped))


def _dataset(given: dict[str, Any]) -> Dataset:
    return Dataset(**given)


_FIELDS = {one.name: Dataset.__dict__[one.name] for one in fields(Dataset)}


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
