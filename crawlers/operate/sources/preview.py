"""What `scrapy sources add --preview` shows: what an address is, its rules, and some records; nothing is written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import CrawlersError, SourcesError
from crawlers.operate.sources.detect import probe
from crawlers.operate.sources.dry_run import DryRun, coverage, dry_run, shown
from crawlers.safety.redact import redact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.operate.sources.add import Adding
    from crawlers.operate.sources.file import Call
    from crawlers.operate.sources.source import Source

RECORDS = 5
_FIELDS = ("title", "description", "publisher", "license", "keywords", "modified", "landing_page", "resources")
"""Of a record, what is shown."""


def preview(call: Call, adding: Adding) -> int:
    """Print what would be added, as text or as JSON; return the exit code."""
    found = _found(call, adding)
    if call.opts.json:
        print(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        print("\n".join(redact(line) for line in _lines(found)))
    return 1 if found["mistake"] else 0


def _found(call: Call, adding: Adding) -> dict[str, Any]:
    known: dict[str, Any] = {"mistake": None, "rules": None, "doubt": None, "question": "", "others": []}
    known |= dict.fromkeys(("spider", "kind", "verdict", "expected"))
    known |= {"arguments": {}, "enabled": True, "records": [], "coverage": [], "errors": {}, "flaws": {}}
    try:
        source = adding.typed() if adding.is_file else probe(call.command, adding.address, adding.asking())
        known |= _described(adding, source)
        if adding.learned is None or adding.learned.rules is not None:
            known |= _tried(_dry_run(call, adding, source))
    except CrawlersError as error:
        known["mistake"] = str(error)
    return known | {"notes": [*adding.detection.lines()]}


def _described(adding: Adding, source: Source) -> dict[str, Any]:
    given = adding.table.get("arguments", {})
    learned = adding.learned
    return {
        "spider": source.spider,
        "kind": adding.known.spiders[source.spider].kind,
        "arguments": {name: value for name, value in source.arguments.items() if name not in given},
        "enabled": source.enabled,
        "rules": learned.rules if learned else None,
        "doubt": learned and (learned.doubt or (None if learned.rules else learned.reason)),
        "question": adding.question,
        "others": [f"{other.kind}: {other.address}" for other in adding.others],
    }


def _dry_run(call: Call, adding: Adding, source: Source) -> DryRun:
    """Crawl some records, by learned rules that are in no file yet."""
    kind = adding.known.kind_of(source.spider)
    with TemporaryDirectory(prefix="preview-") as folder:
        if adding.learned and adding.learned.rules and kind:
            rules = Path(folder) / "rules.toml"
            rules.write_text(adding.learned.rules, encoding="utf-8")
            source = replace(source, arguments=source.arguments | {kind.address: str(rules)})
        return dry_run(source, adding.known, call.settings, call.output, RECORDS)


def _tried(found: DryRun) -> dict[str, Any]:
    fields = [field for field in coverage(found.records) if field.count]
    return {
        "verdict": found.verdict,
        "expected": found.expected,
        "records": [_record(record) for record in found.records[:RECORDS]],
        "coverage": [{"field": field.name, "count": field.count, "of": field.total} for field in fields],
        "errors": found.errors,
        "flaws": found.flaws,
    }


def _record(record: dict[str, Any]) -> dict[str, str]:
    return {name: shown(record[name]) for name in _FIELDS if record.get(name) not in (None, "", [], {})}


def _lines(found: dict[str, Any]) -> Iterator[str]:
    yield from found["notes"]
    if found["spider"]:
        arguments = ", ".join(f"{name} = {value}" for name, value in found["arguments"].items())
        yield f"Would be added: spider {found['spider']}, {arguments or 'its own address'}."
    if found["doubt"]:
        yield f"It would be disabled: {found['doubt']}."
    if found["question"]:
        yield found["question"]
    if found["verdict"]:
        total = "" if found["expected"] is None else f" of {found['expected']}"
        yield f"{found['verdict']}, {len(found['records'])}{total} datasets crawled:"
    for record in found["records"]:
        yield "  " + "; ".join(f"{name}: {value}" for name, value in record.items())
    if found["mistake"]:
        yield found["mistake"]


def read(text: str) -> dict[str, Any]:
    """Return what a preview printed as JSON.

    Raises:
        SourcesError: it is none.
    """
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict) or "mistake" not in found:
        raise SourcesError("The preview ended without a result: try again.")
    return found
