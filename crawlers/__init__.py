"""Copies the metadata of catalogues to disk.

Names that users wrote into settings and programs go on working where a module moved: former_names.csv has them.
"""

from __future__ import annotations

import csv
import sys
import warnings
from functools import cache
from importlib import import_module, resources
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType


@cache
def _now_by_former() -> dict[str, str]:
    table = resources.files(__name__) / "former_names.csv"  # of an egg, too
    rows = table.read_text(encoding="utf-8").splitlines() if table.is_file() else []
    return {row["former"]: row["now"] for row in csv.DictReader(rows)}


class _FormerNames(MetaPathFinder, Loader):
    """Imports a module by its former name, with a warning that has the new one."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith("crawlers."):
            return None
        is_former = any(former == name or former.startswith(f"{name}.") for former in _now_by_former())
        return ModuleSpec(name, self, is_package=True) if is_former else None

    def exec_module(self, module: ModuleType) -> None:
        def attribute(name: str) -> Any:
            whole, former = _now_by_former().get(f"{module.__name__}.{name}"), _now_by_former().get(module.__name__)
            if name.startswith("__") or not (whole or former):
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
            now = whole or f"{former}.{name}"
            warnings.warn(f"{module.__name__}.{name} is {now} now", FutureWarning, stacklevel=2)
            place, _, last = now.rpartition(".")
            return getattr(import_module(place), last)

        module.__getattr__ = attribute  # type: ignore[method-assign]


sys.meta_path.append(_FormerNames())
