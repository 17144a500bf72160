"""A forked command is what a new process would be."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from resource import RLIMIT_CORE
from typing import Any

import pytest

from tests import forked
from tests.conftest import ROOT

pytestmark = pytest.mark.slow  # each is compared with a new process

PROBE = """
import json, os, resource, scrapy, signal, sys, threading, warnings

class Probe(scrapy.Spider):
    name = "probe"

    async def start(self):
        return
        yield

    def closed(self, reason):
        streams = (sys.stdin, sys.stdout, sys.stderr)
        print(json.dumps({
            "argv": sys.argv, "folder": os.getcwd(), "environment": dict(os.environ), "path": sys.path[:3],
            "parent": os.getppid(), "umask": os.umask(0),
            "group": os.getpgrp() != os.getpid() and os.getpgrp(),
            "session": os.getsid(0) != os.getpid() and os.getsid(0),
            "warnings": [sys.warnoptions, [one[0] for one in warnings.filters if one[2] is Warning]],
            "streams": [[one.fileno(), one.isatty(), one.encoding, one.errors, one.line_buffering, one.mode]
                        for one in streams],
            "input": sys.stdin.read(), "core": resource.getrlimit(resource.RLIMIT_CORE),
            "pipe": signal.getsignal(signal.SIGPIPE), "threads": [one.name for one in threading.enumerate()][:1],
            "fds": [name for name in os.listdir("/proc/self/fd") if int(name) < 3],
            "held": sum(os.readlink(one.path).endswith("probe.py") for one in os.scandir("/proc/self/fd")),
            "settings": sys.modules.get("crawlers.settings", sys).__name__,
        }))
"""


def circumstances(
    package: Any, folder: Path, *strict: str, more: dict[str, str] | None = None, **keywords: Any
) -> dict[str, Any]:
    command = [sys.executable, *strict, "-m", "scrapy", "runspider", "probe.py", "--nolog"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TZ": "Asia/Tokyo", "PROBED": "ü", **(more or {})}
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with package.Popen(command, cwd=folder, env=environment, text=True, **streams, **keywords) as process:
        said, log = process.communicate("input")
    assert (process.returncode, log) == (0, "")
    return json.loads(said)


@pytest.mark.parametrize("strict", [[], ["-W", "error"]])
def test_a_forked_command_finds_what_a_new_process_does(tmp_path, strict):
    (tmp_path / "probe.py").write_text(PROBE)
    found = circumstances(forked, tmp_path, *strict)
    assert found == circumstances(subprocess, tmp_path, *strict)
    assert found["parent"] == os.getpid()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1:replace"])
def test_its_streams_are_encoded_as_those_of_a_new_process(tmp_path, encoding):
    (tmp_path / "probe.py").write_text(PROBE)
    more = {"PYTHONIOENCODING": encoding}
    assert circumstances(forked, tmp_path, more=more) == circumstances(subprocess, tmp_path, more=more)


def test_it_lacks_the_streams_that_a_new_process_lacks(tmp_path):
    (tmp_path / "probe.py").write_text("import sys\nopen('found', 'w').write(f'{sys.stdout} {sys.__stdout__}')\n")
    command = [sys.executable, "-m", "scrapy", "runspider", "probe.py", "--nolog"]
    how = {"cwd": tmp_path, "env": {**os.environ, "PYTHONPATH": str(ROOT)}, "check": False}
    one = forked.run(command, closed=(1,), stderr=subprocess.PIPE, **how)
    assert (tmp_path / "found").read_text() == "None None"
    other = subprocess.run(["sh", "-c", f"{shlex.join(command)} >&-"], stderr=subprocess.PIPE, **how)  # noqa: PLW1510
    assert (tmp_path / "found").read_text() == "None None"
    assert (one.returncode, one.stderr.splitlines()[-1]) == (other.returncode, other.stderr.splitlines()[-1])


def test_it_has_a_session_and_files_as_a_new_process_does(tmp_path):
    (tmp_path / "probe.py").write_text(PROBE)
    with (tmp_path / "probe.py").open() as one, (tmp_path / "probe.py").open() as other:
        how = {"start_new_session": True, "pass_fds": [one.fileno(), other.fileno()]}
        found = circumstances(forked, tmp_path, "-Werror", **how)
        assert found == circumstances(subprocess, tmp_path, "-Werror", **how)
    assert (found["group"], found["session"], found["held"]) == (False, False, 2)


@pytest.mark.slow
def test_it_ends_as_a_new_process_does(tmp_path):
    for code in ("raise SystemExit(7)", "raise SystemExit('seven')", "1 / 0", "print('x')", "import os; os.abort()"):
        (tmp_path / "probe.py").write_text(f"import atexit\natexit.register(print, 'over')\n{code}\n")
        command = [sys.executable, "-m", "scrapy", "runspider", "probe.py", "--nolog"]
        how = {"cwd": tmp_path, "env": {**os.environ, "PYTHONPATH": str(ROOT)}, "capture_output": True, "check": False}
        one, other = forked.run(command, **how), subprocess.run(command, **how)  # noqa: PLW1510
        assert (one.returncode, one.stdout) == (other.returncode, other.stdout), code
        assert one.stderr.splitlines()[-1:] == other.stderr.splitlines()[-1:], code


def test_it_can_be_killed_and_limited(tmp_path):
    (tmp_path / "probe.py").write_text(
        "import resource, time\nprint(resource.getrlimit(4), flush=True)\ntime.sleep(9)\n"
    )
    command = [sys.executable, "-m", "scrapy", "runspider", "probe.py"]
    how = {"cwd": tmp_path, "env": {**os.environ, "PYTHONPATH": str(ROOT)}, "stdout": subprocess.PIPE}
    with forked.Popen(command, limits={RLIMIT_CORE: 0}, text=True, **how) as process:
        assert process.stdout.readline() == "(0, 0)\n"
        process.kill()
    assert process.returncode == -signal.SIGKILL


@pytest.mark.parametrize("variable", ["PYTHONUTF8", "LC_ALL", "PYTHONPATH"])
def test_what_counts_before_any_code_needs_a_new_process(variable):
    command = [sys.executable, "-m", "scrapy", "list"]
    assert forked.request(command, cwd=ROOT, env=dict(forked.ENVIRONMENT)) is not None
    assert forked.request(command, cwd=ROOT, env={**forked.ENVIRONMENT, variable: "other"}) is None
    for flags in (["-c", "pass"], ["-X", "dev", *command[1:]], ["-O", *command[1:]]):
        assert forked.request([sys.executable, *flags], cwd=ROOT, env=dict(forked.ENVIRONMENT)) is None
