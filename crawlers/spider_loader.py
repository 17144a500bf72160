"""Finds the spiders of a project; a broken file loses its own spiders, and no other."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Self

from scrapy.utils.spider import iter_spider_classes

if TYPE_CHECKING:
    from types import ModuleType

    from scrapy import Request, Spider
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)


class SpiderLoader:
    """Scrapy's protocol of loaders (`scrapy.spiderloader.SpiderLoaderProtocol`).

    Scrapy's own loader stops at the first file that can't be imported, and with it every command. Its
    SPIDER_LOADER_WARN_ONLY leaves out the files behind the broken one, too, and shows a traceback.
    """

    def __init__(self, modules: list[str]) -> None:
        self._spiders: dict[str, type[Spider]] = {}
        for name in modules:
            for module in _modules(name):
                for spider in iter_spider_classes(module):
                    self._add(spider)

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        return cls(settings.getlist("SPIDER_MODULES"))

    def load(self, spider_name: str) -> type[Spider]:
        """Return the spider of a name.

        Raises:
            KeyError: there is none.
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
    """A module and those below it, without those that can't be imported."""
    try:
        module = import_module(name)
    except Exception as error:  # noqa: BLE001 -- a user's file may raise anything while it is imported
        logger.warning("%s: %s: %s. Its spiders are left out.", *_fault(name, error))
        return
    yield module
    for below in iter_modules(getattr(module, "__path__", ())):
        yield from _modules(f"{name}.{below.name}")


def _fault(name: str, error: Exception) -> tuple[str, str, str]:
    """Where a file is broken, which kind of error it is, and what it says."""
    kind, said = type(error).__name__, " ".join(str(getattr(error, "msg", None) or error).split())
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}, line {error.lineno}", kind, said
    own = f"{name.rpartition('.')[2]}.py"
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename.endswith(f"/{own}")]
    return (f"{frames[-1].filename}, line {frames[-1].lineno}" if frames else name), kind, said.rstrip(".")
