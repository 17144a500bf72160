"""Finds the spiders of a project and of the enabled kinds; a broken file loses only its own spiders."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterable, Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Self

from scrapy import Spider
from scrapy.utils.spider import iter_spider_classes

from crawlers import kind

if TYPE_CHECKING:
    from types import ModuleType

    from scrapy import Request
    from scrapy.settings import BaseSettings

    from crawlers.kind import Kind

logger = logging.getLogger(__name__)


class SpiderLoader:
    """Implements `scrapy.spiderloader.SpiderLoaderProtocol`.

    Scrapy's own loader, and with it every command, stops at the first file that can't be imported. Its
    SPIDER_LOADER_WARN_ONLY also leaves out the files after the broken one, and shows a traceback.
    """

    def __init__(self, modules: list[str], kinds: Iterable[Kind] = ()) -> None:
        """Import the spiders.

        Args:
            modules: the packages that have spiders.
            kinds: the kinds of catalogue whose generic spiders are added.
        """
        self._spiders: dict[str, type[Spider]] = {}
        for name in modules:
            for module in _modules(name):
                for spider in iter_spider_classes(module):
                    self._add(spider)
        for its_kind in kinds:
            where = f"The generic spider of kind {its_kind.name} is left out ({its_kind.spider})"
            generic = kind.loaded(its_kind.spider, where)
            if isinstance(generic, type) and issubclass(generic, Spider):
                self._add(generic)
            elif generic is not None:
                logger.warning("%s: it is not a spider.", where)

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        kinds = kind.enabled(settings.getlist("KINDS_ENABLED"))
        return cls(settings.getlist("SPIDER_MODULES"), kinds.values())

    def load(self, spider_name: str) -> type[Spider]:
        """Return the spider of a name.

        Raises:
            KeyError: no spider has that name.
        """
        try:
            return self._spiders[spider_name]
        except KeyError:
            raise KeyError(f"Spider not found: {spider_name}") from None

    def list(self) -> list[str]:
        return list(self._spiders)

    def find_by_request(self, request: Request) -> list[str]:  # type: ignore[valid-type]  # the method above hides list
        return [name for name, spider in self._spiders.items() if spider.handles_request(request)]

    def _add(self, spider: type[Spider]) -> None:
        other = self._spiders.setdefault(spider.name, spider)
        if other is not spider:
            logger.warning(
                "Two spiders are named %r: %s in %s is used, the one in %s is not. Rename one of them.",
                *(spider.name, other.__name__, other.__module__, spider.__module__),
            )


def _modules(name: str) -> Iterator[ModuleType]:
    """Yield a module and those below it, without those that can't be imported."""
    try:
        module = import_module(name)
    except Exception as error:  # noqa: BLE001 -- a user's file may raise anything while it is imported
        logger.warning("%s: %s: %s. Its spiders are left out.", *_fault(name, error))
        return
    yield module
    for below in iter_modules(getattr(module, "__path__", ())):
        yield from _modules(f"{name}.{below.name}")


def _fault(name: str, error: Exception) -> tuple[str, str, str]:
    """Return where a file is broken, the error's type, and its message."""
    type_, message = type(error).__name__, " ".join(str(getattr(error, "msg", None) or error).split())
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}, line {error.lineno}", type_, message
    own = f"{name.rpartition('.')[2]}.py"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.endswith(f"/{own}")]
    return (f"{frames[-1].filename}, line {frames[-1].lineno}" if frames else name), type_, message.rstrip(".")
