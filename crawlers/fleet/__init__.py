"""Several machines, an optional extra: the queue in PostgreSQL, its workers, and the hosts that they share.

All else gets a module of this package by `load`, when it needs one.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from crawlers.exceptions import ExtraError

PACKAGES = ("obstore", "procrastinate", "psycopg", "psycopg_pool", "pyarrow")
"""What the extra installs, by the names of their modules."""


def load(module: str, wanted: str = "A queue") -> Any:
    """Return a module of this package.

    Args:
        module: its name, such as ``queue``.
        wanted: what needs it, as a message begins: a setting, or what it names.

    Raises:
        ExtraError: a package of the extra is not installed; the message says how to install it.
    """
    try:
        return import_module(f"{__name__}.{module}")
    except ImportError as error:
        missing = (error.name or "").partition(".")[0]
        if "pq wrapper" in str(error):  # psycopg without the library of PostgreSQL's client
            missing = "psycopg[binary]"
        elif missing not in PACKAGES:
            raise
        advice = "pip install 'catalogue-crawlers[fleet]'"
        raise ExtraError(f"{wanted} needs {missing}, of the extra fleet: {advice}.") from None
