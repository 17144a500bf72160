"""Files for unattended runs: workflows of GitHub Actions, units of systemd, lines for cron."""

from __future__ import annotations

import getpass
import shlex
import sys
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from cronsim import CronSim
from jinja2 import Environment, PackageLoader, StrictUndefined

from crawlers.exceptions import WorkflowError
from crawlers.operate.sources.schedule import parse
from crawlers.store.export.output import target

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from crawlers.operate.sources.source import Source


ECOSYSTEM = "ecosystem"
_DUE = "harvest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """An unattended run.

    Args:
        title: of its page on GitHub, and of its unit.
        group: those of one group never run at the same time on GitHub, and share their files there.
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
    tables = tomllib.loads((files(__package__) / "templates/workflow/workflows.toml").read_text(encoding="utf-8"))
    for table in tables.values():
        table["command"] = tuple(table["command"])
        table["secrets"] = tuple(settings.get(name) or name for name in table["secrets"])
    return {name: Workflow(name=name, **table) for name, table in tables.items()}


def _harvest(source: Source, due: Workflow, cron: str | None) -> Workflow:
    """Return the workflow that harvests one source, at its own times unless others are given."""
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
    """Return the cron expression of a time, as every cron knows it."""
    try:
        found = parse(text, name).cron
        on_calendar(found)
    except ValueError as error:
        raise WorkflowError(f"--cron: {error}.") from None
    return portable(found)


WORKFLOWS = Path(".github/workflows")
DEPLOY = Path("deploy")


def github(workflow: Workflow) -> dict[str, str]:
    """Return the file of a workflow of GitHub Actions, by name."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    command = shlex.join(("scrapy", *workflow.command))
    return {f"{workflow.name}.yml": _rendered("workflow.yml", workflow, command=command, python=version)}


def systemd(workflow: Workflow) -> dict[str, str]:
    """Return a service and its timer, by name.

    Raises:
        WorkflowError: it has no time.
    """
    _check_time(workflow)
    here = {"folder": str(Path.cwd()), "user": getpass.getuser(), "words": [_scrapy(), *workflow.command]}
    return {
        f"{workflow.name}.service": _rendered("unit.service", workflow, **here),
        f"{workflow.name}.timer": _rendered("unit.timer", workflow, calendar=on_calendar(workflow.cron or "")),
    }


def crontab(workflows: Sequence[Workflow]) -> dict[str, str]:
    """Return lines for a crontab, by the name of their file.

    Raises:
        WorkflowError: one has no time.
    """
    lines = []
    for workflow in workflows:
        _check_time(workflow)
        command = shlex.join((_scrapy(), *workflow.command))
        line = f"cd {shlex.quote(str(Path.cwd()))} && {command} 2>&1".replace("%", r"\%")  # which cron ends a line at
        lines.append({"title": workflow.title, "cron": workflow.cron, "line": line})
    return {f"{workflows[0].group}.cron": _environment().get_template("crontab").render(workflows=lines)}


def write(folder: Path, content: Mapping[str, str], *, force: bool) -> list[Path]:
    """Write files into a folder; return their paths.

    Args:
        force: whether to overwrite files with another content.

    Raises:
        WorkflowError: such a file exists already, or the folder can't be made; none is written.
        ExportError: a file can't be written.
    """
    paths = {folder / name: text.encode() for name, text in content.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        changed = [path for path, body in paths.items() if path.exists() and path.read_bytes() != body]
    except OSError as error:
        raise WorkflowError(f"{error.filename} can't be used: {error.strerror}.") from None
    if changed and not force:
        raise WorkflowError(f"{changed[0]} exists and is different: look at it, or overwrite it with --force.")
    for path, body in paths.items():
        with target(path) as file:
            file.write(body)
    return [*paths]


def badge(workflow: Workflow) -> str:
    """Return the badge of a workflow for a README on GitHub, which resolves relative addresses.

    >>> from crawlers.operate.workflow import Workflow
    >>> badge(Workflow(name="harvest-hdx", title="hdx", group="harvest-hdx", command=("harvest", "hdx")))
    '[![hdx](../../actions/workflows/harvest-hdx.yml/badge.svg)](../../actions/workflows/harvest-hdx.yml)'
    """
    address = f"../../actions/workflows/{workflow.name}.yml"
    return f"[![{workflow.title}]({address}/badge.svg)]({address})"


def _check_time(workflow: Workflow) -> None:
    if workflow.cron is None:
        raise WorkflowError(f"{workflow.title} has no schedule in sources.toml: give it one, or --cron.")


def _scrapy() -> str:
    """Return the path of ``scrapy`` beside this Python, which may be a virtual environment's."""
    return str(Path(sys.executable).parent / "scrapy")


