"""Requests are counted for each test, whatever process answers them, and a test that makes more than before fails."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.requested import read, write

TESTS = """
import os
from urllib.request import urlopen

import pytest

from tests.portal.portal import Portal
from tests.site import Answer, Site

@pytest.fixture(scope="module")
def asked():
    with Site(lambda _: Answer()) as site:
        urlopen(site.url).close()
        yield site

@pytest.mark.parametrize("times", [2, 3])
def test_site(asked, times):
    for _ in range(times + (times == int(os.environ.get("MORE", 0)))):
        urlopen(asked.url).close()

def test_portal():
    with Portal(datasets=1) as portal:
        urlopen(f"{portal.url}/robots.txt").close()
        assert len(portal.log()) == 1

def test_fails(asked):
    urlopen(asked.url).close()
    assert False

def test_none():
    pass
"""
COUNTS = {"asked": 1, "test_site[2]": 2, "test_site[3]": 3, "test_portal": 1}


@pytest.fixture
def pytested(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS)

    def run(*words, **environment):
        command = [sys.executable, "-m", "pytest", "-p", "tests.requested", "-p", "no:cacheprovider", "-q", *words]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    return run


def rows(**most):
    return {f"test_it.py::{name}": (COUNTS[name], number) for name, number in {**COUNTS, **most}.items()}


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_table_has_each_test_and_each_wider_fixture_that_asked(pytested, tmp_path, workers):
    words = ("-n", workers, "--count-requests", "found.csv")
    assert "1 failed, 4 passed" in pytested(*words).stdout
    assert read(tmp_path / "found.csv") == rows()
    pytested(*words, MORE="2")
    assert read(tmp_path / "found.csv") == rows(**{"test_site[2]": 3})


def test_a_test_that_makes_more_requests_than_before_fails(pytested, tmp_path):
    words = ("--requests-at-most", "before.csv", "--deselect", "test_it.py::test_fails")
    write(tmp_path / "before.csv", rows())
    assert "4 passed" in pytested(*words).stdout
    said = pytested(*words, MORE="3").stdout
    assert "1 failed, 3 passed" in said
    assert "test_it.py::test_site[3] made 4 requests, 3 before. If it needs them, write so in before.csv." in said


def test_one_that_varies_and_one_that_is_new_are_not_judged(pytested, tmp_path):
    before = {**rows(), "test_it.py::test_site[3]": (2, 3)}
    del before["test_it.py::test_portal"]
    write(tmp_path / "before.csv", before)
    said = pytested("--requests-at-most", "before.csv", "--deselect", "test_it.py::test_fails", MORE="3").stdout
    assert "4 passed" in said
