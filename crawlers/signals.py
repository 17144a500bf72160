"""Signals of this project, sent through Scrapy's ``crawler.signals``, and what they carry.

Datasets travel as items, failures as signals: a failure is not a dataset, and a feed contains only datasets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

record_failed = object()
"""Something is missing because of a failure, or could not be read in full. Sent with ``failed``, a `Failed`.

It becomes a line of errors.jsonl; one whose kind is a flaw's, and whose dataset's document is kept, of flaws.jsonl.
"""

dataset_withdrawn = object()
"""A dataset that was listed once is no longer at the portal.

Sent with ``kind`` (of its document), ``dataset_id``, ``url`` (where it was not), ``reason``, a `Reason`, and
``renamed_to``, the id that it has now, if that is known.
"""

Reason = Literal["not found", "no longer public", "deleted", "no longer in the filter", "renamed", "excluded"]
"""The reason of a withdrawal: the portal does not know it, does not show it to us, or marks it as deleted.

What is no longer in the filter is still at the portal, and not in what the crawl's arguments select.

Renamed is a dataset, or a repository, that has another document now, under its new id. An excluded one is still there,
and the operator of the harvest does not want it.
"""

items_kept = object()
"""Items have been through the pipelines, as one batch. Sent with ``items``; Scrapy's ``item_scraped`` follows for each.
"""

run_judged = object()
"""A run has its verdict, and its report is written next. Sent with ``report``, what will be in runs/<run>.json, and
``folder``, the source's `Path`. A failure that a receiver reports is part of the verdict.
"""

run_ended = object()
"""A run has its report. Sent with ``report``, what is in runs/<run>.json, and ``folder``, the source's `Path`."""

plan_ready = object()
"""A publish has its plan and has written nothing. Sent with ``plan``; it goes on if a receiver returns ``True``."""

OUTCOMES = ("new", "updated", "unchanged", "withdrawn", "restored", "fallback", "failed")
"""The outcomes of a run's documents: the counts of its report."""

Stage = Literal["start", "list", "fetch", "parse", "write"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """One line of errors.jsonl or of flaws.jsonl, without what the report adds (time, run)."""

    stage: Stage
    kind: str
    error: str
    """One sentence."""
    url: str | None = None
    http_status: int | None = None
    attempts: int | None = None
    dataset_id: str | None = None
    dataset_name: str | None = None
    dataset_title: str | None = None
    resource_id: str | None = None
    field: str | None = None
    """The field that a flaw is about, in the words of the record; of a failure, one that could not be read."""
    missing: str | None = None
    """The kind of the document that is missing for it; none is when the record was kept all the same."""