def _rendered(template: str, workflow: Workflow, **values: object) -> str:
    known = {name: getattr(workflow, name) for name in ("name", "title", "group", "cron", "secrets")}
    return _environment().get_template(template).render(known | values)


def _environment() -> Environment:
    """Return the templates; their brackets are square, for GitHub's expressions have curly ones."""
    made = Environment(
        loader=PackageLoader("crawlers.operate", "templates/workflow"),
        autoescape=False,  # noqa: S701 -- no HTML; what is not ours is quoted for the shell or for systemd
        undefined=StrictUndefined,
        block_start_string="[%",
        block_end_string="%]",
        variable_start_string="[[",
        variable_end_string="]]",
        comment_start_string="[#",
        comment_end_string="#]",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(word=_word, specifiers=_specifiers)
    return made


def _word(text: str) -> str:
    r"""Return a word of a unit's line: quoted, and without variables or specifiers.

    >>> _word("/srv/100%/my files"), _word("--due")
    ('"/srv/100%%/my files"', '--due')
    """
    escaped = _specifiers(text).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{escaped}"' if set(text) & set(" '\"\\;$") else escaped


def _specifiers(text: str) -> str:
    return text.replace("%", "%%")


_WEEKDAYS = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")
_DAYS, _MONTHS, _HOURS, _MINUTES = range(1, 32), range(1, 13), range(24), range(60)


def on_calendar(cron: str) -> list[str]:
    """Return the values of ``OnCalendar=`` for a valid cron expression, in UTC.

    As in cron, a day matches if its date or its weekday does, where both are given: that takes two values.

    Raises:
        ValueError: it has an L or a #, which only some programs know.

    >>> on_calendar("0 2 * * 0"), on_calendar("*/20 3 1 * 5")
    (['Sun *-*-* 02:00:00 UTC'], ['*-*-01 03:00,20,40:00 UTC', 'Fri *-*-* 03:00,20,40:00 UTC'])
    """
    parts = CronSim(cron, datetime.now(UTC))
    if not all(isinstance(one, int) and one >= 0 for one in (*parts.days, *parts.weekdays)):
        raise ValueError(f"{cron!r} has an L or a #, which GitHub, systemd and most crons do not know")
    time = f"{_listed(parts.hours, _HOURS)}:{_listed(parts.minutes, _MINUTES)}:00 UTC"
    months, days = _listed(parts.months, _MONTHS), _listed(parts.days, _DAYS)
    weekdays = ",".join(day for number, day in enumerate(_WEEKDAYS) if {number, number or 7} & set(parts.weekdays))
    weekday = "" if weekdays.count(",") == 6 else f"{weekdays} "
    if parts.day_and or not weekday or days == "*":
        return [f"{weekday}*-{months}-{days} {time}"]
    return [f"*-{months}-{days} {time}", f"{weekday}*-{months}-* {time}"]


def portable(cron: str) -> str:
    """Return a valid cron expression in which Sunday is 0, not 7: GitHub refuses that.

    >>> portable("0 2 * * 7"), portable("0 2 * * 5-7"), portable("*/7 3 * * *")
    ('0 2 * * 0', '0 2 * * 0,5,6', '*/7 3 * * *')
    """
    *before, weekdays = cron.split()
    if "7" not in weekdays:
        return cron
    known = CronSim(cron, datetime.now(UTC)).weekdays
    numbers = {number % 7 for number in known if isinstance(number, int)}
    return " ".join((*before, ",".join(map(str, sorted(numbers)))))


def _listed(numbers: Collection[int], every: range) -> str:
    """Return numbers with two digits; an asterisk for all."""
    return "*" if set(every) <= set(numbers) else ",".join(f"{number:02}" for number in sorted(numbers))
