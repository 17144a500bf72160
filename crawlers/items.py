"""What a crawl collects, whatever the source: DCAT 3's words, ISO 8601 dates, ``None`` for absent.

`Dataset` is the normalised record and goes to feeds (``-O datasets.jsonl``). Its ``document``, the record as the
publisher gave it, goes to disk. `Export` is a document that is asked for besides the listing, and no more than that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal

Kind = Literal["dataset", "dataset_metadata", "resource_metadata"]
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
