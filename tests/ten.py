"""Ten catalogues of four kinds on the loopback, some of them faulty, and the sources.toml that names them."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.portal.dcat import Catalogue
from tests.portal.html.drupal import Drupal
from tests.portal.html.linked import SchemaOrg
from tests.portal.portal import Portal

RULES = Path(__file__).parent / "rules"
VERDICTS = dict.fromkeys(("river", "aid", "flaky", "ministry", "region", "agency", "city", "museum"), "complete")
VERDICTS |= {"walled": "blocked", "bureau": "incomplete"}
LATER = "2099-01-01T00:00:00"
ON_NODES = ("region", "city")
"""Those that a Scrapyd node harvests."""


class Ten:
    """
    with Ten(folder) as ten:
        harvest("-s", f"SOURCES_FILE={ten.sources}", "--all")
        ten.change()

    ``river``, ``aid`` (HDX's spider, with exports), ``flaky`` (503 once for every request) and ``walled`` (a robot
    check) are CKAN portals; ``ministry`` (an error on its second page) and ``region`` publish RDF, ``agency`` and
    ``bureau`` (which has an id twice) a data.json; ``city`` (a page that breaks off) and ``museum`` are HTML.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sources = folder / "sources.toml"
        self.stack = ExitStack()

    def __enter__(self) -> Self:
        enter = self.stack.enter_context
        self.river = enter(Portal(60, rows_max=10))
        self.aid = enter(Portal(12))
        self.flaky = enter(Portal(30, rows_max=5, faults=("unavailable=1",)))
        self.walled = enter(Portal(10, faults=("robot_check=action",)))
        self.ministry = enter(Catalogue(60, per_page=5, paging="hydra", faults={"http_500": "2:1", "etag": ""}))
        self.region = enter(Catalogue(60, per_page=5, paging="paged", serialisation="ttl"))
        self.agency = enter(Catalogue(40, serialisation="data.json", faults={"slow": "0.5", "etag": ""}))
        self.bureau = enter(Catalogue(20, serialisation="data.json", faults={"duplicates": "", "slow": "0.5"}))
        self.city = enter(Drupal(20, per_page=5, faults={"cut": "2:1", "etag": ""}))
        self.museum = enter(SchemaOrg(20, per_page=5, faults={"last_modified": ""}))
        self.sources.write_text(self.toml(), encoding="utf-8")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stack.close()

    def rearm(self) -> None:
        """The faults that come once come once more."""
        self.unsettle()
        self.ministry.failed.clear()
        self.city.failed.clear()

    def unsettle(self) -> None:
        """``flaky`` forgets what it has refused once."""
        self.flaky.fault(unavailable=None)
        self.flaky.fault(unavailable=1)

    def change(self) -> None:
        """What a day brings: one dataset of each catalogue is another."""
        self.unsettle()
        for portal in (self.river, self.aid, self.flaky):
            portal.change(edit={portal.ids()[3]: {"title": "Another title", "metadata_modified": LATER}})
        for catalogue in (self.ministry, self.region, self.agency, self.bureau):
            catalogue.change("d0003")
        for site in (self.city, self.museum):
            site.change(site.ids()[3])

    def arguments(self) -> dict[str, tuple[str, dict[str, str]]]:
        """Each source's spider and arguments."""
        portals = {name: ("ckan", {"portal": getattr(self, name).url}) for name in ("river", "flaky", "walled")}
        dcat = ("ministry", "region", "agency", "bureau")
        return {
            **portals,
            "aid": ("hdx", {"portal": self.aid.url, "level": "resource"}),
            **{name: ("dcat", {"url": getattr(self, name).address}) for name in dcat},
            "city": ("html", {"rules": self.rules("drupal", self.city.url)}),
            "museum": ("html", {"rules": self.rules("schema_org", self.museum.url)}),
        }

    def rules(self, family: str, url: str) -> str:
        path = self.folder / f"{family}.toml"
        path.write_text((RULES / f"{family}.toml").read_text(encoding="utf-8").replace("{url}", url), encoding="utf-8")
        return str(path)

    def toml(self) -> str:
        return "\n".join(_table(name, spider, given) for name, (spider, given) in self.arguments().items())


def _table(name: str, spider: str, arguments: dict[str, Any]) -> str:
    lines = [f"{key} = {json.dumps(value)}" for key, value in arguments.items()]
    return f'[{name}]\nspider = "{spider}"\nschedule = "daily"\n\n[{name}.arguments]\n' + "\n".join(lines) + "\n"
