"""The errors after the last runs, by kind: how many, in which sources, what they mean and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlers.signals import KINDS

if TYPE_CHECKING:
    import sqlite3


ADVICE = {
    "http": "See http_status: 404 is gone and 403 not public; at 5xx or 429 run again later, or more slowly.",
    "timeout": "Run again, with a smaller -a rows= or a larger DOWNLOAD_TIMEOUT.",
    "dns": "Check the address, and your network.",
    "connection": "Check the address; tell the operator of a bad certificate.",
    "truncated": "Run again, with a smaller -a rows=.",
    "too_large": "Take a smaller -a rows=; of a catalogue, its Turtle or RDF/XML; else raise the limit.",
    "not_json": "Open the address: is it the portal's root that you gave?",
    "not_rdf": "Open the address, and give that of the catalogue itself.",
    "invalid_rdf": "Look at the line that the error names, tell the operator, and try another serialisation.",
    "unsafe_xml": "Tell the operator, and try another serialisation.",
    "not_html": "Narrow [links] in the rules.",
    "browser": "The error says why; -s BROWSER_EXECUTABLE=PATH names a browser that is elsewhere.",
    "xpath": "Make that XPath of the rules simpler: name an id or a class, and search the page once.",
    "not_sitemap": "Look for it in the site's robots.txt, and name it as paging.sitemap in the rules.",
    "missing_field": "Try the rules on the address with scrapy try: the site may have changed.",
    "trap": "See what the last pages of the listing were; narrow the rules, or raise max_pages or depth.",
    "offsite": "If it is a dataset, name its host in hosts of the rules.",
    "remote_context": "Try another serialisation.",
    "refused": "Read the error, and check q and fq; where it names a dataset, the portal can't give that record.",
    "blocked": "Stop and wait, then go more slowly, with CONTACT set; ask the operator.",
    "robots": "Ask the operator.",
    "unsupported": "Ask the operator for Dublin Core or RDF; the record is at its url.",
    "missing_id": "Tell the operator.",
    "duplicate_id": "Tell the operator.",
    "undescribed": "Tell the operator; or is the address that of one page of several?",
    "no_datasets": "Check that the address is the catalogue's: a feed, a sitemap or a CKAN action is none.",
    "invalid_record": "Look at the document, and tell the operator.",
    "count_mismatch": "Run again; if it stays, the portal counts wrong.",
    "unproven": "Read the error; give the rules a total, a pager, or next = false.",
    "feed": "Read the error, make the place writable or the storage's package available, then run again.",
    "shrink": "Look at the portal; if so much is gone indeed, run once with a higher SHRINK_LIMIT.",
    "paging": "Run again, at a quiet hour.",
    "forbidden_address": "Look at the address; if it may be asked, name its host in ALLOWED_PRIVATE_HOSTS.",
    "ignored": "Read the error and the log.",
    "unaccounted": "Run again; if it stays, look for a middleware or a setting of yours that drops requests.",
    "broken_link": "Tell the publisher; scrapy dashboard lists them by host and publisher.",
    "not_taken": "Read the error; a larger ARCHIVE_MAX_SIZE takes larger files.",
    "disk": "Free some space or mend the rights, then run again.",
    "bug": "Please report it, with its line of errors.jsonl.",
}


_BROKEN = "SELECT * FROM broken WHERE source IN (SELECT value FROM json_each(?)) ORDER BY count DESC, source"


def errors(db: sqlite3.Connection, names: str) -> list[dict[str, Any]]:
    """Return a row for each kind of error, the most frequent first; so are its sources."""
    found: dict[str, dict[str, Any]] = {}
    for row in db.execute(_BROKEN, (names,)):
        kind = found.setdefault(row["kind"], _kind(row["kind"]))
        kind["count"] += row["count"]
        kind["sources"].append({"source": row["source"], "run": row["run"], "count": row["count"]})
    return sorted(found.values(), key=lambda kind: (-kind["count"], kind["kind"]))


def _kind(kind: str) -> dict[str, Any]:
    """Return the row of a kind; an unknown kind is from another version, since the index may be older."""
    return {"kind": kind, "count": 0, "sources": [], "meaning": KINDS.get(kind, ""), "advice": ADVICE.get(kind, "")}
