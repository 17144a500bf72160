"""Names that settings and programs of users have from before go on working."""

from __future__ import annotations

import csv
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from scrapy.utils.misc import load_object

ROOT = Path(__file__).parent.parent
ROWS = list(csv.DictReader((ROOT / "crawlers" / "former_names.csv").read_text(encoding="utf-8").splitlines()))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["former"])
def test_a_former_name_leads_to_what_stands_there_now(row: dict[str, str]):
    try:
        now = import_module(row["now"])
    except ModuleNotFoundError:
        now = load_object(row["now"])
        with pytest.warns(FutureWarning, match=f"{row['former']} is {row['now']} now"):
            assert load_object(row["former"]) is now
        return
    former = import_module(row["former"])
    public = next(name for name, one in vars(now).items() if name[0] != "_" and callable(one))
    with pytest.warns(FutureWarning, match=f"{row['former']}.{public} is {row['now']}.{public} now"):
        assert getattr(former, public) is getattr(now, public)


def test_a_program_of_a_user_imports_by_a_former_name():
    program = "from crawlers import values; from crawlers.rdf.graphs import graph; print(values.text(' a '))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "a\n")
    assert "FutureWarning: crawlers.values.text is crawlers.records.values.text now" in done.stderr


def test_a_name_that_never_was_is_not_found():
    with pytest.raises(ModuleNotFoundError, match="No module named"):
        import_module("crawlers.valuables")
    with pytest.raises(ImportError), pytest.warns(FutureWarning):
        from crawlers.values import nothing_of_the_kind  # noqa: F401, PLC0415
