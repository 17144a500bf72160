"""The verbs of `scrapy sources` that change tables: each prints what it did."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError
from scrapy.utils.conf import arglist_to_dict

from crawlers.kind import registered
from crawlers.operate.sources import edit as text
from crawlers.operate.sources import states

if TYPE_CHECKING:
    from crawlers.operate.sources.command import Call
    from crawlers.operate.sources.project_context import Known
    from crawlers.operate.sources.source import Source


def enable(call: Call) -> int:
    """Enable sources."""
    states.enable(call.file, call.names)
    return _print(call, "is enabled.")


def disable(call: Call) -> int:
    """Disable sources."""
    states.disable(call.file, call.names)
    return _print(call, "is disabled: --all and --due skip it.")


def approve(call: Call) -> int:
    """Approve sources."""
    states.approve(call.file, call.names, call.opts.why)
    return _print(call, "is approved.")


def refuse(call: Call) -> int:
    """Refuse sources.

    Raises:
        UsageError: no reason was given.
    """
    if not call.opts.why:
        raise UsageError("--why is missing: scrapy sources refuse NAME --why TEXT", print_help=False)
    states.refuse(call.file, call.names, call.opts.why)
    return _print(call, "is refused: no harvest takes it.")


def schedule(call: Call) -> int:
    """Set when a source is due; ``none``: only when it is named."""
    name, *words = call.names
    when = " ".join(words)
    states.change(call.file, [name], {"schedule": None if when.lower() == "none" else when})
    found = call.file.read()[0][name].schedule
    how = f"is due {found.text}, in {found.timezone}" if found else "has no schedule: --due skips it"
    print(f"[{name}] {how}.")
    return 0


def edit(call: Call) -> int:
    """Change arguments, settings, schedule and contact of a source; an empty value removes a key."""
    (name,), file = call.names, call.file
    keys = _given(call)
    if not keys:
        raise UsageError("scrapy sources edit takes -a, -s, --schedule or --contact.", print_help=False)
    states.change(file, [name], keys)
    print(f"[{name}] is changed: {', '.join(_changed(keys))}.")
    return 0


def _given(call: Call) -> dict[str, Any]:
    """Return the new values by key; ``None`` removes one.

    Raises:
        UsageError: ``-a`` is not NAME=VALUE.
    """
    try:
        arguments = arglist_to_dict(call.opts.spargs)
    except ValueError:
        raise UsageError("-a is not NAME=VALUE", print_help=False) from None
    tables = {"arguments": arguments, "settings": call.settings}
    found: dict[str, Any] = {
        key: {name: value or None for name, value in table.items()} for key, table in tables.items() if table
    }
    given = {key: getattr(call.opts, key) for key in ("schedule", "contact")}
    return found | {key: value or None for key, value in given.items() if value is not None}


def _changed(keys: dict[str, Any]) -> list[str]:
    """Return a text for each key that was changed."""
    leaves = [pair for value in keys.values() if isinstance(value, dict) for pair in value.items()]
    leaves += [pair for pair in keys.items() if not isinstance(pair[1], dict)]
    return [f"{name} is removed" if value is None else f"{name} = {value}" for name, value in leaves]


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
        stays = _what_stays(call.output / name, removed.get(name), file.known)
        print(f"[{name}] is removed from {file.path}.{stays}")
    return 0


def _what_stays(folder: Path, source: Source | None, known: Known) -> str:
    rules = _rules(source, known) if source else None
    purge = f"scrapy sources purge {folder.name} deletes them"
    harvested = f" Its documents stay in {folder}: {purge}." if folder.exists() else ""
    return harvested + (f" Its rules stay in {rules}." if rules and Path(rules).exists() else "")


def _rules(source: Source, known: Known) -> str | None:
    """Return the rules file of a source; ``None`` if its spider takes an address instead."""
    spider = known.spiders.get(source.spider)
    kind = registered().get(spider.kind) if spider else None
    return source.arguments.get(kind.address) if kind and kind.takes_file else None


def _print(call: Call, state: str) -> int:
    for name in call.names:
        print(f"[{name}] {state}")
    return 0
