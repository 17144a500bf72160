"""The templates of the commands: what is not ours is escaped, and what is not given is an error."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def templates(package: str, path: str = "templates", **options: Any) -> Environment:
    """Return the templates of a package.

    Args:
        path: their folder in it.
        options: of Jinja's ``Environment``, beside or instead of these.
    """
    ours: dict[str, Any] = {
        "autoescape": True,
        "undefined": StrictUndefined,
        "trim_blocks": True,
        "lstrip_blocks": True,
    }
    return Environment(loader=PackageLoader(package, path), **ours | options)  # noqa: S701 -- ours escape
