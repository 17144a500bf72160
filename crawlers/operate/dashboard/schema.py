"""What the JSON API takes and answers: fields have the names of the files on disk and of the commands' ``--json``."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeVar, cast

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from werkzeug.exceptions import BadRequest

from crawlers.exceptions import hint
from crawlers.operate.dashboard.addresses import here
from crawlers.operate.sources.source import Review
from crawlers.safety.redact import one_line
from crawlers.store.index.columns import DATASETS, RESOURCES, Column
from crawlers.store.index.search import Sort
from crawlers.store.runs import State

if TYPE_CHECKING:
    from collections.abc import Mapping

    from werkzeug.datastructures import MultiDict


Next = Annotated[str | None, Meta(description="The address of the next page; null if this is the last one.")]


class Answer(Struct, kw_only=True):
    """An answer; all of its fields are always there."""

    @classmethod
    def from_fields(cls, found: object) -> Self:
        """Return the answer that has the fields of an object that are its own."""
        return cls(**{name: getattr(found, name) for name in cls.__struct_fields__})


_TYPES: dict[str, Any] = {
    "text": str | None,
    "real": float | None,
    "integer": int | None,
    "list": list[str],
    "objects": list[dict[str, str]],
}


def _with(base: type[Answer], columns: tuple[Column, ...]) -> Any:
    """Return a class of answers that has these columns of the index, too."""
    fields = [(each.name, Annotated[_TYPES[each.type], Meta(description=each.says)]) for each in columns]
    return msgspec.defstruct(base.__name__, fields, bases=(base,), kw_only=True, module=__name__)


class Error(Answer):
    """Why there is no other answer."""

    error: Annotated[str, Meta(description="A sentence: what is wrong.")]


class Run(Answer):
    """A run, as `scrapy jobs --json` has it, without the paths of the machine."""

    source: str
    run: Annotated[str | None, Meta(description="Its name; null while it is pending.")]
    state: State
    spider: str | None
    arguments: dict[str, str]
    since: Annotated[str | None, Meta(description="Only what changed after this time was requested.")]
    started: str | None
    finished: str | None
    seconds: float | None
    expected: Annotated[int | None, Meta(description="How many datasets the catalogue has by its own word.")]
    listed: int
    counts: Annotated[dict[str, int], Meta(description="How many documents are new, updated, unchanged ...")]
    errors: Annotated[dict[str, int], Meta(description="How many errors there were of each kind.")]
    flaws: Annotated[dict[str, int], Meta(description="How many flaws of kept records stood after it, by kind.")]
    requests: int
    retries: int
    bytes: int
    resumed: bool
    pace: Annotated[float | None, Meta(description="Requests per second.")]
    why: Annotated[str, Meta(description="While it runs, why it waits; else why it ended.")]
    where: Annotated[str | None, Meta(description="The process that has it.")]


class Runs(Answer):
    """A page of runs, those that started last first."""

    runs: list[Run]
    next: Next


class ErrorLine(Answer):
    """A line of errors.jsonl, without credentials: something is missing because of a failure."""

    source: str
    time: str
    run: str | None
    stage: Annotated[str | None, Meta(description="start, list, fetch, parse or write.")]
    kind: str | None
    url: str | None
    http_status: int | None
    attempts: int | None
    dataset_id: str | None
    dataset_name: str | None
    resource_id: str | None
    error: Annotated[str | None, Meta(description="A sentence: what happened.")]


class Errors(Answer):
    """A page of errors of all runs, the newest first."""

    errors: list[ErrorLine]
    unread: Annotated[list[str], Meta(description="The sources whose errors.jsonl can't be read: it is damaged.")]
    next: Next


class Flaw(Answer):
    """A flaw that stands: a record is kept, and a part of it could not be read."""

    source: str
    dataset_id: Annotated[str | None, Meta(description="Null if it is a flaw of the source itself.")]
    resource_id: str | None
    field: str | None
    kind: str
    time: Annotated[str, Meta(description="When it appeared.")]
    run: Annotated[str, Meta(description="The run in which it appeared.")]
    dataset_name: str | None
    dataset_title: str | None
    url: str | None
    error: Annotated[str | None, Meta(description="A sentence: what could not be read.")]


class Flaws(Answer):
    """A page of the flaws that stand, by source, dataset, resource and field."""

    flaws: list[Flaw]
    next: Next


class DatasetChange(Answer):
    """What a run wrote or marked of a dataset."""

    time: str
    source: str
    dataset_id: str
    title: str | None
    name: str | None
    publisher: str | None
    status: Annotated[str, Meta(description="new, updated, withdrawn or restored.")]
    run: str
    fields: Annotated[list[str] | None, Meta(description="Which fields changed; null if that is not known.")]


class Changes(Answer):
    """A page of changes of datasets, the newest first."""

    changes: list[DatasetChange]
    next: Next


class Version(Answer):
    """A version of a document of a dataset: of its record, or of an export."""

    kind: Annotated[str, Meta(description="dataset, dataset_metadata, resource_metadata, site or extension.")]
    resource_id: str | None
    time: str
    run: str
    status: Annotated[str, Meta(description="new, updated, withdrawn or restored.")]
    reason: Annotated[str | None, Meta(description="Why it was withdrawn.")]
    sha256: str
    bytes: int
    fields: Annotated[list[str] | None, Meta(description="Which fields changed; null if that is not known.")]
    kept: Annotated[bool, Meta(description="Whether its bytes are kept.")]
    document: Annotated[str | None, Meta(description="The address of its bytes; null if they are not kept.")]


class Versions(Answer):
    """A page of versions of a dataset's documents, the newest first."""

    versions: list[Version]
    next: Next


