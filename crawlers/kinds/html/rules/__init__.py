"""The rules of an HTML catalogue: a TOML file that a person can write, or `scrapy learn` does."""

from crawlers.kinds.html.rules.file import load, loads
from crawlers.kinds.html.rules.rules import Links, Paging, Resources, Rule, Rules

__all__ = ["Links", "Paging", "Resources", "Rule", "Rules", "load", "loads"]
