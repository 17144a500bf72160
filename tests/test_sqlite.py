"""Files that several crawls open in the same moment."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from tests.conftest import ROOT
from tests.waiting import HANG

ROUNDS = 30
OPEN = """
import sys, time
from pathlib import Path
from crawlers.components.httpcache import _connected
from crawlers.store.index import Index

output, start = Path(sys.argv[2]), float(sys.argv[3])
for number in range(int(sys.argv[4])):
    folder = output / str(number)
    folder.mkdir(exist_ok=True)
    time.sleep(max(0, start + number * 0.03 - time.time()))
    if sys.argv[1] == "index":
        Index(folder, "source")
    else:
        _connected(folder / "cache.sqlite", None).close()
"""


@pytest.mark.slow
@pytest.mark.parametrize("which", ["index", "cache"])
def test_one_file_made_by_several_processes_at_once(which, tmp_path):
    words = [sys.executable, "-c", OPEN, which, str(tmp_path), str(time.time() + 2), str(ROUNDS)]
    processes = [subprocess.Popen(words, cwd=ROOT, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    ends = [process.communicate(timeout=HANG)[1] for process in processes]
    assert ends == ["", "", ""]