class Document(Answer):
    """A document that a run wrote or marked."""

    time: str
    status: Annotated[str, Meta(description="new, updated, withdrawn or restored.")]
    kind: str | None
    dataset_id: str | None
    resource_id: str | None
    title: str | None
    file: str | None
    url: str | None


class Source(Answer):
    """A source, as `scrapy sources --json` has it, with its figures in the index."""

    name: str
    mistake: Annotated[str | None, Meta(description="What is wrong with its table in sources.toml.")]
    spider: str | None
    kind: Annotated[str | None, Meta(description="The kind of catalogue.")]
    address: Annotated[str | None, Meta(description="Where its catalogue is.")]
    enabled: Annotated[bool | None, Meta(description="Null if sources.toml does not have it.")]
    review: Annotated[Review | None, Meta(description="Whether it was approved; no harvest takes a refused one.")]
    review_comment: str | None
    schedule: str | None
    cron: str | None
    timezone: str | None
    retry: Annotated[list[float] | None, Meta(description="Seconds after which a failed run is tried again.")]
    contact: Annotated[str | None, Meta(description="Whom to ask at the catalogue.")]
    owner: Annotated[str | None, Meta(description="Who of yours answers for it.")]
    arguments: dict[str, str]
    settings: dict[str, Any]
    state: Annotated[State | None, Meta(description="Of its last run; null if there is none.")]
    run: str | None
    started: str | None
    next: Annotated[str | None, Meta(description="When its next run is due.")]
    due: bool
    reason: Annotated[str | None, Meta(description="Why it is due or not; null if sources.toml does not have it.")]
    datasets: Annotated[int, Meta(description="How many it has, without those withdrawn.")]
    withdrawn: int
    resources: int
    last_complete: Annotated[str | None, Meta(description="When its last complete run started.")]
    last_success: Annotated[str | None, Meta(description="When its last complete or partial run ended.")]


class Sources(Answer):
    """A page of sources, by name."""

    sources: list[Source]
    next: Next


class DatasetSummary(Answer):
    """A dataset in a list."""

    source: str
    dataset_id: str
    title: str | None
    name: str | None
    publisher: str | None
    modified: Annotated[str | None, Meta(description="When its data, else the dataset, was last modified, or issued.")]
    formats: list[str]
    file: Annotated[str, Meta(description="Its document, relative to the source's folder.")]
    withdrawn: Annotated[bool, Meta(description="Whether the catalogue no longer has it.")]


class Datasets(Answer):
    """A page of datasets, by source and id."""

    datasets: list[DatasetSummary]
    next: Next


class FoundDataset(DatasetSummary):
    """A dataset that a search found."""

    license: str | None
    snippet: Annotated[str, Meta(description="The part of its description that has the first of the words.")]
    places: Annotated[
        list[dict[str, str]],
        Meta(description="`source` and `dataset_id` of the same dataset elsewhere, which is no hit of its own."),
    ]


class Counted(Answer):
    """How many of the datasets found have a value."""

    value: str
    datasets: Annotated[int, Meta(description="At most 10,000, which stands for as many or more.")]


