"""A source: a catalogue that is harvested under a name of yours; its table in sources.toml, read and checked."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Literal, TypeVar, cast

from scrapy.settings import BaseSettings, Settings
from scrapy.spiderloader import SpiderLoaderProtocol, get_spider_loader

from crawlers import arguments
from crawlers.exceptions import ArgumentError, RulesError, SourcesError, hint
from crawlers.kind import Kind, enabled, registered
from crawlers.listing.spider import CatalogueSpider, source_name
from crawlers.operate.setting_types import lacks
from crawlers.operate.sources import schedule
from crawlers.operate.sources.keys import KEYS
from crawlers.operate.sources.schedule import Schedule
from crawlers.publish.datasets import extra_names
from crawlers.records import curation
from crawlers.records.toml import Table
from crawlers.safety.names import archive_of
from crawlers.safety.redact import redact
from crawlers.store.sources_file import zone

Review = Literal["open", "approved", "refused"]
_OF_ARCHIVES = ("ARCHIVE_", "ALLOWED_PRIVATE_HOSTS", "CONTACT", "DOWNLOAD_TIMEOUT", "FORMS_FILE", "LOG_", "NOTIFY_")
"""The settings of a source that its archive has, too, by their beginning."""
REVIEWS = ("open", "approved", "refused")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A table of sources.toml.

    Args:
        name: the table's name, and the folder's in OUTPUT_DIR.
        arguments: the spider's ``-a``, as text; ``source`` is the name.
        settings: Scrapy's ``-s``, as text or lists of texts.
        schedule: when it is due; ``None``: only when it is named.
        timezone: the one that its schedule's hours, its dates and its digest are in.
        contact: whom to ask at the catalogue if something is wrong; a mail address may get the mail of its failures.
        owner: who answers for it, of those who harvest it.
        enabled: whether ``--all`` and ``--due`` take it.
        archive: whether a harvest archives its files, too, after its crawl.
        review: whether it was approved; ``--all`` and ``--due`` take no other, and a refused one is never harvested.
        review_comment: why.
        publish: how `scrapy publish datasets` makes packages of its datasets: ``organization``, ``harvest_source``, and
            as JSON ``fields``.
    """

    name: str
    spider: str
    arguments: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    schedule: Schedule | None = None
    timezone: dt.tzinfo = dt.UTC
    contact: str | None = None
    owner: str | None = None
    enabled: bool = True
    archive: bool = False
    review: Review = "approved"
    review_comment: str | None = None
    publish: dict[str, str] = field(default_factory=dict)

    @property
    def left_out(self) -> str:
        """Why ``--all`` and ``--due`` leave it out; empty if they take it."""
        if not self.enabled:
            return "disabled"
        return {"open": "pending review", "refused": "refused", "approved": ""}[self.review]

    @property
    def archived(self) -> Source:
        """The source that its archive is; what was agreed with one portal does not hold for other hosts."""
        settings = {name: value for name, value in self.settings.items() if name.startswith(_OF_ARCHIVES)}
        return Source(
            name=archive_of(self.name),
            spider="archive",
            arguments={"of": self.name},
            settings=settings,
            contact=self.contact,
            owner=self.owner,
        )

    @property
    def crawl_settings(self) -> dict[str, Any]:
        """Return the settings of its crawls: its own, and its contact."""
        return self.settings | ({"SOURCE_CONTACT": self.contact} if self.contact else {})


_LONGEST = 200  # characters of a contact, an owner, or a comment
T = TypeVar("T")


def read_source(name: str, content: Any, known: Known) -> Source:
    """Return the source that a table describes.

    Raises:
        SourcesError: a sentence that names the table, the key and what it takes.
    """
    if not isinstance(content, dict):
        raise SourcesError(f"{name[:100]!r} is not a table: each source is one, as in [{name[:100]}].")
    try:
        source_name(name)
    except ValueError as error:
        raise SourcesError(f"[{name[:100]}]: the name is not {error}.") from None
    for inner, value in content.items():
        if isinstance(value, dict) and "spider" in value:
            raise SourcesError(f'[{name}.{inner}]: a name with a dot stands in quotes: ["{name}.{inner}"].')
    try:
        return _source(name, Table(content, name), known)
    except (RulesError, ArgumentError) as error:
        raise SourcesError(f"[{name}]: {str(error).removeprefix(f'{name}.')}") from None


