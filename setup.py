"""What `scrapyd-deploy` puts into the egg; nothing else needs this file, the project is run from its folder."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from setuptools import find_packages, setup

CODE = ("crawlers", "spiders", "pipelines")
RULES = "catalogues"


def version() -> str:
    """The settings' own, read and not imported: where an egg is built, what the spiders need may not be installed."""
    text = Path("crawlers/settings.py").read_text(encoding="utf-8")
    found = re.search(r'^VERSION = "(.+)"', text, re.MULTILINE)
    if found is None:
        raise SystemExit('crawlers/settings.py has no line like VERSION = "0.2.0".')
    return found[1]


def data(package: str) -> list[str]:
    """All files below a package that are no code: contexts, templates, rules; nothing hidden, as git's are."""
    files = (path.relative_to(package) for path in sorted(Path(package).rglob("*")) if path.is_file())
    shown = (file for file in files if not any(part.startswith(".") for part in file.parts))
    return [str(file) for file in shown if file.suffix not in (".py", ".pyc")]


with TemporaryDirectory() as folder:  # so that a build leaves nothing here, and finds nothing of one before
    setup(
        name="crawlers",
        version=version(),
        python_requires=">=3.11",
        packages=[*find_packages(include=[pattern for name in CODE for pattern in (name, f"{name}.*")]), RULES],
        package_data={name: data(name) for name in (*CODE, RULES)},
        entry_points={"scrapy": ["settings = crawlers.settings"]},
        zip_safe=True,
        options={"build": {"build_base": f"{folder}/build"}, "egg_info": {"egg_base": folder}},
    )