class Found(Answer):
    """A page of the datasets found; a search leads to the first 2,000."""

    total: Annotated[int, Meta(description="How many datasets are found; each place of a dataset counts.")]
    datasets: list[FoundDataset]
    facets: Annotated[
        dict[str, list[Counted]],
        Meta(description="The ten most frequent values, by the name of the filter; only on the first page."),
    ]
    counted: Annotated[int, Meta(description="Of how many datasets `facets` is; fewer than `total` for some of many.")]
    some: Annotated[bool, Meta(description="Whether no dataset has all of the words, and these have some of them.")]
    meant: Annotated[str, Meta(description="The words spelled as the index has them, if no dataset has all.")]
    next: Next


class _Resource(Answer):
    position: int
    resource_id: str | None


class Resource(_with(_Resource, RESOURCES)):  # type: ignore[misc]  # its other fields are the columns of the index
    """A file or service of a dataset."""


class Change(Answer):
    """What a run wrote or marked of a dataset."""

    time: str
    status: Annotated[str, Meta(description="new, updated, withdrawn or restored.")]
    run: str


class _Dataset(Answer):
    source: str
    dataset_id: str
    withdrawn: bool


class Dataset(_with(_Dataset, DATASETS)):  # type: ignore[misc]  # its other fields are the columns of the index
    """A dataset with its resources and its history, each up to 1,000; texts are cut as in the index."""

    formats: list[str]
    metadata_source: str | None
    metadata_url: str | None
    metadata_modified: str | None
    file: Annotated[str, Meta(description="Its document, relative to the source's folder.")]
    sha256: str
    resources: list[Resource]
    changes: Annotated[list[Change], Meta(description="The newest first.")]


Asked = TypeVar("Asked", bound="Question")
Values = TypeVar("Values", bound=tuple[Any, ...])

Name = Annotated[str, Meta(description="the name of a source", max_length=300)]
Status = Annotated[State, Meta(description="a state of a run: complete, incomplete, running ...")]
Since = Annotated[
    str,
    Meta(
        description="a date, in the source's time zone or, of all sources, in UTC; or a time with its offset",
        max_length=100,
    ),
]
Until = Annotated[str, Meta(description="as since; of a date, its end", max_length=100)]
Changed = Annotated[
    Literal["new", "updated", "withdrawn", "restored"],
    Meta(description="a status of a change: new, updated, withdrawn or restored"),
]
Publisher = Annotated[str, Meta(description="the name of a publisher, as datasets have it", max_length=1000)]
DatasetID = Annotated[str, Meta(description="the id of a dataset of the source")]
RunName = Annotated[str, Meta(description="the name of a run", max_length=300)]
KindName = Annotated[str, Meta(description="a kind of errors or flaws: http, timeout ...", max_length=100)]
Limit = Annotated[int, Meta(description="how many there are on a page, from 1 to 1000", ge=1, le=1000)]
After = Annotated[str, Meta(description="where the page begins, as `next` of the page before has it", max_length=3000)]


class Question(Struct, kw_only=True, forbid_unknown_fields=True):
    """The parameters of a path."""


class Page(Question):
    """A page of a list."""

    limit: Limit = 100
    after: After | UnsetType = UNSET


class OneSource(Question):
    """A source."""

    source: Name


class RunsPage(Page):
    """A page of runs."""

    source: Name | UnsetType = UNSET
    status: Status | UnsetType = UNSET
    since: Since | UnsetType = UNSET


class OneRun(Question):
    """A run."""

    source: Name
    run: RunName


class FailuresPage(Page):
    """A page of errors, or of flaws."""

    source: Name | UnsetType = UNSET
    run: RunName | UnsetType = UNSET
    kind: KindName | UnsetType = UNSET
    since: Since | UnsetType = UNSET


class DatasetsPage(Page):
    """A page of datasets."""

    source: Name | UnsetType = UNSET
    withdrawn: Annotated[bool, Meta(description="true to have withdrawn datasets, too, or false")] = False


class OneDataset(Question):
    """A dataset."""

    source: Name
    id: DatasetID


class ChangesPage(Page):
    """A page of changes."""

    source: Name | UnsetType = UNSET
    publisher: Publisher | UnsetType = UNSET
    status: Changed | UnsetType = UNSET
    since: Since | UnsetType = UNSET
    until: Until | UnsetType = UNSET


