"""One setting of a source's: its name, and the type that the project's own value has."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import SourcesError, hint
from crawlers.setting_types import lacks

if TYPE_CHECKING:
    from crawlers.sources.known import Known

HARVESTS = frozenset(
    (
        *("OUTPUT_DIR", "JOBDIR", "LOG_FILE", "LOG_FILE_APPEND", "LOG_ENABLED", "SOURCES_FILE", "JOBS_DIR", "LOGS_DIR"),
        *("HEARTBEAT_INTERVAL", "RUNS_KEPT_DAYS", "LOGS_KEPT_DAYS", "SCRAPYD_NODES", "SCRAPYD_LOGIN_ENV"),
        *("SPIDER_MODULES", "COMMANDS_MODULE", "SCHEDULER", "FEED_URI"),
    )
)
"""The settings that are for all sources alike: in `crawlers.settings` or with `scrapy harvest -s`."""

_CODE = frozenset(
    (
        *("BROWSER_EXECUTABLE", "DOWNLOADER_CLIENTCONTEXTFACTORY", "EDITOR", "HTTPCACHE_DBM_MODULE"),
        *("NEWSPIDER_MODULE", "TEMPLATES_DIR"),
    )
)
"""Their values are texts that name programs, modules or templates."""
_DATA = frozenset(
    (
        *("AWS_ENDPOINT_URL", "AWS_MAX_POOL_CONNECTIONS", "AWS_REGION_NAME", "AWS_USE_SSL", "AWS_VERIFY"),
        *("DOWNLOAD_BIND_ADDRESS", "DOWNLOAD_TLS_MAX_VERSION", "FEED_TEMPDIR", "GCS_PROJECT_ID", "HTTPAUTH_DOMAIN"),
        *("ROBOTSTXT_USER_AGENT", "SPOOL_DIR"),
    )
)
"""The settings without a default that are data; what else has none may be imported, as ASYNCIO_EVENT_LOOP is."""
_COMPONENT = re.compile(r"(scrapy|twisted|crawlers|pipelines)(\.\w+){2,}")
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")


def named(where: str, name: str, known: Known) -> None:
    """
    Raises:
        SourcesError: there is no such setting, or it is none of a single source.
    """
    if name not in known.settings:
        raise SourcesError(f"{where} is no setting.{hint(name.upper(), known.settings)} docs/settings.md has them.")
    if name in HARVESTS or not _is_data(name, known.settings[name]):
        raise SourcesError(f"{where} is for all sources alike: leave it out, and say -s {name}= to the command.")


def typed(where: str, name: str, value: str | list[str], known: Known) -> None:
    """
    Args:
        value: as `-s` takes it.

    Raises:
        SourcesError: what the setting is read as would be no number, no switch, no list, or not what is meant.
    """
    own = known.settings[name]
    if isinstance(own, list | tuple):
        _check(where, isinstance(value, str) or not any("," in one for one in value), "a list of texts without commas")
    elif isinstance(value, list):
        _check(where, False, "a single value, no list")
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
