"""The quality of metadata, by the assessment of data.europa.eu: points of a dataset, of a source, of a publisher.

Five dimensions, 405 points a dataset; of what is said of files, the share of the dataset's files counts. What is not
known leaves the denominator: whether addresses answer is known of what an archive looked at, whether a dataset conforms
only where it was validated.

Source: data.europa.eu's Metadata Quality Assessment, https://data.europa.eu/mqa/methodology.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from crawlers.records import values
from crawlers.records.formats import eu_file_type
from crawlers.records.licenses import is_of_spdx
from crawlers.records.tables import toml_table
from crawlers.store.index.kept import kept

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    Conforms = Callable[[str, str], bool | None]
    """Returns whether the dataset of a source and an id conforms to shapes; ``None`` for what is not known."""

METRIC = "quality:"
"""Before the name of a dimension in a time series; the value is per cent of the points that are known."""
RATINGS = {"excellent": 351 / 405, "good": 221 / 405, "sufficient": 121 / 405, "bad": 0.0}
"""The share of the points from which on each rating is given."""
EXAMPLES = 3
_LICENCES = tuple(f"{scheme}://publications.europa.eu/resource/authority/licence/" for scheme in ("http", "https"))


class Indicator(NamedTuple):
    """One thing that the assessment looks at.

    Args:
        of: dataset, file, answers or shapes: of what it is said, and what must be there to know it.
        says: what it is called.
        test: SQL, as in quality.toml.
        mend: what a publisher can do.
    """

    name: str
    dimension: str
    points: int
    of: Literal["dataset", "file", "answers", "shapes"]
    says: str
    test: str
    mend: str

    @property
    def is_of_files(self) -> bool:
        return self.of in {"file", "answers"}


_TABLE = toml_table("crawlers.store.figures", "quality.toml")
_LISTS = {name: frozenset(words.split()) for name, words in _TABLE.pop("lists").items()}
_MEDIA_TYPES = _LISTS["media_types"]
INDICATORS = tuple(
    Indicator(name, dimension, **each) for dimension, own in _TABLE.items() for name, each in own.items()
)
DIMENSIONS = tuple(dict.fromkeys(one.dimension for one in INDICATORS))

# What vocabularies have of the texts of a source


def listed(vocabulary: str, text: str) -> bool:
    """Return whether a vocabulary has a text.

    Args:
        vocabulary: file_types, media_types, access_rights or licences; machine_readable or non_proprietary formats.

    >>> listed("file_types", "Excel"), listed("media_types", "text/csv"), listed("non_proprietary", "xlsx")
    (True, True, False)
    >>> listed("media_types", "text/markdown"), listed("media_types", "application/x-tar")
    (True, False)
    >>> listed("licences", "CC-BY-4.0"), listed("licences", "other-open"), listed("access_rights", "public")
    (True, False, True)
    """
    return _VOCABULARIES[vocabulary][1](text)


def _is_registered(media_type: str) -> bool:
    known = eu_file_type(media_type)
    return media_type in _MEDIA_TYPES or (
        known is not None and known.media_type == media_type and "/x-" not in media_type
    )


def _file_type(text: str) -> str:
    known = eu_file_type(text)
    return known.code if known else text.strip().upper()


_VOCABULARIES: Mapping[str, tuple[str, Callable[[str], bool]]] = {
    "file_types": ("format", lambda text: eu_file_type(text) is not None),
    "media_types": ("media_type", lambda text: _is_registered(text.partition(";")[0].strip().lower())),
    "access_rights": ("access_rights", lambda text: values.access_right(text) is not None),
    "licences": ("license", lambda text: text.startswith(_LICENCES) or is_of_spdx(text)),
    **{
        name: ("format", lambda text, codes=codes: _file_type(text) in codes)  # type: ignore[misc]
        for name, codes in _LISTS.items()
        if name != "media_types"
    },
}
"""Of each vocabulary the column whose texts it may have, and whether it has one."""
_TEXTS = {"resources": ("format", "media_type", "license"), "datasets": ("license", "access_rights")}
"""The columns of each table whose texts are looked up."""


def _known(db: sqlite3.Connection, given: Mapping[str, str | None], only: str) -> dict[str, str]:
    """Return the texts of a source, or of a dataset, that each vocabulary has, as JSON: few texts are of many files."""
    texts: set[tuple[str, str]] = set()
    for table, columns in _TEXTS.items():  # each is read once
        query = f"SELECT DISTINCT {', '.join(columns)} FROM {table} WHERE source = :source {only}"  # noqa: S608
        for row in db.execute(query, given):
            texts.update((column, text) for column, text in zip(columns, row, strict=True) if text)
    return {
        name: json.dumps([text for column, text in texts if column == of and has(text)])
        for name, (of, has) in _VOCABULARIES.items()
    }


# The query

_ACCESS = "coalesce(r.access_url, iif(r.download_url IS NULL, r.url, NULL))"
_DOWNLOAD = "coalesce(r.download_url, iif(r.access_url IS NULL OR r.access_url = r.url, NULL, r.url))"
_LOOK = """(
    SELECT max(CASE
        WHEN c.is_broken = 1 THEN 0
        WHEN c.state IN ('kept', 'unchanged', 'alive') OR c.http_status BETWEEN 200 AND 399 THEN 1
    END) FROM captures c WHERE c.source = 'archive-of-' || r.source AND c.dataset_id = r.dataset_id
        AND c.url = {} AND c.is_last
)"""  # of whatever links the address: a file, or with what=all a page
_HAS_ARCHIVE = "SELECT EXISTS (SELECT 1 FROM captures WHERE source = 'archive-of-' || ?)"
_PARTS = {
    "access": _ACCESS,
    "download": _DOWNLOAD,
    "access_look": _LOOK.format(_ACCESS),
    "download_look": _LOOK.format(_DOWNLOAD),
}
_OF_DATASETS = f"""
    WITH {", ".join(f"{name} AS MATERIALIZED (SELECT value FROM json_each(:{name}))" for name in _VOCABULARIES)}
    SELECT d.dataset_id, d.title, d.publisher, {{tests}} FROM datasets d LEFT JOIN (
        SELECT r.dataset_id, {{shares}} FROM resources r JOIN datasets d USING (source, dataset_id)
        WHERE d.source = :source AND d.withdrawn = 0 {{only}} GROUP BY r.source, r.dataset_id
    ) f USING (dataset_id) WHERE d.source = :source AND d.withdrawn = 0 {{only}}
