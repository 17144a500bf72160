"""What the JSON API answers: its fields have the names that the files on disk and the commands' ``--json`` have."""

from __future__ import annotations

from typing import Annotated, Any, Self

import msgspec
from msgspec import Meta, Struct

from crawlers.operate.sources.source import Review
from crawlers.store.runs import State

Next = Annotated[str | None, Meta(description="The address of the next page; null if this is the last one.")]


class Answer(Struct, kw_only=True):
    """An answer; all of its fields are always there."""

    @classmethod
    def from_fields(cls, found: object) -> Self:
        """Return the answer that has the fields of an object that are its own."""
        return cls(**{field.name: getattr(found, field.name) for field in msgspec.structs.fields(cls)})


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


class Resource(Answer):
    """A file or service of a dataset."""

    position: int
    resource_id: str | None
    title: str | None
    url: str | None
    format: str | None
    media_type: str | None
    size: Annotated[int | None, Meta(description="Bytes.")]
    license: str | None
    issued: str | None
    modified: str | None
    checksum: Annotated[str | None, Meta(description="The algorithm, a colon, the value.")]
    description: str | None
    availability: Annotated[str | None, Meta(description="How long it will be there: STABLE, TEMPORARY ...")]
    status: str | None
    services: Annotated[list[dict[str, str]], Meta(description="Programmes that give the data: title, url.")]


class Change(Answer):
    """What a run wrote or marked of a dataset."""

    time: str
    status: Annotated[str, Meta(description="new, updated, withdrawn or restored.")]
    run: str


class Dataset(Answer):
    """A dataset with its resources and its history, each up to 1,000; texts are cut as in the index."""

    source: str
    dataset_id: str
    withdrawn: bool
    name: str | None
    title: str | None
    identifier: str | None
    uri: str | None
    landing_page: str | None
    issued: str | None
    modified: str | None
    data_modified: str | None
    version: str | None
    frequency: Annotated[str | None, Meta(description="A code of the EU's vocabulary: DAILY, IRREG ...")]
    publisher: str | None
    contact: str | None
    contact_email: str | None
    license: str | None
    access_rights: str | None
    rights: str | None
    temporal_start: str | None
    temporal_end: str | None
    keywords: list[str]
    themes: list[str]
    languages: list[str]
    spatial: list[dict[str, str]]
    conforms_to: list[str]
    formats: list[str]
    creator: str | None
    creator_email: str | None
    maintainer: str | None
    maintainer_email: str | None
    country: str | None
    state: Annotated[str | None, Meta(description="Of the country: a state, a province, a region.")]
    city: str | None
    spatial_resolution: Annotated[float | None, Meta(description="Metres.")]
    temporal_resolution: Annotated[str | None, Meta(description="A duration of ISO 8601: P1D.")]
    type: str | None
    status: Annotated[str | None, Meta(description="COMPLETED, DEPRECATED ..., or a word of the publisher's.")]
    version_notes: str | None
    relations: Annotated[list[dict[str, str]], Meta(description="What it has to do with: role, uri, title.")]
    documentation: list[str]
    sample: list[str]
    applicable_legislation: list[str]
    hvd_categories: list[str]
    provenance: str | None
    caveats: str | None
    description: str | None
    metadata_source: str | None
    metadata_url: str | None
    metadata_modified: str | None
    file: Annotated[str, Meta(description="Its document, relative to the source's folder.")]
    sha256: str
    resources: list[Resource]
    changes: Annotated[list[Change], Meta(description="The newest first.")]
