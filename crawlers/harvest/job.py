"""What a harvest asks for: one crawl of one source, wherever it runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """
    Args:
        arguments: the spider's ``-a``, with ``source`` and, where the spider takes it, ``since``.
        settings: Scrapy's ``-s``, with ``OUTPUT_DIR`` and ``JOBDIR`` as absolute paths.
    """

    source: str
    spider: str
    arguments: dict[str, str]
    settings: dict[str, str]
