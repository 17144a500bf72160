"""compose.yaml: its schema, the image, the other recipes; and each service's command line, without a container."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from base64 import b64encode
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from jsonschema import Draft7Validator

from crawlers.fleet.database import checked
from tests.conftest import ROOT
from tests.dashboards import ask
from tests.needed import need, needs
from tests.ports import free_port
from tests.postgres import Postgres, postgres
from tests.test_workflow import accept
from tests.waiting import HANG, until

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["postgres"]
SCHEMA = Path(sys.prefix, "compose", "schema.json")
LOGIN = {"LOGIN": "ada:{PLAIN}correct horse"}
IN_IMAGE = "/catalogues"


def compose(**given: str) -> dict[str, Any]:
    """Return what Compose reads, with the variables of a `.env`."""
    variables = LOGIN | given

    def value(found: re.Match[str]) -> str:
        if found[0] == "$$":
            return "$"
        set_to = variables.get(found["name"])
        assert set_to or found["how"] == ":-", f"{found['name']} is needed: {found['word']}"
        return set_to or found["word"]

    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(re.sub(r"\$\$|\$\{(?P<name>\w+)(?P<how>:[-?])(?P<word>[^}]*)\}", value, text))


def words(service: dict[str, Any]) -> list[str]:
    """Return the words of a service that is a command of this project."""
    return [*service["command"]]


def test_it_is_what_compose_reads():
    need("npm", found=SCHEMA.is_file())
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    for given in ({}, {"QUEUE": "postgresql://postgres/catalogues", "PGPASSWORD": "x"}):
        Draft7Validator(schema).validate(compose(**given))


def test_it_starts_without_the_queue_and_with_it():
    services = compose()["services"]
    assert {name for name, one in services.items() if "profiles" in one} == {"worker", "postgres"}
    assert [name for name, one in services.items() if "depends_on" in one] == ["scheduler", "worker"]
    assert services["scheduler"]["depends_on"]["postgres"]["required"] is False
    with_queue = compose(QUEUE="postgresql://postgres/catalogues")["services"]
    assert all("QUEUE=postgresql://postgres/catalogues" in str(with_queue[name]) for name in services if ours(name))
    checked("postgresql://postgres/catalogues")


def ours(name: str) -> bool:
    return name not in ("login", "postgres")


def test_the_services_run_the_image_as_it_is():
    image = dict(re.findall(r"^([A-Z]+) (.+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE))
    for name, one in filter(lambda pair: ours(pair[0]), compose()["services"].items()):
        assert one["build"] == ".", name
        assert [volume.partition(":")[2] for volume in one["volumes"]] == [image["VOLUME"]] == [IN_IMAGE]
        assert one.get("entrypoint", json.loads(image["ENTRYPOINT"]))[0] == "tini", "which the image has"
    for name in ("dashboard", "worker"):
        accept(words(compose()["services"][name]))


def test_the_image_has_the_extra_that_workers_need():
    (pattern,) = re.findall(r"^RUN grep -E '([^']+)'", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    pinned = [line for line in (ROOT / "requirements-dev.txt").read_text().splitlines() if re.match(pattern, line)]
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["fleet"]
    wanted = {one.partition("~=")[0] for one in extra}
    runtime = (ROOT / "requirements.txt").read_text().splitlines()
    assert {one.partition("==")[0] for one in pinned} == wanted - {one.partition("==")[0] for one in runtime}


def test_nobody_but_the_login_reaches_the_dashboard():
    services = compose()["services"]
    assert services["login"]["network_mode"] == "service:dashboard"
    assert services["dashboard"]["ports"] == ["127.0.0.1:8710:8080"]
    assert not any("ports" in one for name, one in services.items() if name != "dashboard")
    assert "listen 8080;" in compose()["configs"]["login"]["content"]
    with pytest.raises(AssertionError, match="LOGIN is needed"):
        compose(LOGIN="")


def test_a_harvest_is_that_of_the_other_recipes():
    (script,) = compose()["services"]["scheduler"]["command"]
    (harvest,) = re.findall(r"catalogue-crawlers (.+?) -s", script)
    unit = (ROOT / "docs" / "github-actions.md").read_text()
    assert f"ExecStart=/srv/catalogues/.venv/bin/scrapy {harvest}\n" in unit
    assert f"catalogue-crawlers {harvest}\n" in unit
    assert "sleep 900;" in script, "as cron's */15"
    assert {one["stop_grace_period"] for name, one in compose()["services"].items() if ours(name)} == {"5m"}
    assert "TimeoutStopSec=5min" in unit
    assert "&&" not in script, "an incomplete source, exit code 3, must not end it"


def test_the_page_has_its_variables_services_and_commands():
    page = (ROOT / "docs" / "containers.md").read_text(encoding="utf-8")
    used = re.findall(r"\$\{(\w+)", (ROOT / "compose.yaml").read_text(encoding="utf-8"))
    first = [row.split("|")[1] for row in page.splitlines() if row.startswith("| `")]
    assert {*used, "COMPOSE_PROFILES", *compose()["services"]} == {*re.findall(r"`(\w+)`", "".join(first))}
    for command in re.findall(r"^docker compose run --rm dashboard (.+)$", page, re.MULTILINE):
        accept(shlex.split(command))


# What the containers run


class Host:
    """What a container has: a folder of catalogues, and the image's programs on the PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        program = folder / "bin" / "catalogue-crawlers"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m crawlers "$@"\n')
        program.chmod(0o755)
        self.environment = os.environ | {
            "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "SCRAPY_SETTINGS_MODULE": "crawlers.settings",
        }
        self.catalogues = folder / "catalogues"
        self.catalogues.mkdir()

    @contextmanager
    def runs(self, *command: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
        """Run a command until the block ends, which stops it as a container is stopped: all its processes."""
        with (self.folder / f"{Path(command[0]).name}.log").open("wb") as log:
            process = subprocess.Popen(
                command,
                cwd=self.catalogues,
                env=self.environment | environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            try:
                yield process
                os.killpg(process.pid, signal.SIGTERM)
                process.wait(HANG)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()

    def said(self, program: str) -> str:
        return (self.folder / f"{program}.log").read_text()

    def source(self, name: str, portal: str) -> None:
        (self.catalogues / "sources.toml").write_text(
            f'[{name}]\nspider = "ckan"\nschedule = "daily"\narguments = {{ portal = "{portal}" }}\n'
        )

    def reports(self, name: str) -> list[Path]:
        return [*(self.catalogues / "output" / name / "runs").glob("*.json")]


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


@pytest.mark.slow
@needs("nginx")
def test_the_dashboard_is_behind_the_login(host):
    services, configs = compose()["services"], compose()["configs"]
    inner, outer = free_port(), free_port()
    conf = host.folder / "nginx"
    conf.mkdir()
    content = (
        configs["login"]["content"].replace(":8710", f":{inner}").replace("listen 8080", f"listen 127.0.0.1:{outer}")
    )
    (conf / "nginx.conf").write_text(content)
    (conf / "htpasswd").write_text(configs["htpasswd"]["content"])
    assert [one["target"] for one in services["login"]["configs"]] == ["/etc/nginx/nginx.conf", "/etc/nginx/htpasswd"]
    files = f"daemon off; pid {conf}/pid; error_log stderr; " + ("user root;" if os.geteuid() == 0 else "")
    nginx = (shutil.which("nginx") or "", "-p", str(conf), "-c", str(conf / "nginx.conf"), "-e", "stderr", "-g", files)
    run = ("catalogue-crawlers", *words(services["dashboard"]), "--port", str(inner))
    (host.catalogues / "users.toml").write_text('[ada]\nrole = "admin"\n')
    basic = b64encode(b"ada:correct horse").decode()
    with host.runs(*run) as board, host.runs(*nginx) as proxy:
        until(lambda: "until Ctrl-C" in host.said("catalogue-crawlers"), unless=lambda: board.poll() is not None)
        until(lambda: answers(outer), unless=lambda: proxy.poll() is not None)
        here = f"http://127.0.0.1:{outer}"
        assert ask(here, "/").status == 401
        assert ask(here, "/", X_Forwarded_User="ada").status == 401
        answer = ask(here, "/audit", Authorization=f"Basic {basic}", X_Forwarded_User="somebody else")
        assert answer.status == 200
        assert "ada" in answer.text
        assert "somebody else" not in answer.text


def answers(port: int) -> bool:
    try:
        return bool(ask(f"http://127.0.0.1:{port}", "/").status)
    except OSError:
        return False


def scheduler(**given: str) -> list[str]:
    """Return what its tini starts."""
    one = compose(**given)["services"]["scheduler"]
    assert one["entrypoint"][:3] == ["tini", "-g", "--"], "a signal reaches the harvest, too"
    return [*one["entrypoint"][3:], *one["command"]]


@pytest.mark.slow
def test_the_scheduler_harvests_what_is_due_and_ends_when_it_is_stopped(host, portal):
    host.source("town", portal(datasets=5).url)
    with host.runs(*scheduler()) as process:
        until(lambda: re.search("town +complete +5 of 5", host.said("sh")), unless=lambda: process.poll() is not None)
        assert process.poll() is None, host.said("sh")
    assert process.returncode == 0
    assert len(host.reports("town")) == 1


@pytest.mark.slow
def test_with_the_profile_workers_crawl_what_the_scheduler_queues(host, portal, postgres: Postgres):
    given = {"QUEUE": postgres.database("composed"), **postgres.environment}
    host.source("town", portal(datasets=5).url)
    worker = ("catalogue-crawlers", *words(compose(**given)["services"]["worker"]))
    with host.runs(*worker, **given) as node, host.runs(*scheduler(**given), **given):
        until(lambda: host.reports("town"), unless=lambda: node.poll() is not None)
        assert "town" in host.said("sh")
    assert node.returncode == 0, host.said("catalogue-crawlers")
    assert json.loads(host.reports("town")[0].read_text())["verdict"] == "complete"
