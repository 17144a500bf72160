"""Portals and extensions of weeks, made up: their documents, the manifest's lines, and their time series."""

from __future__ import annotations

import hashlib
import json
import random
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from crawlers.items import Extension, Site
from crawlers.safety import strict_json
from crawlers.safety.names import Names
from crawlers.store import timeseries

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from crawlers.items import Profile

FIRST = date(2026, 1, 4)
FACTS = ("num_datasets", "ckan_version")
VERSIONS = ("2.8.12", "2.9.11", "2.10.4", "2.11.0")


def weeks(many: int) -> list[str]:
    return [(FIRST + timedelta(weeks=number)).isoformat() for number in range(many)]


def written(output: Path, source: str, profiles: Iterable[Profile]) -> Path:
    """Write the documents of profiles as a run does; return the source's folder."""
    folder = output / source
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "manifest.jsonl").open("a", encoding="utf-8") as manifest:
        for profile in profiles:
            body, file = strict_json.dumps(profile.document), Names().profile(profile.kind, profile.id)
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_bytes(body)
            line: dict[str, Any] = {"kind": profile.kind, "dataset_id": profile.id, "metadata_file": file}
            line |= {"sha256": hashlib.sha256(body).hexdigest(), "bytes": len(body), "status": "new"}
            line |= {"run": "20261122T020000Z", "time": "2026-11-22T02:00:05.250Z"}
            manifest.write(json.dumps(line) + "\n")
    return folder


def site(identifier: str, **facts: Any) -> Site:
    document = {"id": identifier, "name": identifier, "url": f"https://{identifier}.example", "state": "up", **facts}
    return Site(source="ckan_sites", id=identifier, name=identifier, document=document)


def extension(identifier: str, **facts: Any) -> Extension:
    document = {"id": identifier, "name": identifier, "state": "found", **facts}
    return Extension(source="ckan_extensions", id=identifier, name=identifier, document=document)


def ecosystem(output: Path, portals: int = 30, many: int = 20, missed: Iterable[int] = ()) -> Path:
    """Make portals that were observed in some weeks, but for those missed; each fifth one is down in the last one."""
    last: dict[str, dict[str, Any]] = {}
    folder = output / "ckan_sites"
    folder.mkdir(parents=True, exist_ok=True)
    for week, day in enumerate(weeks(many)):
        found = {f"portal-{number:03}": _facts(number, week, is_last=week == many - 1) for number in range(portals)}
        if week not in set(missed):
            timeseries.write(folder, day, _measures(found))
            last |= {name: facts for name, facts in found.items() if facts["num_datasets"] is not None}
    chance = random.Random(1)
    made = [_site(name, facts, last.get(name), many, chance) for name, facts in found.items()]
    return written(output, "ckan_sites", made)


def _site(
    name: str, facts: Mapping[str, Any], last: Mapping[str, Any] | None, many: int, chance: random.Random
) -> Site:
    """Return a portal with the last known facts if it is down; each seventh one has no place."""
    day_before, day = weeks(many)[-2:] if many > 1 else weeks(1) * 2
    known: dict[str, Any] = {"country": "KE", "checked": f"{day}T02:00:01Z", "title": f"The data of {name}"}
    if facts["num_datasets"] is None and last:
        earlier = {fact: {"value": last[fact], "day": day_before} for fact in FACTS}
        known |= {"reason": "HTTP 503", "last_known": earlier}
    if int(name[-3:]) % 7 != 6:
        known |= {"latitude": round(chance.uniform(-55, 70), 2), "longitude": round(chance.uniform(-170, 175), 2)}
    return site(name, **facts, **known)


def _facts(number: int, week: int, *, is_last: bool) -> dict[str, Any]:
    is_down = (number % 5 == 4 and is_last) or (number % 6 == 2 and week % 9 == 4)
    version = VERSIONS[min(3, (number * 7 + week) // 12 % 4 + (week > 9))]
    numbers = {"num_datasets": 100 * (number + 1) + week * (number % 4), "num_resources": 300 * (number + 1) + 5 * week}
    known: Mapping[str, Any] = {**numbers, "ckan_version": version, "num_organizations": 3 + number % 9}
    return {**(dict.fromkeys(known) if is_down else known), "state": "down" if is_down else "up"}


def _measures(found: Mapping[str, Mapping[str, Any]]) -> Iterable[timeseries.Measure]:
    return ((name, metric, value) for name, facts in found.items() for metric, value in timeseries.measures(facts))
