"""A finished OUTPUT_DIR: what crawls of eight catalogues left, made once in a test's process.

Tests of what shows it read it: pages, reports, exports, the index. Nobody writes into it; a test that does has a copy.
"""

from __future__ import annotations

import json
import shutil
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.conftest import options, scrapy
from tests.portal.dcat import Catalogue
from tests.portal.html.drupal import Drupal
from tests.portal.html.linked import SchemaOrg
from tests.portal.portal import Portal
from tests.site import Answer, Asked, Site, listing

if TYPE_CHECKING:
    from collections.abc import Iterator

RULES = Path(__file__).parent / "rules"
SOURCES = {"agency": 9, "broken": 40, "city": 6, "hdx": 20, "hostile": 19, "museum": 7, "nation": 8, "rivers": 60}
"""How many datasets each has. What broken and agency lack is in their errors."""
SCRIPT = "<script>document.title = 'owned'</script>"
IDS = (
    *("../../../etc/passwd", "..", ".", "a/b", "a//b", "/a", "a/", "a?b=1&c#d", "100%2F%2e%2e", "back\\slash"),
    *('"><b>', "' OR 1=1 --", "datasets", "ü 測試 🌊", "\u202egnp.exe", "+ +", ";x", "://", "{{ 7*7 }}"),
)
"""The datasets of hostile."""


@dataclass(frozen=True)
class Finished:
    folder: Path

    @property
    def output(self) -> Path:
        return self.folder / "output"

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def jobs(self) -> Path:
        return self.folder / "jobs"

    def copy(self, folder: Path, *sources: str) -> Finished:
        """Copy it, for a test that changes something; of the sources that are named alone, without an index."""
        made = Finished(folder / "copy")
        for source in sources:
            shutil.copytree(self.output / source, made.output / source)
        if not sources:
            shutil.copytree(self.folder, made.folder)
        return made


def finish(folder: Path) -> Finished:
    """Crawl everything into a folder."""
    made = Finished(folder)
    made.logs.mkdir()
    with catalogues(folder) as found:
        for source, (spider, given) in found.items():
            log = {"LOG_FILE": str(made.logs / f"{source}.log"), "RETRY_TIMES": "0", "ROBOTSTXT_OBEY": "0"}
            ran = scrapy("crawl", spider, *options(made.output, log, source=source, **given))
            assert ran.returncode == (3 if source in ("agency", "broken") else 0), ran.stderr
    return made


@contextmanager
def catalogues(folder: Path) -> Iterator[dict[str, tuple[str, dict[str, str]]]]:
    """Start a server for each source; yield its spider and arguments."""
    with ExitStack() as stack:
        rivers = stack.enter_context(Portal(datasets=SOURCES["rivers"]))
        hdx = stack.enter_context(Portal(datasets=SOURCES["hdx"]))
        broken = stack.enter_context(
            Portal(datasets=SOURCES["broken"], faults=("gone=download_metadata", "error=_show"))
        )
        nation = stack.enter_context(Catalogue(SOURCES["nation"], serialisation="ttl"))
        agency = stack.enter_context(Catalogue(SOURCES["agency"], serialisation="data.json", faults={"duplicates": ""}))
        museum = stack.enter_context(SchemaOrg(SOURCES["museum"]))
        city = stack.enter_context(Drupal(SOURCES["city"]))
        hostile = stack.enter_context(Site(worst))
        yield {
            "rivers": ("ckan", {"portal": rivers.url}),
            "hdx": ("hdx", {"portal": hdx.url, "level": "both"}),
            "broken": ("hdx", {"portal": broken.url}),
            "nation": ("dcat", {"url": nation.address}),
            "agency": ("dcat", {"url": agency.address}),
            "museum": ("html", {"rules": rules(folder, "schema_org", museum.url)}),
            "city": ("html", {"rules": rules(folder, "drupal", city.url)}),
            "hostile": ("ckan", {"portal": hostile.url}),
        }


def rules(folder: Path, family: str, url: str) -> str:
    path = folder / f"{family}.toml"
    path.write_text((RULES / path.name).read_text(encoding="utf-8").replace("{url}", url), encoding="utf-8")
    return str(path)


def worst(asked: Asked) -> Answer:
    """Answer as a portal that sends the worst ids and titles there are."""
    records = sorted((record(number, one) for number, one in enumerate(IDS)), key=lambda one: one["id"])
    first = int(asked.parameters.get("start", 0))
    found = listing(*records)
    body = json.loads(found.body)
    body["result"]["results"] = records[first:] if asked.parameters.get("rows") != "0" else []
    return Answer(json.dumps(body).encode())


def record(number: int, dataset_id: str) -> dict[str, Any]:
    return {
        "id": dataset_id,
        "name": f"hostile-{number}",
        "title": f"{SCRIPT} \u202e{'Z' + chr(0x301) * 200} \x00 {number}",
        "notes": f'"><img src=x onerror=alert(1)> flood {{{{ 7*7 }}}} \n\n{SCRIPT}'
        + "long " * (60_000 if number == 0 else 1),
        "url": "javascript:alert(1)",
        "author": SCRIPT,
        "license_title": "</style><script>",
        "organization": {"id": "o", "title": "</title><svg onload=alert(1)>"},
        "tags": [{"name": SCRIPT, "display_name": SCRIPT}],
        "metadata_modified": "2026-01-01T00:00:00",
        "resources": [
            {"id": "1", "name": SCRIPT, "url": "javascript:alert(1)", "format": "<b>"},
            {"id": "2", "name": "fine", "url": "https://files.example.org/a b.csv?x=%22", "format": "CSV"},
            {"id": "3", "name": "secret", "url": "https://me:hidden@files.example.org/", "format": "CSV"},
        ],
    }
