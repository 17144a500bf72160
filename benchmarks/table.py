"""The table: its rows, the figures in them, and how they are told."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.processes import COUNTS, Cost, Spread

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table; without a promise it is only told."""

    what: str
    measured: str
    promised: str = ""
    kept: bool | None = None

    @property
    def verdict(self) -> str:
        return "" if self.kept is None else "kept" if self.kept else "NOT kept"


def tell(name: str, rows: Iterator[Row]) -> None:
    print(f"\n{name}", flush=True)
    for row in rows:
        if row.measured.startswith("nan"):  # not measured where instructions are counted
            continue
        print(f"  {row.what:<42} {row.promised:<20} {row.verdict:<9} {row.measured}".rstrip(), flush=True)


def compared(ones: list[Cost], others: list[Cost], field: str) -> Spread:
    return Spread.of(getattr(one, field) / getattr(other, field) for one, other in zip(ones, others, strict=True))


def median(costs: list[Cost], field: str) -> float:
    return Spread.of(getattr(cost, field) for cost in costs).median


def times(ratio: Spread) -> str:
    return f"{ratio.median:.2f}x ({ratio.low:.2f}..{ratio.high:.2f})"


def seconds(costs: list[Cost], field: str) -> str:
    unit = "billion instructions" if field == "cpu" and COUNTS in os.environ else "s"
    return f"{median(costs, field):.1f} {unit}"


def against(ones: list[Cost], others: list[Cost], field: str) -> str:
    """How many times as much, and how much each of the two."""
    return f"{times(compared(ones, others, field))}: {seconds(ones, field)} to {seconds(others, field)}"
