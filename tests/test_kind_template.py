"""The package in docs/kind-template: installed beside the project, it is a kind of catalogue like any other."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.conftest import FAST, ROOT, Crawl, options
from tests.site import Answer, Site

pytestmark = pytest.mark.slow
RECORDS = [
    {
        "id": f"d{number}",
        "title": f"Dataset {number}",
        "updated": "2026-01-02",
        "files": [{"id": "f", "url": f"https://example.org/{number}.csv"}],
    }
    for number in range(25)
]


def _pages(asked):
    parts = urlsplit(asked.path)
    if parts.path != "/datasets.json":
        return Answer(b"", 404)
    begin = 10 * (int(parse_qs(parts.query)["page"][0]) - 1)
    return Answer(json.dumps({"total": len(RECORDS), "datasets": RECORDS[begin : begin + 10]}).encode())


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    """Runs a command of this project where the package is installed."""
    folder = tmp_path_factory.mktemp("kind")
    shutil.copytree(ROOT / "docs" / "kind-template", folder / "source")  # a build leaves files there
    pip = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--no-cache-dir"]
    subprocess.run([sys.executable, *pip, "--target", folder / "site", folder / "source"], check=True)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{folder / 'site'}"}

    def run(*words):
        ran = subprocess.run(
            [sys.executable, "-W", "error", "-m", "scrapy", *words],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Traceback" not in ran.stderr
        return ran

    return run


def test_it_is_crawled_found_listed_and_read_again(command, output, tmp_path):
    with Site(_pages) as site:
        ran = command("crawl", "example", *options(output, {}, url=site.url))
        settings = [f"-sSOURCES_FILE={tmp_path / 'sources.toml'}", *(f"-s{name}={FAST[name]}" for name in FAST)]
        added = command("sources", "add", "mine", f"{site.url}/some/page", "--yes", *settings)
    done = Crawl(ran.returncode, ran.stderr, output / "127.0.0.1")
    assert (done.code, done.report["verdict"], done.report["counts"]["new"]) == (0, "complete", 25)
    assert "an example catalogue, 25 datasets" in added.stdout
    assert f'spider = "example"\n\n[mine.arguments]\nurl = "{site.url}"' in (tmp_path / "sources.toml").read_text()
    [described] = json.loads(command("catalogues", "--json", "example").stdout)
    assert (described["kind"], described["example"]) == ("example", "https://data.example.org")
    before = sorted(command("search", "--json", f"-sOUTPUT_DIR={output}").stdout.splitlines())
    (output / "index.sqlite").unlink()
    reindexed = command("reindex", f"-sOUTPUT_DIR={output}")
    assert (reindexed.returncode, "left out" in reindexed.stderr) == (0, False)
    assert sorted(command("search", "--json", f"-sOUTPUT_DIR={output}").stdout.splitlines()) == before


def test_a_kind_that_is_not_enabled_is_not_there(command):
    assert command("crawl", "example", "-s", "KINDS_ENABLED=c*", "-a", "url=http://127.0.0.1:9").returncode != 0
    listed = command("catalogues", "-s", "KINDS_ENABLED=c*").stdout
    assert "ckan " in listed
    assert "Example catalogue" not in listed


def test_an_answer_of_the_cache_is_no_second_listing(command, output, tmp_path):
    cache = {"HTTPCACHE_ENABLED": "1", "HTTPCACHE_DIR": str(tmp_path / "cache"), "SHRINK_LIMIT": "0.5"}
    kept = RECORDS[:3]

    def pages(asked):
        parts = urlsplit(asked.path)
        found = kept if parse_qs(parts.query).get("page") == ["1"] else []
        headers = {"Content-Type": "application/json", "Cache-Control": "max-age=600"}
        return Answer(json.dumps({"total": len(kept), "datasets": found}).encode(), headers=headers)

    def withdrawn(settings):
        ran = command("crawl", "example", *options(output, settings, url=site.url))
        return Crawl(ran.returncode, ran.stderr, output / "127.0.0.1").report["counts"]["withdrawn"]

    with Site(pages) as site:
        assert withdrawn({}) == 0
        kept = RECORDS[:2]
        assert [withdrawn(cache) for _ in range(3)] == [0, 0, 0]
        assert withdrawn({"SHRINK_LIMIT": "0.5"}) == 1
