"""A real Scrapyd on the loopback, to which a checkout of this project is deployed."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode
from urllib.request import ProxyHandler, Request, build_opener

from tests.conftest import FAST, ROOT
from tests.ports import free_port
from tests.waiting import HANG, until

LOGIN = "tester:no secret"
PASSED_BY = (".git", ".venv", "output", "jobs", "__pycache__", ".*_cache", "*.egg-info")
CONFIGURATION = """
[scrapyd]
bind_address = 127.0.0.1
http_port = {port}
username = {user}
password = {password}
eggs_dir = {folder}/eggs
logs_dir = {folder}/logs
dbs_dir = {folder}/dbs
jobstorage = scrapyd.jobstorage.SqliteJobStorage
poll_interval = 0.1
max_proc = 3
"""


class Scrapyd:
    """A Scrapyd on the loopback, with a password, whose working directory is nowhere near its files.

    Attributes:
        folder: where it keeps eggs, logs and databases.
        home: its CRAWLERS_HOME, if it has one.
        python: that of the environment in which it is installed.
    """

    def __init__(self, folder: Path, home: Path | None, python: str | Path = sys.executable) -> None:
        self.folder, self.home, self.python = folder, home, python
        self.work = folder / "work"
        self.work.mkdir(parents=True)
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        for _ in range(5):  # another may take the port first
            self.port = free_port()
            self.url = f"http://127.0.0.1:{self.port}"
            if self._start():
                return self
        raise RuntimeError(f"Scrapyd does not start: {(self.folder / 'scrapyd.log').read_text()}")

    def __exit__(self, *_: object) -> None:
        if self.process:
            self.process.terminate()
            self.process.wait(30)

    def _start(self) -> bool:
        user, _, password = LOGIN.partition(":")
        words = {"port": self.port, "user": user, "password": password, "folder": self.folder}
        (self.work / "scrapyd.conf").write_text(CONFIGURATION.format(**words))
        home = {"CRAWLERS_HOME": str(self.home)} if self.home else {}
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SCRAPY"))}
        with (self.folder / "scrapyd.log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.python, "-m", "scrapyd"], cwd=self.work, env=environment | home, stdout=log, stderr=log
            )
        return bool(until(self.answers, unless=lambda: self.process is not None and self.process.poll() is not None))

    def answers(self) -> bool:
        try:
            return bool(self.ask("daemonstatus.json")["status"] == "ok")
        except OSError:
            return False

    def ask(self, name: str, login: str | None = LOGIN, **words: str) -> Any:
        return self._open(Request(f"{self.url}/{name}?{urlencode(words)}"), login)

    def tell(self, name: str, *settings: str, login: str | None = LOGIN, **words: str) -> Any:
        form = [("project", "crawlers"), *words.items(), *(("setting", setting) for setting in settings)]
        return self._open(Request(f"{self.url}/{name}", urlencode(form).encode()), login)

    def _open(self, request: Request, login: str | None) -> Any:
        if login:
            request.add_header("Authorization", "Basic " + base64.b64encode(login.encode()).decode())
        with build_opener(ProxyHandler({})).open(request, timeout=60) as answer:
            return json.load(answer)

    def deploy(self, project: Path, *words: str) -> subprocess.CompletedProcess[str]:
        """As a user does, with the address and the login that scrapy.cfg takes from the environment or says."""
        configuration = project / "scrapy.cfg"
        text = configuration.read_text().replace("http://localhost:6800/", self.url)
        elsewhere = project.parent / f"deploy-{self.port}"
        shutil.copytree(project, elsewhere)
        (elsewhere / "scrapy.cfg").write_text(text)
        user, _, password = LOGIN.partition(":")
        login = {"SCRAPYD_USERNAME": user, "SCRAPYD_PASSWORD": password}
        return scrapyd_deploy(elsewhere, *words, **login)

    def schedule(self, spider: str, *settings: str, **words: str) -> str:
        fast = (f"{name}={value}" for name, value in FAST.items())
        said = self.tell("schedule.json", *fast, *settings, spider=spider, **words)
        assert said["status"] == "ok", said
        return str(said["jobid"])

    def state(self, job: str) -> str | None:
        state: str | None = self.ask("status.json", job=job)["currstate"]
        return state

    def over(self, job: str) -> None:
        assert until(lambda: self.state(job) == "finished"), self.log_of(job)

    def log_of(self, job: str) -> str:
        """What the job logged."""
        return next((self.folder / "logs").rglob(f"{job}.log")).read_text()


def scrapyd_deploy(project: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).with_name("scrapyd-deploy"), *words],
        cwd=project,
        env=os.environ | environment,
        timeout=HANG,
        capture_output=True,
        text=True,
        check=False,
    )


def checkout(folder: Path) -> Path:
    """A clean copy of this project in a folder."""
    shutil.copytree(ROOT, folder / "project", ignore=shutil.ignore_patterns(*PASSED_BY))
    return folder / "project"