def _source(name: str, table: Table, known: Known) -> Source:
    if before := table.text("renamed_from"):
        finishes = f"scrapy sources rename {before} {name}"
        raise SourcesError(f"[{name}]: its rename from {before[:100]} is not finished; this finishes it: {finishes}")
    read = {key.name: key.read(table) for key in KEYS.values()}
    lines = {key.name: _line(name, key.name, read[key.name]) for key in KEYS.values() if key.takes == "line"}
    spider = _spider(name, read["spider"], known)
    given, chosen = read["arguments"], read["settings"]
    spelled = texts(given.left, given.path) if given else {}
    timezone = _parsed(name, "timezone", zone, read["timezone"] or "UTC")
    found = Source(
        name=name,
        spider=spider.name,
        arguments={**spelled, **_curation(read, spelled)},
        settings=setting_texts(chosen.left, chosen.path, known) if chosen else {},
        schedule=_schedule(name, read["schedule"], timezone, read["retry"]),
        timezone=timezone,
        contact=lines["contact"],
        owner=lines["owner"],
        enabled=read["enabled"],
        archive=read["archive"],
        review=_review(name, read["review"]),
        review_comment=lines["review_comment"],
        publish=_publish(read["publish"]),
    )
    table.end()
    _check_arguments(spider, found, known)
    return found


def _curation(read: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, str]:
    """Return the arguments that the tables ``exclude``, ``defaults`` and ``overrides`` are."""
    found = {}
    for key in curation.KEYS:
        content = read[key]
        if content and key in given:
            raise RulesError(f"{content.path} is also in arguments: leave it out there.")
        if content and content.left:
            found[key] = curation.argument(key, content.left)
    return found


def _publish(table: Table | None) -> dict[str, str]:
    if table is None:
        return {}
    found = {name: table.text(name) for name in ("organization", "harvest_source")}
    fields = table.table("fields")
    renamed = texts(fields.left, fields.path) if fields else {}
    for name in renamed:
        if name not in extra_names():
            known, meant = ", ".join(extra_names()), hint(name, extra_names())
            raise RulesError(f"{table.name('fields')}: there is no {name[:100]}.{meant} There are: {known}.")
    table.end()
    found["fields"] = json.dumps(renamed) if renamed else None
    return {name: value for name, value in found.items() if value is not None}


def _spider(name: str, spider: str | None, known: Known) -> type[CatalogueSpider]:
    if spider is None:
        generic = next((kind for kind in known.kinds if kind in known.spiders), next(iter(known.spiders), "NAME"))
        example = f'spider = "{generic}"'
        raise SourcesError(f"[{name}]: spider is missing, {example}. There are: {', '.join(known.spiders)}.")
    if spider not in known.spiders:
        meant = hint(spider, known.spiders)
        there = ", ".join(known.spiders)
        raise SourcesError(f"[{name}]: spider: there is no spider {spider[:100]!r}.{meant} There are: {there}.")
    return known.spiders[spider]


def _check_arguments(spider: type[CatalogueSpider], found: Source, known: Known) -> None:
    if "source" in found.arguments:
        raise SourcesError(f"[{found.name}.arguments]: source is the table's name, {found.name}: leave it out.")
    arguments.parse(spider.name, spider.arguments, found.arguments)
    if spider.address == "of" and found.name != archive_of(str(found.arguments.get("of"))):
        raise SourcesError(f'[{found.name}]: an archive is named after its source: [archive-of-NAME], of = "NAME".')
    places = {spider.address, *spider.other_addresses}
    if not places & found.arguments.keys() and getattr(spider, spider.address, None) is None:
        kind = known.kind_of(spider.name)
        example = f', {spider.address} = "{kind.example}"' if kind else ""
        raise SourcesError(
            f"[{found.name}.arguments]: {spider.address} is missing{example}: spider {spider.name} needs it."
        )


def _schedule(name: str, text: str | None, timezone: dt.tzinfo, retry: tuple[str, ...]) -> Schedule | None:
    delays = _parsed(name, "retry", schedule.delays, retry)
    return _parsed(name, "schedule", schedule.parse, text, name, timezone, delays) if text else None


def _parsed(name: str, key: str, parse: Callable[..., T], *values: Any) -> T:
    try:
        return parse(*values)
    except ValueError as error:
        raise SourcesError(f"[{name}]: {key}: {error}.") from None


def _review(name: str, text: str | None) -> Review:
    if text is not None and text not in REVIEWS:
        raise SourcesError(f"[{name}]: review is not one of {', '.join(REVIEWS)}.{hint(text, REVIEWS)}")
    return cast("Review", text or "approved")


def _line(name: str, key: str, text: str | None) -> str | None:
    if text and (len(text) > _LONGEST or not text.isprintable()):
        raise SourcesError(f"[{name}]: {key} is no single line of at most {_LONGEST} characters.")
    return text


_SECRET = re.compile(r"(?i)(api_?key|token|secret|passw(or)?d|credential|access_?key|authorization|_pass$|\bauth\b)")
_KEYS = re.compile(r"[?&;](?:(?:sig|pwd|pass|auth)=[^&;]|(?:key|code)=[^&;]{16})", re.IGNORECASE)
"""Signatures and keys in an address, by names that `redact` ignores: a short ``key=`` may be a table's key."""
_ENVIRONMENT = "which would be in this file, in logs and in reports. Put it into the environment variable that"

