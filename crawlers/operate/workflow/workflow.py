"""An unattended run: what it runs, when, and with which secrets."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from datetime import UTC
from importlib.resources import files
from typing import TYPE_CHECKING

from crawlers.exceptions import WorkflowError
from crawlers.operate.sources.schedule import parse
from crawlers.operate.workflow.calendar import calendar, portable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy.settings import BaseSettings

    from crawlers.operate.sources.source import Source

ECOSYSTEM = "ecosystem"
_DUE = "harvest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """An unattended run.

    Args:
        name: of its files.
        title: of its page on GitHub, and of its unit.
        group: those of one group never run at the same time on GitHub, and share their files there.
        command: the words after ``scrapy``.
        cron: when it runs, in UTC; ``None`` if it is only started by hand.
        secrets: the environment variables that it may need.
    """

    name: str
    title: str
    group: str
    command: tuple[str, ...]
    cron: str | None = None
    secrets: tuple[str, ...] = ()

    def with_options(self, options: Sequence[str]) -> Workflow:
        """Return the workflow with more words in its command."""
        return replace(self, command=(*self.command, *options))


def workflows(
    names: Sequence[str], sources: Mapping[str, Source], cron: str | None, settings: BaseSettings
) -> list[Workflow]:
    """Return the workflows of these names.

    Args:
        names: ``ecosystem``, or sources; none for all sources that are due.
        cron: replaces their own times: a cron expression, or daily, weekly, monthly.
        settings: the project's, which name the environment variables of some secrets.

    Raises:
        WorkflowError: a time is invalid.
    """
    shipped = _shipped(settings)
    if not names:
        found = [shipped[_DUE]]
    elif ECOSYSTEM in names:
        found = [one for one in shipped.values() if one.group == ECOSYSTEM]
    else:
        found = [_harvest(sources[name], shipped[_DUE], cron) for name in dict.fromkeys(names)]
    return [one if cron is None else replace(one, cron=_cron(cron, one.name)) for one in found]


def _shipped(settings: BaseSettings) -> dict[str, Workflow]:
    tables = tomllib.loads((files(__package__) / "workflows.toml").read_text(encoding="utf-8"))
    for table in tables.values():
        table["command"] = tuple(table["command"])
        table["secrets"] = tuple(settings.get(name) or name for name in table["secrets"])
    return {name: Workflow(name=name, **table) for name, table in tables.items()}


def _harvest(source: Source, due: Workflow, cron: str | None) -> Workflow:
    """Return the workflow that harvests one source, at its own times unless others are given.

    Raises:
        WorkflowError: its own times are not in UTC, or invalid.
    """
    name, schedule = f"{due.name}-{source.name}", source.schedule
    if cron is None and schedule and schedule.timezone is not UTC:
        raise WorkflowError(
            f"The schedule of {source.name} is in {schedule.timezone}, and a workflow's is in UTC: give it with --cron."
        )
    own = _cron(schedule.cron, source.name) if schedule else None
    return replace(
        due, name=name, title=f"Harvest of {source.name}", group=name, command=(due.name, source.name), cron=own
    )


def _cron(text: str, name: str) -> str:
    """Return the cron expression of a time, as every cron knows it.

    Raises:
        WorkflowError: it is invalid.
    """
    try:
        found = parse(text, name).cron
        calendar(found)
    except ValueError as error:
        raise WorkflowError(f"--cron: {error}.") from None
    return portable(found)
