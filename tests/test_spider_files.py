"""Files in spiders/: a broken one stops nothing, and genspider writes none."""

from __future__ import annotations

import logging
import os
import subprocess
import sys

import pytest

from crawlers.kind import registered
from crawlers.spider_loader import OTHERS, SpiderLoader
from tests.conftest import ROOT

_GOOD = """
from crawlers.kinds.ckan.spider import CKANSpider


class {name}(CKANSpider):
    \"\"\"A town.\"\"\"

    name = "{name}"
    portal = "https://{name}.example.org"
"""
_SOURCES = '[zeta]\nspider = "zeta"\nschedule = "daily"\n\n[lost]\nspider = "mine"\nschedule = "daily"\n'


@pytest.fixture
def project(tmp_path):
    """A project of two spiders, one of them read after a broken file; commands run in it."""
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = crawlers.settings\n")
    (tmp_path / "spiders").mkdir()
    for name in ("alpha", "zeta"):
        (tmp_path / "spiders" / f"{name}.py").write_text(_GOOD.format(name=name))
    (tmp_path / "spiders" / "__init__.py").touch()
    (tmp_path / "spiders" / "mine.py").write_text("import nowhere_at_all\n")
    (tmp_path / "sources.toml").write_text(_SOURCES)

    def run(*words):
        command = [sys.executable, "-W", "error", "-m", "scrapy", *words]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    return run


@pytest.mark.slow
def test_a_broken_file_is_one_sentence_and_all_others_work(project, tmp_path):
    listed = project("list")
    assert (listed.returncode, listed.stdout.split()) == (0, sorted(["alpha", "zeta", *OTHERS, *registered()]))
    assert listed.stderr == (
        f"{tmp_path}/spiders/mine.py, line 1: ModuleNotFoundError: No module named 'nowhere_at_all'. "
        "Its spiders are left out.\n"
    )
    due = project("harvest", "--due", "--dry-run")
    assert [line.split()[:3] for line in due.stdout.splitlines()[1:]] == [["zeta", "would", "run"]]
    assert due.stderr.splitlines()[0] == listed.stderr.strip()
    assert "[lost]: spider: there is no spider 'mine'" in due.stderr
    assert len(due.stderr.splitlines()) == 2


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("class My townSpider:\n    pass\n", "broken.py, line 1: SyntaxError: "),
        ("\n\nX = 1 / 0\n", "broken.py, line 3: ZeroDivisionError: division by zero. Its spiders are left out."),
        ("raise KeyError('a\\nb')\n", "broken.py, line 1: KeyError: 'a\\nb'. Its"),
    ],
)
def test_what_a_file_raises_is_told_with_its_line(content, sentence, tmp_path, monkeypatch, caplog):
    (tmp_path / "of_towns").mkdir()
    (tmp_path / "of_towns" / "broken.py").write_text(content)
    (tmp_path / "of_towns" / "sound.py").write_text(_GOOD.format(name="sound"))
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.startswith("of_towns")]:
        monkeypatch.delitem(sys.modules, name)
    with caplog.at_level(logging.WARNING):
        assert SpiderLoader(["of_towns"]).list() == ["sound"]
    assert [sentence in record.getMessage() for record in caplog.records] == [True]


_COMPUTED = _GOOD.format(name="first").replace('"first"', '"".join(("ze", "ta"))', 1)


@pytest.fixture
def towns(tmp_path, monkeypatch):
    """Writes the files of a package of spiders."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "towns").mkdir()
    for name in [name for name in sys.modules if name.partition(".")[0] == "towns"]:
        monkeypatch.delitem(sys.modules, name)

    def write(**files):
        for name, content in files.items():
            (tmp_path / "towns" / f"{name}.py").write_text(content)
        return SpiderLoader(["towns"])

    yield write
    for name in [name for name in sys.modules if name.partition(".")[0] == "towns"]:
        del sys.modules[name]


def test_a_spider_is_loaded_without_the_others(towns, caplog):
    loader = towns(alpha=_GOOD.format(name="alpha"), zeta=_GOOD.format(name="zeta"), mine="import nowhere_at_all\n")
    assert loader.load("zeta").portal == "https://zeta.example.org"
    assert ({"towns.alpha", "towns.zeta"} & set(sys.modules), caplog.records) == ({"towns.zeta"}, [])
    assert loader.list() == ["alpha", "zeta"]
    assert len(caplog.records) == 1
    with pytest.raises(KeyError):
        loader.load("beta")


def test_a_file_may_hold_spiders_of_any_name_even_a_computed_one(towns):
    both = _GOOD.format(name="alpha") + _GOOD.format(name="beta").partition("Spider\n")[2]
    loader = towns(several=both, first=_COMPUTED, latin='# coding: latin-1\nX = "' + "\\xe9" + '"\n')
    assert [loader.load(name).__name__ for name in ("beta", "zeta", "alpha")] == ["beta", "first", "alpha"]


def test_a_second_spider_of_a_name_is_reported_when_one_is_loaded(towns, caplog):
    heir = "from towns.zeta import zeta\n\n\nclass Heir(zeta):\n    pass\n"
    loader = towns(early=heir, zeta=_GOOD.format(name="zeta"))
    assert loader.load("zeta").__name__ == SpiderLoader(["towns"]).load("zeta").__name__ == "Heir"
    assert "Two spiders are named 'zeta': Heir in towns.early is used" in caplog.records[0].getMessage()
    assert SpiderLoader(["towns"])._all["zeta"].__name__ == "Heir"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("my town", "'my town' is not a folder name of letters, digits"),
        ("class", "'class' is a Python keyword"),
        ("alph.a", ""),
        ("1abc", ""),
    ],
)
def test_genspider_writes_no_broken_file(name, said, project, tmp_path):
    before = set((tmp_path / "spiders").iterdir())
    ran = project("genspider", name, "https://data.example.org")
    written = set((tmp_path / "spiders").glob("*.py")) - before
    assert (ran.returncode, said in ran.stderr, len(written)) == ((2, True, 0) if said else (0, True, 1))
    assert "Traceback" not in ran.stderr
    for path in written:
        compile(path.read_text(), path, "exec")


def test_genspider_replaces_no_other_spider(project, tmp_path):
    """`zet.a` and `zet-a` have one file."""
    (tmp_path / "spiders" / "zet_a.py").write_text(_GOOD.format(name="zet_a"))
    ran = project("genspider", "zet.a", "https://data.example.org")
    assert (ran.returncode, "zet_a.py already exists" in ran.stderr) == (2, True)
    assert "zet_a.example.org" in (tmp_path / "spiders" / "zet_a.py").read_text()
