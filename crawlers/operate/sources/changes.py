"""The verbs of `scrapy sources` that change tables: each prints what it did."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import Any

from scrapy.exceptions import UsageError

from crawlers.operate.sources import edit as text
from crawlers.operate.sources.file import Call
from crawlers.operate.sources.source import Known, Source


def set_state(call: Call) -> int:
    """Enable, disable, approve or refuse sources."""
    if call.verb == "refuse" and not call.opts.why:
        raise UsageError("--why is missing: scrapy sources refuse NAME --why TEXT", print_help=False)
    print("\n".join(call.file.set_state(call.verb, call.names, call.opts.why)))
    return 0


def schedule(call: Call) -> int:
    """Set when a source is due; ``none``: only when it is named."""
    name, *words = call.names
    when = " ".join(words)
    call.file.change([name], {"schedule": None if when.lower() == "none" else when})
    found = call.file.read()[0][name].schedule
    how = f"is due {found.text}, in {found.timezone}" if found else "has no schedule: --due skips it"
    print(f"[{name}] {how}.")
    return 0


def edit(call: Call) -> int:
    """Change arguments, settings, schedule and contact of a source; an empty value removes a key."""
    (name,), opts = call.names, call.opts
    tables = {"arguments": call.arguments, "settings": call.settings}
    changes: dict[str, Any] = {
        key: {inner: value or None for inner, value in table.items()} for key, table in tables.items() if table
    }
    leaves = [pair for table in changes.values() for pair in table.items()]
    given = {"schedule": opts.schedule, "contact": opts.contact}
    changes |= (others := {key: value or None for key, value in given.items() if value is not None})
    if not changes:
        raise UsageError("scrapy sources edit takes -a, -s, --schedule or --contact.", print_help=False)
    call.file.change([name], changes)
    said = (f"{key} is removed" if value is None else f"{key} = {value}" for key, value in (*leaves, *others.items()))
    print(f"[{name}] is changed: {', '.join(said)}.")
    return 0


def remove(call: Call) -> int:
    """Remove tables; what was harvested stays."""
    file, names = call.file, dict.fromkeys(call.names)
    removed: dict[str, Source] = {}

    def without(content: str) -> str:
        found, mistakes = file.parse(content)
        file.check(names, {**found, **mistakes})
        removed.update(found)
        return reduce(text.remove, names, content)

    text.write(file.path, without)
    for name in names:
        print(f"[{name}] is removed from {file.path}.{_what_stays(call.output / name, removed.get(name), file.known)}")
    return 0


def _what_stays(folder: Path, source: Source | None, known: Known) -> str:
    harvested = f" Its documents stay in {folder}: scrapy sources purge {folder.name} deletes them."
    kind = known.kind_of(source.spider) if source else None
    rules = source.arguments.get(kind.address) if source and kind and kind.takes_file else None
    return (harvested if folder.exists() else "") + (
        f" Its rules stay in {rules}." if rules and Path(rules).exists() else ""
    )
