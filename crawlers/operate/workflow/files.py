"""The files of unattended runs, from the templates beside this one; a file is never overwritten unasked."""

from __future__ import annotations

import getpass
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined

from crawlers.exceptions import WorkflowError
from crawlers.operate.workflow.calendar import calendar
from crawlers.store.export.target import target

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crawlers.operate.workflow.workflow import Workflow

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
        f"{workflow.name}.timer": _rendered("unit.timer", workflow, calendar=calendar(workflow.cron or "")),
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

    >>> from crawlers.operate.workflow.workflow import Workflow
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
        loader=PackageLoader("crawlers.operate.workflow"),
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