class VersionsPage(Page, kw_only=True):
    """A page of a dataset's versions."""

    source: Name
    id: DatasetID


class OneVersion(Question):
    """A version of a document of a dataset."""

    source: Name
    id: DatasetID
    sha256: Annotated[str, Meta(description="its SHA-256, as the list of versions has it", pattern="^[0-9a-f]{64}$")]


class SearchPage(Question):
    """A page of a search."""

    q: Annotated[str, Meta(description="words and filters, as the page takes them", min_length=1, max_length=500)]
    source: Name | UnsetType = UNSET
    sort: Annotated[Sort, Meta(description="the order: relevance, modified, issued or title")] = "relevance"
    withdrawn: Annotated[bool, Meta(description="true to find withdrawn datasets, too, or false")] = False
    limit: Annotated[int, Meta(description="how many there are on a page, from 1 to 100", ge=1, le=100)] = 20
    after: After | UnsetType = UNSET


def unpaged(kind: type[Question]) -> type[Question]:
    """Return the parameters of a list that comes in one piece: those of its pages, but for where a page is."""
    pages = {field.name for field in msgspec.structs.fields(Page)}
    fields = (field for field in msgspec.structs.fields(kind) if field.name not in pages)
    found = [(field.name, field.type, field.default) for field in fields]
    made = msgspec.defstruct(kind.__name__, found, bases=(Question,), kw_only=True, forbid_unknown_fields=True)
    return cast("type[Question]", made)


def parameters(kind: type[Question]) -> dict[str, dict[str, Any]]:
    """Return the JSON Schema of each parameter."""
    (schema,), components = msgspec.json.schema_components([kind])
    name = schema["$ref"].rpartition("/")[2]
    return dict(components[name]["properties"])


def required_of(kind: type[Question]) -> set[str]:
    """Return the parameters that a request must have."""
    return {field.name for field in msgspec.structs.fields(kind) if field.required}


def read(kind: type[Asked], path: Mapping[str, str], query: MultiDict[str, str]) -> Asked:
    """Return the parameters of a request.

    Args:
        kind: which parameters there are.
        path: those that are in the path.
        query: the others.

    Raises:
        BadRequest: one is unknown, missing, given twice, or not what it must be.
    """
    schemas = parameters(kind)
    for name, values in query.lists():
        if name not in schemas or name in path:
            raise BadRequest(f"There is no parameter {one_line(name, 100)!r}.{hint(name, schemas)}")
        if len(values) > 1:
            raise BadRequest(f"The parameter {name} is there {len(values)} times: give it once.")
    given = {**query.to_dict(), **path}
    for name in sorted(required_of(kind) - given.keys()):
        raise BadRequest(f"The parameter {name} is missing: {schemas[name]['description']}.")
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        name = str(error).rpartition("$.")[2].strip("`")
        wanted = schemas[name]["description"]
        raise BadRequest(f"{name} is {wanted}; it is not {one_line(given[name], 100)!r}.") from None


def next_page(path: str, asked: Question, after: str | None) -> str | None:
    """Return the address of the next page.

    Args:
        path: of the list.
        asked: the parameters of this page.
        after: the cursor of the next page; ``None`` if there is none.
    """
    fields = msgspec.structs.fields(asked)
    given = {field.name: value for field in fields if (value := getattr(asked, field.name)) != field.default}
    words = {name: json.dumps(value) if isinstance(value, bool) else value for name, value in given.items()}
    return here(path, **words | {"after": after}) if after else None


def cursor(*values: str | int) -> str:
    """Return where the next page begins, as a parameter.

    >>> position(cursor("hdx", "a/b"), tuple[str, str])
    ('hdx', 'a/b')
    """
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")


def position(after: str, kind: type[Values]) -> Values:
    """Return the values of a cursor.

    Args:
        after: the cursor.
        kind: the values' types: ``tuple[str, str]``.

    Raises:
        BadRequest: it is none.
    """
    try:
        found = json.loads(base64.urlsafe_b64decode(after + "=" * (-len(after) % 4)))
        json.dumps(found, ensure_ascii=False).encode()  # half a surrogate pair, which SQLite refuses, is none
        return msgspec.convert(found, kind)  # type: ignore[no-any-return]  # it is of that type
    except (ValueError, RecursionError):  # those of base64, JSON and msgspec
        raise BadRequest("after is none of this list: take it from `next` of the page before.") from None
