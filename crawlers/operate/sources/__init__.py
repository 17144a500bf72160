"""sources.toml: the catalogues that are harvested, one table each."""

from crawlers.operate.sources.file import load
from crawlers.operate.sources.schedule import Schedule
from crawlers.operate.sources.source import Source

__all__ = ["Schedule", "Source", "load"]
