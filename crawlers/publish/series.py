"""The target timeseries: what was observed of a source, for a table of CKAN's datastore."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import AnswerError, PublishError
from crawlers.publish.change import Change, Field
from crawlers.publish.datastore import COLUMNS, RowsUpsert, TableCreate, find_table, read_rows
from crawlers.publish.record import is_same
from crawlers.store.index import catch_up, observations
from crawlers.store.index.reader import connect

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator
    from pathlib import Path

    from crawlers.publish.portal import Portal
    from crawlers.publish.record import Record
    from crawlers.store.timeseries import Observation

RESOURCE = "Time series"
"""The name of the resource, unless another is given."""
_DATASETS = {"site": "ckan-sites-metadata", "extension": "ckan-extensions-metadata"}
_ROWS = 250  # of a day, written at once
_SOURCES = "SELECT source FROM sources WHERE EXISTS (SELECT 1 FROM observations o WHERE o.source = sources.source)"
_KIND = "SELECT 1 FROM documents WHERE source = ? AND kind = ? LIMIT 1"


def source_of(output: Path, given: str | None) -> str:
    """Return the source whose time series is meant.

    Args:
        given: the source that the user names; without, the only one that has any.

    Raises:
        PublishError: it has none, or several sources have.
        OutputError: there is no index that can be read.
    """
    catch_up(output, named=[given] if given else None)
    with closing(connect(output)) as db:
        found = sorted(row[0] for row in db.execute(_SOURCES))
    if given in found or (given is None and len(found) == 1):
        return given or found[0]
    has = f"These have: {', '.join(found)}." if found else "None has: the next complete run of a source begins its own."
    raise PublishError(f"{f'{given} has no time series.' if given else 'Name the source.'} {has}")


class Series:
    """The time series of a source.

    Args:
        dataset: the portal's dataset that the table belongs to; by default the one that is for sources of this kind.
        resource: the name of the resource in it.
        since: the first day that is published; by default the last one that the table has.

    Raises:
        PublishError: no dataset is named, and the source has neither portals nor extensions.
    """

    def __init__(
        self,
        output: Path,
        source: str,
        *,
        dataset: str | None = None,
        resource: str = RESOURCE,
        since: str | None = None,
    ) -> None:
        self.output = output
        self.source = source
        self.dataset = dataset or _dataset(output, source)
        self.resource = resource
        self.since = since
        self.title = f"time series of {source}"

    async def changes(self, portal: Portal) -> AsyncIterator[list[Change]]:
        """Yield a change for the table if it has to be made, and one for some rows of a day at a time.

        Raises:
            AnswerError: the portal has no such dataset, its resource has other columns, or it does not answer.
        """
        table = await find_table(portal, self.dataset, self.resource)
        if table is None:
            yield [self._table()]
        elif not COLUMNS.keys() <= set(table["columns"] or ()):
            what = f"the resource {self.resource} of {self.dataset}"
            message = f"{what} has no table with the columns {', '.join(COLUMNS)}: name another with --resource"
            raise AnswerError("refused", message)
        place = str(table["id"]) if table else ""
        with closing(connect(self.output)) as db:
            for day in observations.days(db, self.source, self.since or await _last_day(portal, place)):
                for rows in _batches(observations.select(db, self.source, [day])):
                    known = await read_rows(portal, place, day, rows) if place else {}
                    yield [self._rows(day, rows, known)]

    def _table(self) -> Change:
        wanted = {"dataset": self.dataset, "resource": self.resource}
        fields = [Field("resource", None, self.resource), Field("columns", None, list(COLUMNS))]
        subject = f"{self.dataset}/{self.resource}"
        return Change(operation=TableCreate.action, subject=subject, title="A new table", wanted=wanted, fields=fields)

    def _rows(self, day: str, rows: list[list[Any]], known: Record) -> Change:
        """Return the change of some rows; the fields are those that change, and the number of those that are new."""
        before = {(metric, subject): known.get(f"{metric}\t{subject}") for metric, subject, *_ in rows}
        changed = [
            Field(f"{metric} of {subject}", found["value"], value, total=metric)
            for metric, subject, value, _ in rows
            if (found := before[metric, subject]) and not is_same(found["value"], value)
        ]
        new = sum(found is None for found in before.values())
        return Change(
            operation=RowsUpsert.action,
            subject=f"{day}, from {rows[0][0]} of {rows[0][1]}",
            title=f"{len(rows)} rows of {self.dataset}/{self.resource}",
            wanted={"dataset": self.dataset, "resource": self.resource, "day": day, "rows": rows},
            fields=[*([Field("new rows", None, new)] if new else []), *changed],
        )


def _dataset(output: Path, source: str) -> str:
    with closing(connect(output)) as db:
        found = next((name for kind, name in _DATASETS.items() if db.execute(_KIND, (source, kind)).fetchone()), None)
    if found is None:
        raise PublishError(f"{source} has neither portals nor extensions: name the portal's dataset with --dataset.")
    return found


async def _last_day(portal: Portal, resource_id: str) -> str:
    """Return the last day in a table; empty if it has no rows, or does not exist."""
    if not resource_id:
        return ""
    asked = {"resource_id": resource_id, "sort": "day desc", "limit": 1}
    rows = (await portal.read("datastore_search", asked) or {}).get("records")
    return str(rows[0].get("day") or "")[:10] if rows and isinstance(rows[0], dict) else ""


def _batches(found: Iterable[Observation]) -> Iterator[list[list[Any]]]:
    """Yield the rows of a day, some at a time: of metric, subject, value, and number."""
    batch: list[list[Any]] = []
    for one in found:
        batch.append([one.metric, one.subject, one.value, _number(one)])
        if len(batch) == _ROWS:
            yield batch
            batch = []
    if batch:
        yield batch


def _number(observation: Observation) -> float | None:
    found = observations.number(observation)
    return int(found) if found is not None and found.is_integer() else found
