"""How many requests each test makes of the tests' portals and sites, and that none makes more than before.

requested.csv has the fewest and the most that a test made in the runs that wrote the table; `make requests` writes it
anew. A test that makes more fails; one whose two numbers differ, and one that is not there, are not judged. What a
module's or the session's fixture asks is a row of its own, whichever test comes first. Take out the rows of tests that
kill or stop a crawl: what is asked then depends on the moment, though a few runs may agree.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

import pytest

from tests.portal.counting import FILE, counted

if TYPE_CHECKING:
    from collections.abc import Generator

Table = dict[str, tuple[int, int]]
TABLE = Path(__file__).with_suffix(".csv")
COLUMNS = ("test", "fewest", "most")


def read(path: Path) -> Table:
    with path.open(newline="") as file:
        return {row["test"]: (int(row["fewest"]), int(row["most"])) for row in csv.DictReader(file)}


def write(path: Path, table: Table) -> None:
    with path.open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(COLUMNS)
        rows.writerows((name, *numbers) for name, numbers in sorted(table.items()) if any(numbers))


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("requests")
    group.addoption("--count-requests", type=Path, metavar="FILE", help="write or widen a table, and judge nothing")
    group.addoption("--requests-at-most", type=Path, metavar="FILE", default=TABLE, help="fail tests that need more")


def pytest_configure(config: pytest.Config) -> None:
    file = NamedTemporaryFile(prefix="requests-")  # noqa: SIM115
    config.add_cleanup(file.close)
    os.environ[FILE] = file.name
    config.pluginmanager.register(Requested(config))


class Requested:
    """What each test and each wider fixture has asked."""

    def __init__(self, config: pytest.Config) -> None:
        self.written: Path | None = config.getoption("count_requests")
        self.before: Path = config.getoption("requests_at_most")
        self.table: Table = {} if self.written else read(self.before)
        self.found: Table = read(self.written) if self.written and self.written.exists() else {}
        self.named = 0

    def nameless(self) -> int:
        """Return how many requests came that belong to no test and no fixture yet."""
        return counted() - self.named

    def name(self, name: str, start: int) -> None:
        """Note the requests since then; fail if there are more than the table has."""
        requests = self.nameless() - start
        self.named += requests
        self.item.user_properties.append(("requests", (name, requests)))
        fewest, most = self.table.get(name, (0, requests))
        if fewest == most < requests:
            said = f"{name} made {requests} requests, {most} before. If it needs them, write so in {self.before.name}."
            pytest.fail(said, pytrace=False)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None]:
        self.item, self.start = item, self.nameless()
        yield

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, Any, Any]:
        start = self.nameless()
        made = yield
        if fixturedef.scope != "function":
            case = f"[{request.param_index}]" if hasattr(request, "param") else ""
            self.name(f"{fixturedef.baseid}::{fixturedef.argname}{case}", start)
        return made

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None]:
        yield
        self.name(item.nodeid, self.start)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take what was noted, in this process or in one of xdist's."""
        for key, value in report.user_properties if self.written and report.when == "teardown" else ():
            if key == "requests":
                name, requests = value
                fewest, most = self.found.get(name, (requests, requests))
                self.found[name] = min(fewest, requests), max(most, requests)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.written and not hasattr(session.config, "workerinput"):
            write(self.written, self.found)
