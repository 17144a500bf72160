"""Files for unattended runs: workflows of GitHub Actions, units of systemd, lines for cron."""

from __future__ import annotations

import getpass
import os
import re
import shlex
import sys
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cronsim import CronSim
from scrapy.settings import SETTINGS_PRIORITIES

from crawlers.archive.forms import variables
from crawlers.exceptions import WorkflowError
from crawlers.operate.jinja import templates
from crawlers.operate.sources.schedule import parse
from crawlers.records import toml
from crawlers.s3.address import is_address
from crawlers.s3.address import parse as parse_address
from crawlers.safety.names import archive_of
from crawlers.store.export.output import target

if TYPE_CHECKING:
    from jinja2 import Environment
    from scrapy.settings import BaseSettings

    from crawlers.operate.sources.source import Source


ECOSYSTEM = "ecosystem"
RELEASE = "release"
ALONE = (ECOSYSTEM, RELEASE)
"""The names that stand for no source."""
_DUE = "harvest"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_S3 = (
    *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
    *("AWS_REGION", "AWS_ENDPOINT_URL", "AWS_ALLOW_HTTP"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """An unattended run.

    Args:
        title: of its page on GitHub, and of its unit.
        group: those of one group never run at the same time on GitHub, and share their files there.
        cron: when it runs, in UTC; ``None`` if it is only started by hand.
        secrets: the environment variables that it may need.
        places: where it writes what the next run needs, by the setting that says so.
        archives: the folder that it keeps linked files in, by the name of a source whose archive does.
        forms: the files that say how forms before these are filled.
        settings: the words of the command that give settings.
    """

    name: str
    title: str
    group: str
    command: tuple[str, ...]
    cron: str | None = None
    secrets: tuple[str, ...] = ()
    places: Mapping[str, str] = field(default_factory=dict)
    archives: Mapping[str, str] = field(default_factory=dict)
    forms: tuple[Path, ...] = ()
    settings: tuple[str, ...] = ()

    def with_options(self, options: Sequence[str], settings: Sequence[str] = ()) -> Workflow:
        """Return the workflow with more words in its command.

        Raises:
            WorkflowError: a word, a place or the name of a variable would begin another line of a file.
        """
        for name in self.secrets:
            if not _VARIABLE.fullmatch(name):
                raise WorkflowError(f"{name!r} is no name of a variable: choose one of letters, digits and _.")
        words = (*self.command, *options, *settings, *self.places.values(), *self.archives.values())
        if not all(map(str.isprintable, words)):
            raise WorkflowError("A setting has a line break or another invisible sign, which no file can pass on.")
        return replace(self, command=(*self.command, *options, *settings), settings=tuple(settings))


def workflows(
    names: Sequence[str], sources: Mapping[str, Source], cron: str | None, settings: BaseSettings
) -> list[Workflow]:
    """Return the workflows of these names.

    Args:
        names: ``ecosystem``, ``release``, or sources; none for all sources that are due.
        sources: those that are run.
        cron: replaces their own times: a cron expression, or daily, weekly, monthly.
        settings: the project's, which name the environment variables of some secrets.

    Raises:
        WorkflowError: a time is invalid.
        RulesError: FORMS_FILE can't be read.
        OutputError: a place is in S3, and its address is none.
    """
    shipped = {name: Workflow(name=name, **table) for name, table in _table().items()}
    if ECOSYSTEM in names:
        found = [_equipped(one, [], settings) for one in shipped.values() if one.group == ECOSYSTEM]
    elif RELEASE in names:
        found = [_equipped(shipped[RELEASE], [], settings)]
    elif names:
        chosen = [sources[name] for name in dict.fromkeys(names)]
        found = [_equipped(_harvest(one, shipped[_DUE], cron), [one], settings) for one in chosen]
    else:
        found = [_equipped(shipped[_DUE], [one for one in sources.values() if not one.left_out], settings)]
    return [one if cron is None else replace(one, cron=_cron(cron, one.name)) for one in found]


def _table() -> dict[str, dict[str, Any]]:
    tables = tomllib.loads((files(__package__) / "templates/workflow/workflows.toml").read_text(encoding="utf-8"))
    for table in tables.values():
        table.update((name, tuple(value)) for name, value in table.items() if isinstance(value, list))
    return tables


def _equipped(workflow: Workflow, sources: Sequence[Source], settings: BaseSettings) -> Workflow:
    """Return a workflow with the variables and the places that its sources and their archives need."""
    highest = SETTINGS_PRIORITIES["cmdline"]
    command_line = {name: settings[name] for name in settings if settings.getpriority(name) == highest}
    given = {one.name: {**settings, **one.settings, **command_line} for one in sources}
    archives = {one.name: given[one.name] for one in sources if one.archive or one.name.startswith(archive_of(""))}
    stores = {name: str(known["ARCHIVE_STORE"]) for name, known in archives.items()}
    secrets = [str(known.get(name) or "") for name in workflow.secrets for known in (settings, *given.values())]
    forms = [path for path in {Path(str(known["FORMS_FILE"])) for known in archives.values()} if path.exists()]
    for path in forms:
        secrets += toml.load(path, "The forms", variables)
    output = settings["OUTPUT_STORE"] or settings["OUTPUT_DIR"]
    named = [("OUTPUT_DIR", str(output)), *(("ARCHIVE_STORE", store) for store in stores.values())]
    in_s3 = [place for name, place in named if is_address(place, name) and parse_address(place, name)]
    secrets += _S3 if in_s3 else ()
    places = {name: str(settings[name]) for name in ("OUTPUT_DIR", "JOBS_DIR", "LOGS_DIR")}
    if is_address(output, "OUTPUT_DIR"):
        places = {"OUTPUT_MIRROR": str(settings["OUTPUT_MIRROR"]), **{n: places[n] for n in ("JOBS_DIR", "LOGS_DIR")}}
    return replace(
        workflow,
        secrets=tuple(dict.fromkeys(filter(None, secrets))),
        places=places,
        archives={name: store for name, store in stores.items() if store not in in_s3},
        forms=tuple(sorted(forms)),
    )


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
_GIVEN = "GITHUB_TOKEN"  # the secret that each run has without being set
_SECRET = re.compile(r"(?!GITHUB_)[A-Z_][A-Z0-9_]*", re.ASCII | re.IGNORECASE)
"""What GitHub takes as the name of a secret."""


def github(workflow: Workflow) -> dict[str, str]:
    """Return the file of a workflow of GitHub Actions, by name.

    Raises:
        WorkflowError: a runner does not keep what it writes, or GitHub refuses the name of a secret.
    """
    for source, store in workflow.archives.items():
        message = f"The archive of {source} keeps its files in the folder {store}, which a runner of GitHub loses"
        raise WorkflowError(f"{message}: set ARCHIVE_STORE to s3://bucket/prefix.")
    for name in workflow.secrets:
        if name != _GIVEN and not _SECRET.fullmatch(name):
            raise WorkflowError(f"GitHub takes no secret called {name}: choose a name that begins with another word.")
    for path in workflow.forms:
        if not path.resolve().is_relative_to(Path.cwd()):
            raise WorkflowError(f"FORMS_FILE is {path}, which a runner of GitHub lacks: move it into the repository.")
    places = {name: _in_repository(name, place) for name, place in workflow.places.items()}
    *kept, logs = places.values()
    command = shlex.join(("scrapy", *workflow.command))
    if "${{" in command:
        raise WorkflowError("A setting has ${{, which a workflow of GitHub can't pass on.")
    summary = shlex.join(("scrapy", "report", "--format", "markdown", *workflow.settings))
    keys = _S3 if "OUTPUT_MIRROR" in workflow.places else ()
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    values: dict[str, Any] = {
        "releases": workflow.name == RELEASE,
        "command": command,
        "summary": summary,
        "keys": keys,
        "python": version,
        "kept": kept,
        "logs": logs,
    }
    text = _rendered("workflow.yml", workflow, **values)
    return {f"{workflow.name}.yml": text}


def _in_repository(setting: str, place: str) -> str:
    """Return a folder relative to the repository.

    Raises:
        WorkflowError: it is elsewhere.
    """
    here = Path.cwd()
    folder = Path(os.path.normpath(here / place))
    if not folder.is_relative_to(here) or folder == here or not re.fullmatch(r"[\w./ -]+", place):
        hint = ", or use s3://bucket/prefix" if setting == "OUTPUT_DIR" else ""
        message = f"{setting} is {place}, which a runner of GitHub does not keep"
        raise WorkflowError(f"{message}: name a folder below the repository's{hint}.")
    return folder.relative_to(here).as_posix()


def systemd(workflow: Workflow) -> dict[str, str]:
    """Return a service and its timer, by name.

    Raises:
        WorkflowError: it has no time.
    """
    _check_time(workflow)
    home = Path.cwd()
    elsewhere = {os.path.realpath(home / one) for one in (*workflow.places.values(), *workflow.archives.values())}
    written = [str(home), *sorted(one for one in elsewhere if not Path(one).is_relative_to(home))]
    here = {"folder": str(home), "user": getpass.getuser(), "words": [_scrapy(), *workflow.command], "written": written}
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
    secrets = list(dict.fromkeys(name for one in workflows for name in one.secrets))
    text = _environment().get_template("crontab").render(workflows=lines, secrets=secrets)
    return {f"{workflows[0].group}.cron": text}


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
    made = templates(
        "crawlers.operate",
        "templates/workflow",
        autoescape=False,  # no HTML; what is not ours is quoted for the shell or for systemd
        block_start_string="[%",
        block_end_string="%]",
        variable_start_string="[[",
        variable_end_string="]]",
        comment_start_string="[#",
        comment_end_string="#]",
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