"""  # noqa: S608  # the names above


class Assessed(NamedTuple):
    """A dataset, and how much of each indicator it has: from 0 to 1, ``None`` for what is not known."""

    dataset_id: str
    title: str | None
    publisher: str | None
    shares: Sequence[float | None]


@dataclass(slots=True)
class Check:
    """What one indicator found in a group of datasets.

    Attributes:
        known: of how many datasets it is known.
        failing: how many of them lack it, or some of their files do.
        lost: the points that they lack in sum.
        examples: the first of them: id and title.
    """

    known: int = 0
    failing: int = 0
    lost: float = 0.0
    examples: list[tuple[str, str | None]] = field(default_factory=list)


@dataclass(slots=True)
class Assessment:
    """The points of a group of datasets: of a source, of a publisher, or of one dataset."""

    datasets: int = 0
    checks: dict[str, Check] = field(default_factory=lambda: {one.name: Check() for one in INDICATORS})

    def add(self, one: Assessed) -> None:
        """Count a dataset."""
        self.datasets += 1
        for indicator, share in zip(INDICATORS, one.shares, strict=True):
            if share is None:
                continue
            check = self.checks[indicator.name]
            check.known += 1
            if share < 1:
                check.failing += 1
                check.lost += indicator.points * (1 - share)
                if len(check.examples) < EXAMPLES:
                    check.examples.append((one.dataset_id, one.title))

    def join(self, other: Assessment) -> None:
        """Count the datasets of another group."""
        self.datasets += other.datasets
        for name, theirs in other.checks.items():
            check = self.checks[name]
            check.known += theirs.known
            check.failing += theirs.failing
            check.lost += theirs.lost
            check.examples += theirs.examples[: EXAMPLES - len(check.examples)]

    def points(self, indicator: Indicator) -> float | None:
        """Return the points of an indicator that a dataset has on average; ``None`` if that is not known."""
        check = self.checks[indicator.name]
        return indicator.points - check.lost / check.known if check.known else None

    def of(self, dimension: str | None = None) -> Score:
        """Return the points of a dimension, or of all."""
        own = [one for one in INDICATORS if dimension in (None, one.dimension)]
        found = [(one.points, points) for one in own if (points := self.points(one)) is not None]
        return Score(sum(points for _, points in found), sum(most for most, _ in found), sum(one.points for one in own))

    def unknown(self) -> list[Indicator]:
        """Return what is known of no dataset."""
        return [one for one in INDICATORS if not self.checks[one.name].known]

    def partly_known(self) -> list[tuple[Indicator, int]]:
        """Return what is known of some of the datasets, and of how many."""
        found = [(one, self.checks[one.name].known) for one in INDICATORS]
        return [(one, known) for one, known in found if 0 < known < self.datasets]

    def to_mend(self) -> list[tuple[Indicator, Check]]:
        """Return what fails, by the points that mending it brings."""
        found = [(one, self.checks[one.name]) for one in INDICATORS if self.checks[one.name].failing]
        return sorted(found, key=lambda each: (-each[1].lost / each[1].known, each[0].name))

    def rows(self) -> list[dict[str, Any]]:
        """Return what a dataset has, lacks, and what is not known of it, of each dimension: rows of a plot."""
        found = []
        for name in DIMENSIONS:
            own = self.of(name)
            values = [round(own.points), own.known - round(own.points), own.most - own.known]
            label = name.capitalize()
            found.append({"label": label, "values": values, "total": own.most, "all": False, "cells": [label, *values]})
        return found

    def as_json(self) -> dict[str, Any]:
        """Return all of it, for programs."""
        return {
            "datasets": self.datasets,
            **self.of().as_json(),
            "dimensions": {name: self.of(name).as_json() for name in DIMENSIONS},
            "not_known": [one.name for one in self.unknown()],
            "to_mend": [
                {
                    "check": one.name,
                    "says": one.says,
                    "dimension": one.dimension,
                    "points": one.points,
                    "datasets": check.failing,
                    "known": check.known,
                    "gain": round(check.lost / check.known, 2),
                    "mend": one.mend,
                    "examples": [{"id": name, "title": title} for name, title in check.examples],
                }
                for one, check in self.to_mend()
            ],
        }


class Score(NamedTuple):
    """Points, on average.

    Args:
        known: how many there could be, of what is known.
        most: how many there could be if all were known.
    """

    points: float
    known: int
    most: int

    @property
    def share(self) -> float | None:
        return self.points / self.known if self.known else None

    def as_json(self) -> dict[str, Any]:
        share = self.share
        per_cent = None if share is None else round(100 * share, 1)
        return {
            "points": round(self.points, 1),
            "of": self.known,
            "most": self.most,
            "share": per_cent,
            "rating": self.rating,
        }

    @property
    def rating(self) -> str:
        """
        >>> Score(201, 325, 405).rating, Score(0, 0, 405).rating
        ('good', 'not known')
        """
        share = self.share
        return next(name for name, least in RATINGS.items() if share >= least) if share is not None else "not known"


def assessed(
    db: sqlite3.Connection,
    source: str,
    dataset_id: str | None = None,
    conforms: Conforms | None = None,
) -> Iterator[Assessed]:
    """Yield the datasets of a source that are not withdrawn, or one of them.

    Args:
        db: the index.
        conforms: what validation found, if there was one.
    """
    for row in db.execute(*_query(db, source, dataset_id, conforms, has_archive=_has_archive(db, source))):
        name, title, publisher, *shares = row
        yield Assessed(name, title, publisher, shares)


def _query(
    db: sqlite3.Connection,
    source: str,
    dataset_id: str | None = None,
    conforms: Conforms | None = None,
    *,
    has_archive: bool,
) -> tuple[str, dict[str, str | None]]:
    """Return what selects the fields of `Assessed`, the shares by the indicators' names, and its parameters."""
    if conforms:
        db.create_function("conforms", 2, conforms)
    is_known = {"dataset": True, "file": True, "answers": has_archive, "shapes": conforms is not None}
    tests = {one.name: one.test.format(**_PARTS) if is_known[one.of] else "NULL" for one in INDICATORS}
    without_files = {one.name: 0 if one.of == "file" else "NULL" for one in INDICATORS}
    of_files = [one for one in INDICATORS if one.is_of_files]
    only = "" if dataset_id is None else "dataset_id = :dataset_id"
    query = _OF_DATASETS.format(
        shares=", ".join(f"avg({tests[one.name]}) AS {one.name}" for one in of_files),
        tests=", ".join(
            (f"iif(d.resources, f.{one.name}, {without_files[one.name]})" if one.is_of_files else tests[one.name])
            + f" AS of_{one.name}"
            for one in INDICATORS
        ),
        only=only and f"AND d.{only}",
    )
    given = {"source": source, "dataset_id": dataset_id}
    return query, given | _known(db, given, only and f"AND {only}")


