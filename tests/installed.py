"""Environments that have the wheel of this project, what it declares, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Iterable
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.waiting import HANG

PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
BUILD = ["--no-deps", "--no-build-isolation", "--no-index", "--no-cache-dir"]

SCRAPY = """#!{python}
from scrapy.cmdline import execute
execute()
"""


def build_wheel(project: Path, folder: Path) -> Path:
    """Build the wheel of a project's folder into another one."""
    subprocess.run([*PIP, "wheel", *BUILD, "--wheel-dir", folder, project], check=True, timeout=HANG)
    return next(folder.glob("*.whl"))


def needed(requirements: Iterable[str]) -> set[str]:
    """Return the names of all packages that requirements need, those of other packages too.

    Raises:
        AssertionError: what is installed here is of another version than one of them asks for.
    """
    waiting, extras = [*map(Requirement, requirements)], dict[str, set[str]]()
    while waiting:
        one = waiting.pop()
        installed, name = distribution(one.name), canonicalize_name(one.name)
        assert one.specifier.contains(installed.version, prereleases=True), f"{one}: {installed.version} is installed"
        new = {"", *one.extras} - extras.get(name, set())
        extras.setdefault(name, set()).update(new)
        waiting += [other for other in map(Requirement, installed.requires or []) if _is_meant(other, new)]
    return set(extras)


def _is_meant(requirement: Requirement, extras: set[str]) -> bool:
    marker, always = requirement.marker, "" in extras
    return always if marker is None else any(marker.evaluate({"extra": extra}) for extra in extras)


class Environment:
    """An environment with a wheel: it has nothing from the index, but links to what is installed here.

    Args:
        more: further requirements.
    """

    def __init__(self, folder: Path, wheel: Path, *more: str) -> None:
        venv.create(folder, symlinks=True)
        self.python, self.command = folder / "bin" / "python", folder / "bin" / "catalogue-crawlers"
        site = next(folder.glob("lib/python3*/site-packages"))
        install = [*PIP, "--python", str(self.python), "install", "--no-deps", "--no-index", str(wheel)]
        subprocess.run(install, check=True, timeout=HANG)
        declared = Distribution.at(next(site.glob("catalogue_crawlers-*.dist-info"))).requires or []
        for name in needed([*(line for line in declared if "extra ==" not in line), *more]):
            for path in {Path(part.parts[0]) for part in distribution(name).files or []} - {Path("..")}:
                if not (site / path).exists():
                    (site / path).symlink_to(str(distribution(name).locate_file(path)))
        (folder / "bin" / "scrapy").write_text(SCRAPY.format(python=self.python))
        (folder / "bin" / "scrapy").chmod(0o755)

    def start(self, cwd: Path, *words: str, **keywords: Any) -> subprocess.Popen[str]:
        """Start a command, every warning an error."""
        command = [self.python, "-W", "error", self.command, *words]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, cwd=cwd, env=plain(), **(pipes | keywords))

    def run(self, cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
        with self.start(cwd, *words) as process:
            out, err = process.communicate(timeout=HANG)
        return subprocess.CompletedProcess(words, process.returncode, out, err)


def plain() -> dict[str, str]:
    """Return the environment without what leads Python or Scrapy to this project."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SCRAPY", "CRAWLERS"))}