HARVESTS = frozenset(
    (
        *("OUTPUT_DIR", "JOBDIR", "LOG_FILE", "LOG_FILE_APPEND", "LOG_ENABLED", "SOURCES_FILE", "JOBS_DIR", "LOGS_DIR"),
        *("OUTPUT_STORE", "OUTPUT_MIRROR", "OUTPUT_LEASE", "OUTPUT_STORE_INTERVAL", "OUTPUT_STORE_PATIENCE"),
        *("HEARTBEAT_INTERVAL", "RUNS_KEPT_DAYS", "LOGS_KEPT_DAYS", "SCRAPYD_NODES", "SCRAPYD_LOGIN_ENV"),
        *("DASHBOARD_PASSWORD_ENV", "DASHBOARD_URL", "DASHBOARD_USER_HEADER", "TRUSTED_PROXIES"),
        *("SOURCE_CONTACT", "REVIEW"),
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


def setting_texts(given: Mapping[str, Any], table: str, known: Known) -> dict[str, Any]:
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
    """Refuse a value that belongs in the environment."""
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
    """Check that a setting exists and can be set for a single source."""
    if name not in known.settings:
        raise SourcesError(f"{where} is not a setting.{hint(name.upper(), known.settings)} See docs/settings.md.")
    if name in HARVESTS or not _is_data(name, known.settings[name]):
        raise SourcesError(f"{where} applies to all sources: remove it, and give the command -s {name}=.")


def _check_value(where: str, name: str, value: str | list[str], known: Known) -> None:
    """Check a setting's value."""
    own, takes = known.settings[name], None
    if isinstance(own, list | tuple):
        has_commas = isinstance(value, list) and any("," in text for text in value)
        takes = "a list of texts without commas" if has_commas else None
    elif isinstance(value, list):
        takes = "a single value, not a list"
    elif name.endswith("_ENV"):
        takes = None if _VARIABLE.fullmatch(value) else "an environment variable's name in capitals"
    else:
        takes = lacks(name, own, value)
    if takes:
        raise SourcesError(f"{where} takes {takes}.")


def _is_data(name: str, own: Any) -> bool:
    """Return whether a setting is neither code nor a table, such as those of extensions and feeds."""
    if own is None:
        return name in _DATA
    return name not in _CODE and not any(map(_is_code, own if isinstance(own, list | tuple) else [own]))


def _is_code(own: Any) -> bool:
    is_component = isinstance(own, str) and _COMPONENT.fullmatch(own) is not None
    return is_component or isinstance(own, type) or hasattr(own, "items")


@dataclass(frozen=True)
class Known:
    """What a table of sources.toml may name: the project's spiders, kinds of catalogue, and settings.

    Args:
        settings: the project's, with Scrapy's defaults: no other names are valid.
    """

    settings: BaseSettings

    @cached_property
    def spiders(self) -> Mapping[str, type[CatalogueSpider]]:
        """The spiders that harvest a catalogue, by name; each is imported on first use."""
        return _Spiders(get_spider_loader(self.settings))

    @cached_property
    def kinds(self) -> dict[str, Kind]:
        """The kinds of catalogue that KINDS_ENABLED lets through, by name."""
        return enabled(self.settings.getlist("KINDS_ENABLED", ["*"]))

    def kind_of(self, spider: str) -> Kind | None:
        """Return the kind of catalogue that a spider harvests; ``None`` if it is of no kind, or there is none."""
        return registered().get(self.spiders[spider].kind) if spider in self.spiders else None

    def check_ready(self, source: Source) -> None:
        """Check that a source could be harvested.

        Raises:
            ArgumentError: its spider refuses the arguments.
            RulesError: its rules file does not exist, or is invalid.
        """
        self.spiders[source.spider](source=source.name, **source.arguments)


class _Spiders(Mapping[str, type[CatalogueSpider]]):
    """Crawlable catalogues by name, in alphabetical order."""

    def __init__(self, loader: SpiderLoaderProtocol) -> None:
        self._loader = loader

    def __getitem__(self, name: str) -> type[CatalogueSpider]:
        spider = self._loader.load(name)
        if not issubclass(spider, CatalogueSpider):
            raise KeyError(name)
        return spider

    def __iter__(self) -> Iterator[str]:
        return (name for name in sorted(self._loader.list()) if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


@cache
def project() -> Known:
    """Return what the project of the running command has; of this project outside a command."""
    known = Settings()
    known.setmodule(os.environ.get("SCRAPY_SETTINGS_MODULE", "crawlers.settings"), priority="project")
    return Known(known)