def assessment(
    db: sqlite3.Connection,
    source: str,
    dataset_id: str | None = None,
    conforms: Conforms | None = None,
) -> Assessment:
    """Return the points of a source, or of one of its datasets; see `assessed`."""
    found = Assessment()
    for one in assessed(db, source, dataset_id, conforms):
        found.add(one)
    return found


def together(groups: Iterable[Assessment]) -> Assessment:
    """Return the points of several groups as one."""
    found = Assessment()
    for one in groups:
        found.join(one)
    return found


def by_publisher(db: sqlite3.Connection, source: str, conforms: Conforms | None = None) -> dict[str | None, Assessment]:
    """Return the points of each publisher of a source, those of most datasets first."""
    found: dict[str | None, Assessment] = {}
    for one in assessed(db, source, None, conforms):
        found.setdefault(one.publisher, Assessment()).add(one)
    return dict(sorted(found.items(), key=lambda each: (-each[1].datasets, each[0] or "")))


def scores(db: sqlite3.Connection, source: str, dataset_id: str) -> dict[str, tuple[float, int]]:
    """Return a dataset's points, and of how many, by data.europa.eu's metrics: scoring, findabilityScoring ..."""
    found = assessment(db, source, dataset_id)
    named = {"scoring": found.of(), **{f"{name}Scoring": found.of(name) for name in DIMENSIONS}}
    return {name: (score.points, score.known) for name, score in named.items()}


