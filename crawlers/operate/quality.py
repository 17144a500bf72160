"""The quality of the metadata, as `scrapy quality` shows and writes it: as text, JSON, CSV or a page to send."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import islice
from typing import IO, TYPE_CHECKING

from crawlers.operate.report.report import environment
from crawlers.safety import sqlite, strict_json
from crawlers.store.export.output import held_items, held_sources
from crawlers.store.export.validation import Validation
from crawlers.store.figures.formatting import counted
from crawlers.store.figures.quality import DIMENSIONS, INDICATORS, Assessment
from crawlers.store.run_text import table
from crawlers.store.timeseries import line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from crawlers.store.figures.quality import Conforms

    Groups = Mapping[tuple[str, str | None], Assessment]
    """By source and publisher; the publisher is ``None`` for all of the source."""

WHY = {
    "answers": "no archive has looked at the addresses: `scrapy crawl archive -a source={source} -a mode=check`",
    "shapes": "the datasets were not validated: --shapes",
}
"""Why a check is not known, by what it is of."""
_MENDS = 10  # shown as text; JSON, CSV and the page have all
_GROUPS = 200  # on a page; a table, JSON and CSV have all
_NOT_STATED = "not stated"


def as_text(source: str, found: Assessment) -> Iterator[str]:
    """Yield the lines about a source: its points, what is not known, and what to mend first."""
    score = found.of()
    if score.share is None:
        yield f"{source} has no datasets."
        return
    yield f"{source}: {score.points:.0f} of {score.known} points, {100 * score.share:.0f} %: {score.rating}."
    for of, why in WHY.items():
        if left := [one for one in found.unknown() if one.of == of]:
            points = sum(one.points for one in left)
            yield f"{points} points are not known, and left out: {why.format(source=source)}."
    for one, known in found.partly_known():
        yield f"{one.says} is known of {known:,} of {found.datasets:,} datasets."
    yield ""
    rows = [["dimension", "points", "of", "%"]]
    for name in DIMENSIONS:
        own = found.of(name)
        rows.append([name, f"{own.points:.1f}", str(own.known), "" if own.share is None else f"{100 * own.share:.0f}"])
    yield from table(rows, colours=False)
    mends = found.to_mend()
    if mends:
        yield ""
        yield f"What to mend first, of {counted(found.datasets, 'dataset')}:"
        rows = [["gain", "datasets", "check", "for example", "what to do"]]
        for one, check in mends[:_MENDS]:
            gain, example = check.lost / check.known, check.examples[0][0][:40]
            rows.append([f"+{gain:.1f}", str(check.failing), one.says, example, one.mend])
        yield from table(rows, colours=False)
        if len(mends) > _MENDS:
            yield f"{len(mends) - _MENDS} more: --json, --csv and -o have all."


def as_table(groups: Groups, by: str) -> Iterator[str]:
    """Yield a line for each source, or for each publisher of one, and what is not known.

    Args:
        by: source or publisher.
    """
    rows = [[by, "datasets", "points", "of", "%", "rating", *DIMENSIONS]]
    for name, found in groups.items():
        score = found.of()
        shares = [score.share, *(found.of(each).share for each in DIMENSIONS)]
        whole, *parts = ["" if share is None else f"{100 * share:.0f}" for share in shares]
        numbers = [f"{found.datasets:,}", f"{score.points:.0f}", str(score.known), whole, score.rating, *parts]
        rows.append([_called(name, by)[:60], *numbers])
    yield from table(rows, colours=False)
    most = next(iter(groups.values())).of().most
    if any(found.of().known < most for found in groups.values()):
        yield f"Points are of those that are known, of {most}: scrapy quality SOURCE says what is not."


def _called(name: tuple[str, str | None], by: str) -> str:
    source, publisher = name
    return publisher or _NOT_STATED if by == "publisher" else source


def as_json(groups: Groups, by: str | None) -> bytes:
    """Return an object for each group, in a list; one of a publisher that is not stated has null."""
    return strict_json.dumps(
        [
            {"source": source, **({"publisher": publisher} if by else {}), **found.as_json()}
            for (source, publisher), found in groups.items()
        ]
    )


def as_csv(groups: Groups, by: str | None) -> Iterator[bytes]:
    """Yield a row for each group and check: how many datasets fail, and how many points there are on average."""
    yield line(("source", *([by] if by else []), "dimension", "check", "points", "known", "failing", "average"))
    for (source, publisher), found in groups.items():
        for one in INDICATORS:
            check, points = found.checks[one.name], found.points(one)
            numbers = (str(one.points), str(check.known), str(check.failing), "" if points is None else f"{points:.2f}")
            yield line((source, *([publisher or ""] if by else []), one.dimension, one.name, *numbers))


def write_page(file: IO[bytes], groups: Groups, by: str, publishers: Mapping[str, Groups]) -> None:
    """Write one self-contained HTML page.

    Args:
        groups: the sources, or the publishers of one.
        by: source or publisher.
        publishers: those of each source, by its name.
    """
    page = environment().get_template("quality_report.html")
    shown = dict(islice(groups.items(), _GROUPS))
    stream = page.stream(
        groups=shown,
        more=len(groups) - len(shown),
        publishers={name: dict(islice(found.items(), _GROUPS)) for name, found in publishers.items()},
        by=by.capitalize(),
        now=datetime.now(UTC).isoformat(timespec="seconds"),
        dimension_names=DIMENSIONS,
    )
    stream.dump(file, encoding="utf-8", errors="replace")


class _Verdicts:
    """Takes a validation's lines, and keeps whether each dataset conforms: in a file, for there may be many."""

    def __init__(self) -> None:
        self.db = sqlite.temporary(
            "CREATE TABLE found (source TEXT, id TEXT, conforms INTEGER, PRIMARY KEY (source, id))"
        )

    def write(self, line: bytes) -> None:
        found = json.loads(line)
        self.db.execute(
            "INSERT OR REPLACE INTO found VALUES (?, ?, ?)", (found["source"], found["id"], found["conforms"])
        )

    def of(self, source: str, dataset_id: str) -> bool | None:
        found = self.db.execute(
            "SELECT conforms FROM found WHERE source = ? AND id = ?", (source, dataset_id)
        ).fetchone()
        return found and bool(found[0])


def validated(output: Path, sources: Sequence[str], shapes: Sequence[Path], report: Callable[[str], None]) -> Conforms:
    """Validate the datasets of some sources, or of all; return what says whether one of them conforms.

    Args:
        shapes: see `crawlers.store.export.validation.Validation`.
        report: is told of each document that can't be read, in a sentence.

    Raises:
        ExportError: pyshacl is not installed, or a file can't be read as shapes.
    """
    verdicts = _Verdicts()
    named = held_sources(output, list(sources))
    validation = Validation(shapes, "dcat-ap", verdicts)
    before = held_items(output, named, lambda _: None)
    for _ in validation.passing(held_items(output, named, report), before):
        pass
    return verdicts.of
