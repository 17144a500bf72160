"""What the commands say where nobody listens, where a character can't be said, and when they are broken off."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings

from crawlers.operate.commands import reindex
from crawlers.store.index import catch_up
from tests import forked
from tests.conftest import ROOT
from tests.needed import needs
from tests.test_commands import on_terminal
from tests.test_export import put_ckan, record

SOURCES = "".join(
    f'[s{number}]\nspider = "ckan"\narguments = {{portal = "http://s{number}.example/"}}\n' for number in range(40)
)
RULES = 'start = "http://127.0.0.1:9/"\n[links]\ncss = "a"\n[fields]\ntitle = "h1"\n'
COMMANDS = [
    *("catalogues", "catalogues --json", "sources --json", "search größer", "search --json größer", "report -o -"),
    *("jobs", "export --format csv", "try {0}/rules.toml {0}/page.html", "learn {0}/page.html"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source that was crawled, sources, a page, and its rules."""
    folder = tmp_path_factory.mktemp("voice")
    for number in range(40):
        put_ckan(folder / "output", "town", record(number, title=f"Größer {number}", name=f"d{number}"))
    catch_up(folder / "output")
    (folder / "sources.toml").write_text(SOURCES, encoding="utf-8")
    (folder / "rules.toml").write_text(RULES, encoding="utf-8")
    (folder / "page.html").write_text("<h1>Größer</h1><dl><dt>Licence</dt><dd>CC-BY-4.0</dd></dl>", encoding="utf-8")
    return folder


def command(folder: Path, words: str) -> str:
    places = {"OUTPUT_DIR": "output", "JOBS_DIR": "jobs", "SOURCES_FILE": "sources.toml"}
    settings = " ".join(f"-s {name}={folder / place}" for name, place in places.items())
    return f"{sys.executable} -W error -m scrapy {words.format(folder)} {settings}"


def check(returncode: int, stderr: bytes, code: int) -> None:
    assert returncode == code, stderr
    assert b"Traceback" not in stderr
    assert b"Exception" not in stderr
    assert (b"can't be written: No space left on device." in stderr) == (code == 1)


@pytest.mark.slow
@needs("bash")
@pytest.mark.parametrize(("words", "output"), [(COMMANDS[0], ">&-"), (COMMANDS[0], ">&- 2>&-"), (COMMANDS[-3], ">&-")])
def test_there_is_no_standard_output_in_a_new_process(folder: Path, words: str, output: str) -> None:
    """What a standard stream is, Python decides before any code of ours."""
    line = f"{command(folder, words)} {output}"
    ran = subprocess.run(["bash", "-c", line], cwd=ROOT, capture_output=True, check=False)
    check(ran.returncode, ran.stderr, 0)


@pytest.mark.parametrize("words", COMMANDS)
def test_there_is_no_standard_output(folder: Path, words: str) -> None:
    ran = forked.run(shlex.split(command(folder, words)), cwd=ROOT, stderr=subprocess.PIPE, closed=(1,), check=False)
    check(ran.returncode, ran.stderr, 0)


@pytest.mark.slow
@pytest.mark.parametrize(("output", "code"), [("a full disk", 1), ("a closed pipe", 0)])
@pytest.mark.parametrize("words", COMMANDS)
def test_nobody_listens(folder: Path, words: str, output: str, code: int) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with Path("/dev/full").open("wb") as full, os.fdopen(writer, "wb") as closed:
        stdout = full if code else closed
        run = forked.run(
            shlex.split(command(folder, words)), cwd=ROOT, stdout=stdout, stderr=subprocess.PIPE, check=False
        )
    check(run.returncode, run.stderr, code)


@pytest.mark.parametrize("words", COMMANDS)
def test_a_character_that_can_not_be_said_is_escaped(folder: Path, words: str) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    given = shlex.split(command(folder, words))
    ran = forked.run(given, cwd=ROOT, env=environment, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert (b"Gr\\xf6\\xdfer" in ran.stdout) == (words in ("search größer", COMMANDS[-2]))
    assert b"Traceback" not in ran.stderr


def test_a_reindex_that_is_broken_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    put_ckan(tmp_path, "town", record(1))
    monkeypatch.setattr("crawlers.store.index.index.rebuild", stopped)
    command = reindex.Command()
    command.settings = Settings({"OUTPUT_DIR": str(tmp_path)})
    command.run([], Namespace())
    assert command.exitcode == 130
    assert capsys.readouterr().err == "index.sqlite is incomplete: run scrapy reindex again.\n"


ODD = "flood\x9b2J\u202e\x1b[2J\r\nforged"


@pytest.mark.slow
def test_nothing_acts_on_a_terminal(tmp_path: Path) -> None:
    """Neither a title in a table or a search, nor a message; in a file, nothing turns the cells behind it."""
    put_ckan(tmp_path / "output", "town", record(1, title=ODD, name="d1"))
    script = (
        "from scrapy.cmdline import execute; import os, sys\n"
        "def run(*words):\n"
        "    try: execute(['scrapy', *words, '-s', 'OUTPUT_DIR=output'])\n"
        "    except SystemExit: pass\n"
        "run('export', '--format', 'csv'); run('export', '--format', 'ttl'); run('search', 'flood')\n"
        "run('export', '--format', 'csv', ' no\\x9b2J such\\u202e')"
    )
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = crawlers.settings\n")
    code, shown = on_terminal(sys.executable, "-W", "error", "-c", script, folder=tmp_path)
    assert code == 0
    assert "\\u009b2J\\u202e" in shown
    assert not set(shown) & set("\x9b\u202e\x1b")
    assert len([line for line in shown.split("\r\n") if line.startswith("town,")]) == 1
    assert not [line for line in shown.split("\r\n")[:2] if line.startswith("forged")]
    ran = subprocess.run(
        [sys.executable, "-m", "scrapy", "export", "--format", "csv", "-s", "OUTPUT_DIR=output"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
    )
    assert "flood\x9b2J".encode() in ran.stdout
    assert "\u202e".encode() not in ran.stdout