def observed(db: sqlite3.Connection, source: str, version: str) -> dict[str, str]:
    """Return the metrics of a source's time series: the share of the points of each dimension, in per cent.

    They are kept, but not where an archive is: its captures count, too.

    Args:
        version: as in `crawlers.store.index.kept.kept`.
    """
    if _has_archive(db, source):
        return _shares(db, source, has_archive=True)
    return kept(db, source, version, "shares", _shares)


def _has_archive(db: sqlite3.Connection, source: str) -> bool:
    return bool(db.execute(_HAS_ARCHIVE, (source,)).fetchone()[0])


def _shares(db: sqlite3.Connection, source: str, *, has_archive: bool = False) -> dict[str, str]:
    found = _summed(db, source, has_archive=has_archive)
    shares = {name: found.of(name).share for name in DIMENSIONS}
    return {f"{METRIC}{name}": f"{100 * share:.1f}" for name, share in shares.items() if share is not None}


def _summed(db: sqlite3.Connection, source: str, *, has_archive: bool) -> Assessment:
    """Return the points of a source, without what fails: SQLite sums faster than each dataset is read."""
    query, given = _query(db, source, has_archive=has_archive)
    sums = ", ".join(f"count(of_{one.name}), total(1 - of_{one.name})" for one in INDICATORS)
    datasets, *numbers = db.execute(f"SELECT count(*), {sums} FROM ({query})", given).fetchone()  # noqa: S608
    found = Assessment(datasets)
    for one, known, lacking in zip(INDICATORS, numbers[::2], numbers[1::2], strict=True):
        found.checks[one.name] = Check(known, lost=one.points * lacking)
    return found
