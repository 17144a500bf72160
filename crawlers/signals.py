"""Signals of this project, sent through Scrapy's ``crawler.signals``, and what they carry.

Datasets travel as items, failures as signals: a failure is not a dataset, and a feed contains only datasets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

record_failed = object()
"""Something is missing because of a failure. Sent with ``failed``, a `Failed`; becomes a line of errors.jsonl."""

dataset_withdrawn = object()
"""A dataset that was listed once is no longer at the portal.

Sent with ``dataset_id``, ``url`` (where it was not), and ``reason``, a `Reason`.
"""

Reason = Literal["not found", "no longer public", "deleted"]
"""The reason of a withdrawal: the portal does not know it, does not show it to us, or marks it as deleted."""

items_kept = object()
"""Items have been through the pipelines, as one batch. Sent with ``items``; Scrapy's ``item_scraped`` follows for each.
"""

run_ended = object()
"""A run has its report. Sent with ``report``, what is in runs/<run>.json, and ``folder``, the source's `Path`."""

OUTCOMES = ("new", "updated", "unchanged", "withdrawn", "restored", "fallback", "failed")
"""The outcomes of a run's documents: the counts of its report."""

Stage = Literal["start", "list", "fetch", "parse", "write"]

KINDS = {
    "http": "The portal answered with an HTTP error that retries did not cure.",
    "timeout": "The portal did not answer in time (DOWNLOAD_TIMEOUT).",
    "dns": "The portal's host name could not be resolved.",
    "connection": "The connection was refused, reset or not trusted (TLS).",
    "truncated": "The answer broke off: the connection ended too early, or the JSON does.",
    "too_large": "An answer or a document is larger than its limit: DOWNLOAD_, SPOOL_, JSON_ or DOCUMENT_MAXSIZE.",
    "not_json": "Something else came instead of JSON: an HTML page, a login.",
    "not_rdf": "Something else came instead of RDF or data.json, and led to neither: an HTML page, a PDF.",
    "invalid_rdf": "A statement of the RDF can't be read; what it belongs to may be incomplete, the rest is kept.",
    "unsafe_xml": "The XML declares entities that would blow it up, or hide what it says: it is not read.",
    "not_html": "Something else came instead of an HTML page: a PDF, an image.",
    "browser": "The browser that the rules ask for does not start.",
    "xpath": "An XPath of the rules takes too long on a page.",
    "not_sitemap": "Something else came instead of a sitemap.",
    "missing_field": "A dataset's page lacks what the rules require of it, so it is not kept.",
    "trap": "The listing goes on beyond max_pages or depth: a calendar, a session id; what was listed is kept.",
    "offsite": "A link or a redirect leads to a host that is not one of the catalogue's.",
    "remote_context": "The JSON-LD names a context that is not bundled with this project; nothing is fetched for it.",
    "refused": "The portal answered that it will not do this: `success` is false, or what was asked for is not in it.",
    "blocked": "A robot check or a firewall's challenge came; or too many did, or a wait of hours was asked for.",
    "robots": "The host's robots.txt disallows the address, or was not available.",
    "missing_id": "A record has no id, so it has no identity and is not kept.",
    "duplicate_id": "A record has the id of another dataset of the catalogue, so it is not kept.",
    "undescribed": "The catalogue names a dataset, but no page describes it.",
    "no_datasets": "What came is readable, and describes no dataset and no catalogue.",
    "unsupported": "A record is in a format that this project does not read yet, such as ISO 19115: it is not kept.",
    "invalid_record": "A part of a record can't be read, or the record can't be written as JSON; the rest is kept.",
    "count_mismatch": "The portal said how many datasets it has, and listed another number.",
    "unproven": "The listing ended, and nothing shows that it was whole: no total, no pager that came to its end.",
    "shrink": "More of the catalogue is gone than is believed at once: nothing was withdrawn.",
    "paging": "The portal's pages repeat or shifted while they were read.",
    "forbidden_address": "A redirect or a name led to an address that is not public, or not the portal's.",
    "ignored": "Scrapy or a middleware dropped the request: a redirect loop, an offsite filter.",
    "unaccounted": "Nothing was ever heard of something that was listed: its request was dropped on the way.",
    "broken_link": "A file that the catalogue links is not there; a finding, not a gap of the crawl.",
    "not_taken": "A linked file was not archived: too large, a page, an API. A finding, not a gap of the crawl.",
    "feed": "A feed (-o, -O, FEEDS) could not be stored; the documents on disk are not affected.",
    "disk": "A file could not be written.",
    "bug": "This project's own code failed; please report it.",
}
"""What can be in an error line's ``kind``, and what it means."""

FINDINGS = ("broken_link", "not_taken")
"""The kinds that say something about the catalogue, and do not make a crawl incomplete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """One line of errors.jsonl, without what the report adds (time, run)."""

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
    missing: str | None = None
    """The kind of the document that is missing for it; none is when the record was kept all the same."""
