"""A source's arguments and settings as `-a` and `-s` take them."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import SourcesError, hint
from crawlers.operate.setting_types import lacks
from crawlers.safety.redact import redact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crawlers.operate.sources.project_context import Known

_SECRET = re.compile(r"(?i)(api_?key|token|secret|passw(or)?d|credential|access_?key|authorization|_pass$|\bauth\b)")
_KEYS = re.compile(r"[?&;](?:(?:sig|pwd|pass|auth)=[^&;]|(?:key|code)=[^&;]{16})", re.IGNORECASE)
"""Signatures and keys in an address, by names that `redact` ignores: a short ``key=`` may be a table's key."""
_ENVIRONMENT = "which would be in this file, in logs and in reports. Put it into the environment variable that"

HARVESTS = frozenset(
    (
        *("OUTPUT_DIR", "JOBDIR", "LOG_FILE", "LOG_FILE_APPEND", "LOG_ENABLED", "SOURCES_FILE", "JOBS_DIR", "LOGS_DIR"),
        *("OUTPUT_STORE", "OUTPUT_MIRROR", "OUTPUT_LEASE", "OUTPUT_STORE_INTERVAL", "OUTPUT_STORE_PATIENCE"),
        *("HEARTBEAT_INTERVAL", "RUNS_KEPT_DAYS", "LOGS_KEPT_DAYS", "SCRAPYD_NODES", "SCRAPYD_LOGIN_ENV"),
        "DASHBOARD_PASSWORD_ENV",
        "SOURCE_CONTACT",
        *("SPIDER_MODULES", "COMMANDS_MODULE", "SCHEDULER", "FEED_URI"),
    )
)
"""The settings that apply to all sources: in `crawlers.settings` or with `scrapy harvest -s`."""

_CODE = frozenset(
    (
        *("BROWSER_EXECUTABLE", "DOWNLOADER_CLIENTCONTEXTFACTORY", "EDITOR", "HTTPCACHE_DBM_MODULE"),
        *("NEWSPIDER_MODULE", "TEMPLATES_DIR"),
    )
)
"""Settings whose values name programs, modules or templates."""
_DATA = frozenset(
    (
        *("AWS_ENDPOINT_URL", "AWS_MAX_POOL_CONNECTIONS", "AWS_REGION_NAME", "AWS_USE_SSL", "AWS_VERIFY"),
        *("DOWNLOAD_BIND_ADDRESS", "DOWNLOAD_TLS_MAX_VERSION", "FEED_TEMPDIR", "GCS_PROJECT_ID", "HTTPAUTH_DOMAIN"),
        *("ROBOTSTXT_USER_AGENT", "SPOOL_DIR"),
    )
)
"""Settings without a default that are data; others without one may be imported, as ASYNCIO_EVENT_LOOP is."""
_COMPONENT = re.compile(r"(scrapy|twisted|crawlers|pipelines)(\.\w+){2,}")
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")


def texts(given: Mapping[str, Any], table: str) -> dict[str, str]:
    """Return arguments as text.

    Args:
        table: the table, for messages: ``hdx.arguments``.

    Raises:
        SourcesError: a value is neither text, number, boolean nor date; or it is a secret.

    >>> texts({"level": "both", "max_datasets": 20, "since": dt.date(2026, 1, 1)}, "hdx.arguments")
    {'level': 'both', 'max_datasets': '20', 'since': '2026-01-01'}
    """
    for name, value in given.items():
        _refuse_secret(f"[{table}]: {name}", name, value)
    return {name: _text(f"[{table}]: {name}", value) for name, value in given.items()}


def settings(given: Mapping[str, Any], table: str, known: Known) -> dict[str, Any]:
    """Return settings as text or lists of texts.

    Raises:
        SourcesError: a setting is unknown, applies to all sources, or has an invalid value.
    """
    found: dict[str, Any] = {}
    for name, value in given.items():
        where = f"[{table}]: {name}"
        _refuse_secret(where, name, value)
        _check_name(where, name, known)
        is_list = isinstance(value, list)
        found[name] = [_text(where, item) for item in value] if is_list else _text(where, value)
        _check_value(where, name, found[name], known)
    return found


def _text(where: str, value: Any) -> str:
    if isinstance(value, str | int | float):
        found = str(value)
    elif isinstance(value, dt.date | dt.datetime):
        found = value.isoformat()
    else:
        raise SourcesError(f"{where} is not a text, a number, true or false.")
    if "\x00" in found or "\n" in found or "\r" in found:
        raise SourcesError(f"{where} is not a single line.")
    return found


def _refuse_secret(where: str, name: str, value: Any) -> None:
    """Refuse a value that belongs in the environment.

    Raises:
        SourcesError: it is a secret.
    """
    if _SECRET.search(name) and not name.endswith("_ENV"):
        raise SourcesError(f"{where} is a secret, {_ENVIRONMENT} API_TOKEN_ENV names (CKAN_API_TOKEN).")
    for text in value if isinstance(value, list) else [value]:
        if isinstance(text, str) and has_key(text):
            raise SourcesError(
                f"{where} is an address with a password or key in it, {_ENVIRONMENT} API_TOKEN_ENV names."
            )


def has_key(text: str) -> bool:
    """Return whether a text is an address with a password or key in it.

    >>> has_key("https://example.org/c.ttl?sig=9f8"), has_key("https://example.org/c.ttl?key=roads")
    (True, False)
    """
    return "://" in text and ("***" in redact(text) or _KEYS.search(text) is not None)


def _check_name(where: str, name: str, known: Known) -> None:
    """Check that a setting exists and can be set for a single source.

    Raises:
        SourcesError: it can't.
    """
    if name not in known.settings:
        raise SourcesError(f"{where} is not a setting.{hint(name.upper(), known.settings)} See docs/settings.md.")
    if name in HARVESTS or not _is_data(name, known.settings[name]):
        raise SourcesError(f"{where} applies to all sources: remove it, and give the command -s {name}=.")


def _check_value(where: str, name: str, value: str | list[str], known: Known) -> None:
    """Check a setting's value.

    Args:
        value: as `-s` takes it.

    Raises:
        SourcesError: it does not have the type or the range of the project's own value.
    """
    own = known.settings[name]
    if isinstance(own, list | tuple):
        _check(
            where, isinstance(value, str) or not any("," in text for text in value), "a list of texts without commas"
        )
    elif isinstance(value, list):
        _check(where, False, "a single value, not a list")
    elif name.endswith("_ENV"):
        _check(where, _VARIABLE.fullmatch(value) is not None, "an environment variable's name in capitals")
    elif wanted := lacks(name, own, value):
        _check(where, False, wanted)


def _check(where: str, is_right: bool, takes: str) -> None:
    if not is_right:
        raise SourcesError(f"{where} takes {takes}.")


def _is_data(name: str, own: Any) -> bool:
    """Return whether a setting is neither code nor a table, such as those of extensions and feeds.

    Args:
        own: the project's value.
    """
    if own is None:
        return name in _DATA
    return name not in _CODE and not any(map(_is_code, own if isinstance(own, list | tuple) else [own]))


def _is_code(own: Any) -> bool:
    return (
        hasattr(own, "items")
        or isinstance(own, type)
        or (isinstance(own, str) and _COMPONENT.fullmatch(own) is not None)
    )
