"""Installed without a clone: the wheel in an environment of its own, a folder that it makes, and crawls from there."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.conftest import FAST, ROOT, Crawl, options, scrapy
from tests.installed import Environment, build_wheel, plain
from tests.needed import needs
from tests.portal.portal import Portal
from tests.scrapyd import Scrapyd, scrapyd_deploy
from tests.test_resume import left
from tests.test_workflow import accept, steps
from tests.waiting import until

FILES = {
    *(".gitignore", "requirements.txt", "scrapy.cfg", "sources.toml"),
    *("catalogues/README.md", "spiders/__init__.py", "spiders/hdx.py"),
}
RULES = """
start = ["http://127.0.0.1:9/list"]
browser = true

[links]
css = ".dataset"
"""


def files(folder: Path) -> set[str]:
    found = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(folder)) for path in found}


# The folder


def init(cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """As `catalogue-crawlers init`, in a forked child."""
    return scrapy("init", *words, cwd=cwd)


@pytest.fixture
def anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "crawlers.settings")


@pytest.mark.usefixtures("anywhere")
def test_a_folder_is_made(tmp_path):
    ran = init(tmp_path, "my towns/north")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert files(tmp_path / "my towns" / "north") == FILES
    assert ran.stdout.splitlines()[-1] == "Next: cd 'my towns/north', and catalogue-crawlers sources add NAME URL"
    example = tmp_path / "my towns" / "north" / "spiders" / "hdx.py"
    assert example.read_text() == (ROOT / "spiders" / "hdx.py").read_text()


@pytest.mark.usefixtures("anywhere")
@pytest.mark.parametrize("name", sorted({name.partition("/")[0] for name in FILES}))
def test_a_folder_that_has_one_of_the_files_is_left_alone(tmp_path, name):
    (tmp_path / name).symlink_to("nowhere")
    ran = init(tmp_path, ".")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == f"{name} exists already, and nothing was written: choose another folder.\n"
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.usefixtures("anywhere")
def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path):
    (tmp_path / "file").touch()
    ran = init(tmp_path, "file")
    assert (ran.returncode, ran.stderr) == (1, "file can't be written: File exists.\n")
    assert init(tmp_path).returncode == 2


# The wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """It is built from the files that the image is built from, and no others."""
    folder = tmp_path_factory.mktemp("project")
    for name in copied():
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    return build_wheel(folder, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(tmp_path_factory, wheel) -> Environment:
    return Environment(tmp_path_factory.mktemp("installed"), wheel)


@pytest.fixture
def folder(installed, tmp_path) -> Path:
    """A folder that the installed command has made."""
    ran = installed.run(tmp_path, "init", "mine")
    assert (ran.returncode, ran.stderr) == (0, "")
    return tmp_path / "mine"


def fast(**settings: str) -> list[str]:
    return [f"-s{name}={value}" for name, value in (FAST | settings).items()]


@pytest.mark.slow
def test_the_wheel_has_the_code_and_its_data(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    folders = {name.partition("/")[0] for name in names}
    (metadata,) = folders - {"crawlers", "pipelines"}
    code = {f"{room}/{name}" for room in ("crawlers", "pipelines") for name in files(ROOT / room)}
    assert {name for name in names if not name.startswith(metadata)} == code
    assert {f"{metadata}/licenses/LICENSE", f"{metadata}/licenses/NOTICE"} <= names
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["dynamic"]["version"]
    assert version == {"attr": "crawlers.settings.VERSION"}


@pytest.mark.slow
def test_a_crawl_that_is_killed_is_resumed(installed, folder, tmp_path):
    with Portal(30, rows_max=10) as portal:
        words = ["crawl", "hdx", "-a", f"portal={portal.url}", *fast(JOBDIR="jobs/hdx", REQUESTS_PER_SECOND="40")]
        killed = installed.start(folder, *words)
        until(lambda: portal.requests("download_metadata") > 5, unless=lambda: killed.poll() is not None)
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        ran = installed.run(folder, *words)
        whole = scrapy("crawl", "hdx", *options(tmp_path / "whole", {}, portal=portal.url))
    assert killed.returncode == -signal.SIGKILL
    resumed = Crawl(ran.returncode, ran.stderr, folder / "output" / "hdx")
    assert (resumed.code, resumed.report["resumed"], len(resumed.documents())) == (0, True, 30)
    assert left(resumed) == left(Crawl(whole.returncode, whole.stderr, tmp_path / "whole" / "hdx"))


@pytest.mark.slow
def test_a_source_is_added_and_harvested_from_below(installed, folder):
    with Portal(5) as portal:
        added = installed.run(folder, "sources", "add", "town", portal.url, "--schedule", "daily", *fast())
        assert added.returncode == 0, added.stderr
        below = folder / "catalogues"
        ran = installed.run(below, "harvest", "--due", *fast())
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "town" in (folder / "sources.toml").read_text()
    assert len(Crawl(0, "", folder / "output" / "town").documents()) == 5
    assert files(below) == {"README.md"}
    (below / "pages.toml").write_text("start = 1")
    read = installed.run(folder / "spiders", "crawl", "html", "-a", "rules=catalogues/pages.toml")
    assert read.stderr.endswith(f"The rules {below}/pages.toml: line 1: start is neither a text nor a list of texts.\n")
    assert re.search(r"town +complete +5 of 5 ", installed.run(below, "jobs").stdout)
    assert installed.run(folder, "report").returncode == 0
    assert (folder / "report.html").exists()


@pytest.mark.slow
def test_a_crawl_outside_any_folder(installed, tmp_path):
    with Portal(5) as portal:
        ran = installed.run(tmp_path, "crawl", "ckan", "-a", f"portal={portal.url}", *fast())
    assert ran.returncode == 0, ran.stderr
    assert "left out" not in ran.stderr
    assert len(Crawl(0, "", tmp_path / "output" / "127.0.0.1").documents()) == 5
    lost = installed.run(tmp_path, "crawl", "html", "-a", "rules=no.toml")
    assert lost.stderr.endswith(f"The rules no.toml can't be read: there is no such file in {tmp_path}.\n")
    assert installed.run(tmp_path, "list").stdout.split()[:4] == ["api", "archive", "ckan", "ckan_extensions"]
    for words in (["town", "https://town.example.org"], ["--force", "town", "https://town.example.org"]):
        refused = installed.run(tmp_path, "genspider", *words)
        assert refused.returncode == 2
        assert "there is no package spiders here: `catalogue-crawlers init FOLDER` makes a folder" in refused.stderr
    assert not list(tmp_path.glob("*.py"))


@pytest.mark.slow
def test_settings_of_ones_own(installed, folder):
    (folder / "spiders" / "settings.py").write_text('from crawlers.settings import *\n\nOUTPUT_DIR = "elsewhere"\n')
    configuration = folder / "scrapy.cfg"
    configuration.write_text(configuration.read_text().replace("default = crawlers.", "default = spiders.", 1))
    with Portal(3) as portal:
        words = ["-a", f"portal={portal.url}", "-a", "level=snapshot", *fast()]
        ran = installed.run(folder, "crawl", "hdx", *words)
    assert ran.returncode == 0, ran.stderr
    assert len(Crawl(0, "", folder / "elsewhere" / "hdx").documents()) == 3
    assert installed.run(folder, "genspider", "town", "https://town.example.org").returncode == 0
    assert "town" in installed.run(folder, "list").stdout.split()


@pytest.mark.slow
def test_what_an_extra_is_needed_for_says_so(installed, folder):
    (folder / "catalogues" / "pages.toml").write_text(RULES)
    (folder / "output" / "town").mkdir(parents=True)
    (folder / "output" / "town" / "manifest.jsonl").touch()
    installed.run(folder, "reindex")
    needing = {
        "browser": ["crawl", "html", "-a", "rules=catalogues/pages.toml"],
        "parquet": ["export", "--format", "parquet", "-o", "x.parquet"],
        "validate": ["export", "--format", "ttl", "--validate", "-o", "x.ttl"],
        "fleet": ["jobs", "--queue", "postgresql://localhost/catalogues"],
        "s3": ["crawl", "archive", "-a", "of=town", "-s", "ARCHIVE_STORE=s3://bucket"],
    }
    for extra, words in needing.items():
        ran = installed.run(folder, *words)
        assert ran.returncode == 1
        *log, sentence = ran.stderr.splitlines()
        assert sentence.endswith(f": pip install 'catalogue-crawlers[{extra}]'.")
        assert not [line for line in log if "INFO: Scrapy" not in line]


# Without a person


@pytest.mark.slow
@needs("bash")
def test_a_workflow_harvests_a_folder(installed, folder):
    """The steps that are shell scripts; the others are GitHub's."""
    with Portal(5) as portal:
        added = installed.run(folder, "sources", "add", "town", portal.url, "--schedule", "daily", *fast())
        assert added.returncode == 0, added.stderr
        assert installed.run(folder, "genworkflow").returncode == 0
        by_name = steps((folder / ".github" / "workflows" / "harvest.yml").read_text())
        path = f"{installed.python.parent}{os.pathsep}{os.environ['PATH']}"
        for name in ("Run", "Summary"):
            shell = plain() | {"PATH": path, "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
            subprocess.run(["bash", "-e", "-c", by_name[name]["run"]], cwd=folder, env=shell, check=True)
    assert len(Crawl(0, "", folder / "output" / "town").documents()) == 5
    assert "town" in (folder / "summary.md").read_text()
    assert (folder / by_name["Install"]["run"].split()[-1]).read_text() == "catalogue-crawlers\n"


# The image, which no test builds


def copied() -> list[str]:
    """What the image copies out of the project's folder."""
    lines = re.findall(r"^COPY (.+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    return [word for line in lines for word in line.split()[:-1]]


def test_the_image_runs_the_command_in_its_volume():
    text = (ROOT / "Dockerfile").read_text()
    image = dict(re.findall(r"^([A-Z]+) (.+)$", text, re.MULTILINE))
    assert all((ROOT / name).exists() for name in copied())
    assert (
        json.loads(image["ENTRYPOINT"])[-1]
        in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    )
    assert image["WORKDIR"] == image["VOLUME"]
    assert f"useradd --create-home --uid 1000 {image['USER']} " in text, "not root"


def test_the_docs_run_the_image_as_it_is():
    page = (ROOT / "docs" / "install.md").read_text()
    found = re.findall(r"^(?:docker run|catalogues\(\)) .*?-v (\S+):(\S+) .*", page, re.MULTILINE)
    assert found == [('"$PWD"', "/catalogues")]
    for words in re.findall(r"^catalogues (.+)$", page, re.MULTILINE):
        accept(shlex.split(words))


# Scrapyd


@pytest.mark.slow
def test_the_egg_of_a_folder_runs_on_scrapyd(wheel, folder, tmp_path):
    built = scrapyd_deploy(folder, "--build-egg", str(tmp_path / "mine.egg"))
    assert built.returncode == 0, built.stderr
    names = set(zipfile.ZipFile(tmp_path / "mine.egg").namelist())
    assert {name.partition("/")[0] for name in names} == {"EGG-INFO", "spiders"}
    server = Environment(tmp_path / "server", wheel, "scrapyd", "setuptools")
    with Scrapyd(tmp_path / "scrapyd", folder, server.python) as node, Portal(5) as portal:
        deployed = node.deploy(folder, "--egg", str(tmp_path / "mine.egg"))
        assert '"status": "ok"' in deployed.stdout, deployed
        assert {"hdx", "ckan", "archive"} <= set(node.ask("listspiders.json", project="crawlers")["spiders"])
        job = node.schedule("hdx", "JOBDIR=jobs/hdx", portal=portal.url)
        node.over(job)
    assert len(Crawl(0, "", folder / "output" / "hdx").documents()) == 5
