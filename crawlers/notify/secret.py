"""What is in the environment because it must be nowhere else. No sentence here says a secret."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from crawlers.exceptions import ArgumentError

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


def variable(settings: BaseSettings, setting: str) -> str:
    """The name of the environment variable that a setting names; empty for none.

    Raises:
        ArgumentError: it is no such name; perhaps it is the secret itself.
    """
    name = settings.get(setting) or ""
    if name and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", str(name)):
        raise ArgumentError(
            f"{setting} takes the name of an environment variable, not what is in it: no secret belongs in settings."
        )
    return str(name)


def secret(settings: BaseSettings, setting: str) -> str:
    """What is in the environment variable that a setting names; empty for nothing.

    Raises:
        ArgumentError: the setting names no variable, or there is more than printable ASCII in it.
    """
    name = variable(settings, setting)
    value = os.environ.get(name, "").strip() if name else ""
    if not re.fullmatch(r"[ -~]*", value):
        raise ArgumentError(f"The environment variable {name} has characters in it that are not printable ASCII.")
    return value
