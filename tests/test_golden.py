"""Every mapping reads every golden as it stands in expected.json."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.golden import READ, inputs, load

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("given", inputs(), ids=lambda path: f"{path.parts[-3]}/{path.parts[-2]}")
def test_golden(given: Path) -> None:
    found, expected = READ[given.parts[-3]](given), given.with_name("expected.json")
    if not expected.exists():
        text = json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False)
        expected.write_text(f"{text}\n", encoding="utf-8")
        pytest.fail(f"{expected} was missing and has been written: read it")
    assert found == load(expected)


def test_every_mapping_has_goldens() -> None:
    assert {path.parts[-3] for path in inputs()} == set(READ)
