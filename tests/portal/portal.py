"""The portal as a test sees it: started in a process or a thread of its own, asked what was asked of it, ended."""

import json
import select
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, Request, build_opener

from tests.portal.faults import WRITE
from tests.portal.server import Server, arguments, built

SERVER = Path(__file__).with_name("server.py")
START_SECONDS = 120
STOP_SECONDS = 5


class Portal:
    """A CKAN portal on the loopback.

        with Portal(faults=("cut_json_over=10",)) as portal:
            crawl(portal.url)
            assert portal.requests("download_metadata") == 915

    Without faults it behaves as a healthy portal does.
    """

    in_thread = False  # of the caller's process, which costs a tenth of a process

    def __init__(
        self,
        datasets: int = 305,
        *,
        resources: int = 3,
        rows_max: int = 100,
        prefix: str = "",
        faults: Sequence[str] = (),
        latency: float = 0.0,
        log: bool = True,
    ) -> None:
        self.command = [
            *(sys.executable, str(SERVER), "--until-eof", "--quiet"),
            *("--datasets", str(datasets), "--resources", str(resources), "--rows-max", str(rows_max)),
            *("--prefix", prefix, "--latency", str(latency)),
            *(f"--fault={fault}" for fault in faults),
            *([] if log else ["--no-log"]),
        ]
        self.url = ""
        self.process: subprocess.Popen[str] | None = None
        self.server: Server | None = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> Self:
        if self.in_thread:
            options = arguments(self.command[2:])
            self.server = Server(options.port, built(options))
            self.server.begin()
            self.url = self.server.address
            return self
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = _first_line(self.process.stdout)
        if not self.url:
            self.stop()
            raise RuntimeError(f"The portal did not start: {' '.join(self.command)}")
        return self

    def stop(self) -> None:
        server, self.server = self.server, None
        if server:
            server.end()
        process, self.process = self.process, None
        if not process:
            return
        process.terminate()
        try:
            process.communicate(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()

    def log(self) -> list[dict[str, Any]]:
        """Every request so far: method, path with its query, body of a POST, user_agent, time."""
        entries: list[dict[str, Any]] = self._ask("log")
        return entries

    def counts(self) -> dict[str, int]:
        """How often each path was asked for, whatever its query."""
        counts: dict[str, int] = self._ask("counts")
        return counts

    def requests(self, substring: str = "") -> int:
        if not substring:
            return sum(self.counts().values())
        return sum(substring in entry["path"] for entry in self.log())

    def ids(self) -> list[str]:
        """Of all datasets there are now, in order."""
        ids: list[str] = self._ask("ids")
        return ids

    def reset(self) -> None:
        """Forgets the log."""
        self._ask("reset", {})

    def change(self, **changes: Any) -> dict[str, Any]:
        """touch=[...], remove=[...], purge=[...], add=n, rename={id: name}, edit={id: {field: value}}, put=[packages].

        schemas={type: [fields]} declares types as ckanext-scheming does.

        Removed is what CKAN calls deleted: hidden from all but a token, until it is purged. An edit moves no stamp.
        Gives the ids added and how many datasets there are now.
        """
        answer: dict[str, Any] = self._ask("change", changes)
        return answer

    def packages(self) -> dict[str, dict[str, Any]]:
        """Every dataset as it is now, deleted ones too, by id."""
        found: dict[str, dict[str, Any]] = self._ask("packages")
        return found

    def tables(self) -> dict[str, dict[str, Any]]:
        """The datastore's by resource: their fields, key and rows."""
        found: dict[str, dict[str, Any]] = self._ask("tables")
        return found

    def add_rows(self, resource_id: str, rows: list[dict[str, Any]]) -> None:
        """Rows that somebody else writes into a table."""
        self._ask("rows", {"resource_id": resource_id, "rows": rows})

    def writes(self) -> list[dict[str, Any]]:
        """The requests that may change something."""
        return [entry for entry in self.log() if WRITE.search(entry["path"])]

    def fault(self, **faults: Any) -> None:
        """Switches faults: a value, True when there is none to give, None for off."""
        self._ask("fault", faults)

    def _ask(self, name: str, content: dict[str, Any] | None = None) -> Any:
        parts = urlsplit(self.url)
        body = None if content is None else json.dumps(content).encode()
        request = Request(f"{parts.scheme}://{parts.netloc}/_portal/{name}", body)
        with build_opener(ProxyHandler({})).open(request, timeout=60) as answer:
            return json.load(answer)


def _first_line(output: IO[str] | None) -> str:
    ready = output and select.select([output], [], [], START_SECONDS)[0]
    return output.readline().strip() if output and ready else ""
