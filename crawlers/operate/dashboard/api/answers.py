"""What the JSON API answers: its fields have the names that the files on disk and the commands' ``--json`` have."""

from __future__ import annotations

from typing import Annotated, Any, Self

import msgspec
from msgspec import Meta, Struct

from crawlers.operate.sources.source import Review
from crawlers.store.index.columns import DATASETS, RESOURCES, Column
from crawlers.store.runs import State

Next = Annotated[str | None, Meta(description="The address of the next page; null if this is the last one.")]


class Answer(Struct, kw_only=True):
    """An answer; all of its fields are always there."""

    @classmethod
    def from_fields(cls, found: object) -> Self:
        """Return the answer that has the fields of an object that are its own."""
        return cls(**{field.name: getattr(found, field.name) for field in msgspec.structs.fields(cls)})


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
    contact: str | None
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

    snippet: Annotated[str, Meta(description="The part of its description that has the first of the words.")]


class Found(Answer):
    """A page of the datasets found, the most relevant first; a search leads to the first 2,000."""

    total: Annotated[int, Meta(description="How many datasets have the words.")]
    datasets: list[FoundDataset]
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
