"""sources.toml: the catalogues that are harvested, one table each."""

from crawlers.sources.file import load
from crawlers.sources.schedule import Schedule
from crawlers.sources.source import Source

__all__ = ["Schedule", "Source", "load"]
