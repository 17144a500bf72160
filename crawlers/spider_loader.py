"""Finds the spiders of a project, of the enabled kinds and of this package; a broken file loses only its own."""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from importlib.abc import InspectLoader
from itertools import chain
from pkgutil import ModuleInfo, iter_modules
from typing import TYPE_CHECKING, Self

from scrapy import Spider
from scrapy.utils.spider import iter_spider_classes

from crawlers import kind

if TYPE_CHECKING:
    from types import ModuleType

    from scrapy import Request
    from scrapy.settings import BaseSettings


logger = logging.getLogger(__name__)

OTHERS = {
    "archive": "crawlers.archive.generic:Archive",
    "ckan_extensions": "crawlers.ecosystem.ckan_extensions:CKANExtensions",
    "ckan_sites": "crawlers.ecosystem.ckan_sites:CKANSites",
}
"""The generic spiders that crawl no catalogue of datasets: every project has them."""


class SpiderLoader:
    """Implements `scrapy.spiderloader.SpiderLoaderProtocol`.

    Scrapy's own loader, and with it every command, stops at the first file that can't be imported. Its
    SPIDER_LOADER_WARN_ONLY also leaves out the files after the broken one, and shows a traceback. It imports all files
    for every command; this one imports a spider when it is asked for, and all of them when they are to be listed.
    """

    def __init__(self, modules: list[str], generic: Mapping[str, str] | None = None) -> None:
        """
        Args:
            modules: the packages that have spiders.
            generic: the spiders that are added, as ``module:class`` by name.
        """
        self._modules = modules
        self._generic = generic or {}
        self._imported: dict[str, ModuleType | None] = {}
        self._loaded: dict[str, type[Spider]] = {}

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        kinds = kind.enabled(settings.getlist("KINDS_ENABLED"))
        return cls(settings.getlist("SPIDER_MODULES"), {name: each.spider for name, each in kinds.items()} | OTHERS)

    def load(self, spider_name: str) -> type[Spider]:
        """Return the spider of a name.

        Raises:
            KeyError: no spider has that name.
        """
        found = self._loaded.get(spider_name) or self._found(spider_name).get(spider_name)
        found = found or self._all.get(spider_name)  # its name may be computed
        if found is None:
            raise KeyError(f"Spider not found: {spider_name}")
        return self._loaded.setdefault(spider_name, found)

    def list(self) -> list[str]:
        return list(self._all)

    def find_by_request(self, request: Request) -> list[str]:  # type: ignore[valid-type]  # the method above hides list
        return [name for name, spider in self._all.items() if spider.handles_request(request)]

    @cached_property
    def _all(self) -> dict[str, type[Spider]]:
        self._loaded = self._found()
        return self._loaded

    def _found(self, name: str = "") -> dict[str, type[Spider]]:
        """Return the spiders by name; for a name, those of the files that contain it and the generic one."""
        found: dict[str, type[Spider]] = {}
        for module in chain.from_iterable(self._below(module, name) for module in self._modules):
            for spider in iter_spider_classes(module):
                _add(found, spider)
        for its_name, path in self._generic.items():
            if not name or name == its_name:
                _add_generic(found, its_name, path)
        return found

    def _below(self, module: str, text: str) -> Iterator[ModuleType]:
        """Yield a module and those below it that contain a text, without those that can't be imported."""
        if module not in self._imported:
            self._imported[module] = _import(module)
        package = self._imported[module]
        if package is None:
            return
        yield package
        for below in iter_modules(getattr(package, "__path__", ())):
            path = f"{module}.{below.name}"
            if below.ispkg or _contains(below, path, text):
                yield from self._below(path, text)


def _add(found: dict[str, type[Spider]], spider: type[Spider]) -> None:
    other = found.setdefault(spider.name, spider)
    if other is not spider:
        logger.warning(
            "Two spiders are named %r: %s in %s is used, the one in %s is not. Rename one of them.",
            *(spider.name, other.__name__, other.__module__, spider.__module__),
        )


def _add_generic(found: dict[str, type[Spider]], name: str, path: str) -> None:
    where = f"The generic spider {name} is left out ({path})"
    generic = kind.loaded(path, where)
    if isinstance(generic, type) and issubclass(generic, Spider):
        _add(found, generic)
    elif generic is not None:
        logger.warning("%s: it is not a spider.", where)


def _import(name: str) -> ModuleType | None:
    try:
        return import_module(name)
    except Exception as error:  # noqa: BLE001 -- a user's file may raise anything while it is imported
        logger.warning("%s: %s: %s. Its spiders are left out.", *_fault(name, error))
        return None


def _contains(module: ModuleInfo, name: str, text: str) -> bool:
    """Return whether a module's source has a text as a word; `True` if it can't be read, for its import says why."""
    spec = module.module_finder.find_spec(name, None)
    loader = spec and spec.loader
    try:
        source = loader.get_source(name) if isinstance(loader, InspectLoader) else None
    except (ImportError, SyntaxError):
        return True
    return source is None or bool(re.search(rf"(?<![\w.]){re.escape(text)}(?!\w)", source))


def _fault(name: str, error: Exception) -> tuple[str, str, str]:
    """Return where a file is broken, the error's type, and its message."""
    type_, message = type(error).__name__, " ".join(str(getattr(error, "msg", None) or error).split())
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}, line {error.lineno}", type_, message
    own = f"{name.rpartition('.')[2]}.py"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.endswith(f"/{own}")]
    return (f"{frames[-1].filename}, line {frames[-1].lineno}" if frames else name), type_, message.rstrip(".")
