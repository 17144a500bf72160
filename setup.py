"""What is installed: for the wheel `crawlers` and `pipelines`, for the egg of `scrapyd-deploy` also the catalogues."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from setuptools import find_packages, setup

IS_EGG = any(word in sys.argv for word in ("bdist_egg", "bdist_uberegg"))
CODE = ("crawlers", "pipelines", *(["spiders"] if IS_EGG else []))
DATA = (*CODE, *(["catalogues"] if IS_EGG else []))


def data(package: str) -> list[str]:
    """All files below a package that are no code: contexts, templates, rules; nothing hidden, as git's are."""
    files = (path.relative_to(package) for path in sorted(Path(package).rglob("*")) if path.is_file())
    shown = (file for file in files if not any(part.startswith(".") for part in file.parts))
    return [str(file) for file in shown if file.suffix not in (".py", ".pyc")]


with TemporaryDirectory() as folder:  # so that a build leaves nothing here, and finds nothing of one before
    setup(
        packages=[
            *find_packages(include=[pattern for name in CODE for pattern in (name, f"{name}.*")]),
            *DATA[len(CODE) :],
        ],
        package_data={name: data(name) for name in DATA},
        zip_safe=True,
        options={"build": {"build_base": f"{folder}/build"}, "egg_info": {"egg_base": folder}},
    )
