"""``scrapy genworkflow``: writes the files for unattended runs on GitHub Actions, with systemd or with cron."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from crawlers.arguments import url
from crawlers.exceptions import WorkflowError
from crawlers.operate.strict_command import ProjectCommand

if TYPE_CHECKING:
    from crawlers.operate.sources.source import Source
    from crawlers.operate.workflow import Workflow


class Command(ProjectCommand):
    reads_output = False

    takes = "[NAME ... | ecosystem | release] [--cron TIME] [--systemd] [--cron-file] [-o FOLDER] [--force]"
    summary = "Write the files for unattended runs: GitHub Actions, systemd, cron"
    description = (
        "Write a workflow of GitHub Actions for each named source, for the CKAN ecosystem, for a weekly release, "
        "or for all sources that are due; or a service and a timer of systemd, or lines for a crontab. "
        "Exit code: 0 written, 1 not written."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--cron", metavar="TIME", help='when, in UTC: "15 3 * * 1-5", daily, weekly; default: their own schedule')
        add("--systemd", action="store_true", help="write a service and a timer instead")
        add("--cron-file", action="store_true", help="write lines for a crontab instead")
        add("--catalogue", metavar="URL", help="ecosystem: the catalogue of portals and extensions")
        add("--publish-to", metavar="URL", help="ecosystem: the CKAN portal to write to; default: write nothing")
        add("-o", "--output", type=Path, metavar="FOLDER", help="default: .github/workflows, or deploy")
        add("--force", action="store_true", help="overwrite files that are different")

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawlers.operate import workflow
        from crawlers.operate.workflow import workflows

        options, settings = _options(args, opts), self.settings
        chosen = workflows(args, self._sources(args), opts.cron, settings)
        found = [one.with_options(options, given_settings(opts)) for one in chosen]
        deployed = {**(workflow.crontab(found) if opts.cron_file else {})}
        for one in found if opts.systemd else ():
            deployed |= workflow.systemd(one)
        content = deployed or {name: text for one in found for name, text in workflow.github(one).items()}
        folder = opts.output or (workflow.DEPLOY if deployed else workflow.WORKFLOWS)
        for path in workflow.write(folder, content, force=opts.force):
            print(f"Wrote {path}.")
        for line in [] if deployed else _next(found):
            print(line)

    def _sources(self, names: list[str]) -> dict[str, Source]:
        """Return the sources that are named."""
        from crawlers.operate.sources.file import SourcesFile
        from crawlers.operate.sources.source import Known
        from crawlers.operate.workflow import ALONE

        if found := next((name for name in ALONE if name in names), None):
            if len(names) > 1:
                raise WorkflowError(f"{found} goes by itself, without names of sources.")
            return {}
        path = self.path("SOURCES_FILE")
        if not names and not path.exists():
            return {}
        sources = SourcesFile(path, Known(self.settings))
        return sources.named(names) if names else sources.read()[0]


def given_settings(opts: argparse.Namespace) -> list[str]:
    """Return the words that give the command's own settings to what it writes: its secrets have their names."""
    return [word for setting in opts.set for word in ("-s", setting)]


def _options(names: list[str], opts: argparse.Namespace) -> list[str]:
    """Return the words that the options add to the command."""
    given = {"--catalogue": opts.catalogue, "--publish-to": opts.publish_to}
    words = [word for name, value in given.items() if value for word in (name, _address(name, value))]
    if words and names != ["ecosystem"]:
        raise WorkflowError(f"{words[0]} is for ecosystem: scrapy genworkflow ecosystem {words[0]} ...")
    return [*words, "--yes"] if opts.publish_to else words


def _address(name: str, value: str) -> str:
    try:
        found = url(value)
    except ValueError as error:
        raise WorkflowError(f"{name} takes {error}.") from None
    if not re.fullmatch(r"[\w.:/\[\]%~-]+", found, re.ASCII):  # no expression of GitHub, no variable of a shell
        raise WorkflowError(f"{name} takes an address without a query and without special characters.")
    return found


def _next(workflows: list[Workflow]) -> list[str]:
    """Return what is left to do: the secrets to set, and the badges for the README."""
    from crawlers.operate.workflow import badge

    secrets = sorted({secret for one in workflows for secret in one.secrets} - {"GITHUB_TOKEN"})
    passed = f"Secrets of the repository that they pass on, if they are set: {', '.join(secrets)}."
    return [
        *([passed] if secrets else []),
        "Badges for the README:",
        *map(badge, workflows),
    ]
