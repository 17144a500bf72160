"""Exceptions of this project, one root: each says when it is raised, and from where. And their messages."""

from __future__ import annotations

import difflib
import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class CrawlersError(Exception):
    """The root of this project's exceptions: its text is for the user."""


class ArgumentError(CrawlersError):
    """A spider argument is unknown, missing or malformed; raised by a spider's constructor, before any request."""


class OutputError(CrawlersError):
    """The output folder can't be used; raised when the pipelines' components are built, before any request."""


class DamagedSourceError(OutputError):
    """A source's own files can't be read; what other sources have can."""


class StoreError(OutputError):
    """An object store refuses, is of another schema, or has something in it that no crawl wrote."""


class StoreUnreachableError(StoreError):
    """An object store gives no answer now."""


class TakenError(OutputError):
    """Another node has the lease of a source, or has taken it from this one."""


class StoppedError(CrawlersError):
    """Somebody has stopped a crawl that was waiting to begin."""


class ExtraError(CrawlersError):
    """A package of an optional extra is not installed; raised by what a setting or an option needs it for."""


class ExportError(CrawlersError):
    """`scrapy export` can't write: an unknown source, a file that can't be written, a missing package."""


class RulesError(CrawlersError):
    """A rules file can't be read, or says what it may not; raised when it is loaded, before any request."""


class SourcesError(CrawlersError):
    """sources.toml is unreadable or invalid, or has no source with that name."""


class BackupError(CrawlersError):
    """A backup can't be made or finished, or is not whole, or there is something where it would be restored."""


class HarvestError(CrawlersError):
    """A harvest can't begin, or a Scrapyd node does not do what it is asked."""


class WorkflowError(CrawlersError):
    """`scrapy genworkflow` can't write: an invalid time or address, or a file that exists."""


class InitError(CrawlersError):
    """`scrapy init` can't make a folder: it has one of the files already, or can't be written into."""


class IndexUnreadableError(CrawlersError):
    """index.sqlite is not there or can't be read; raised for those who only read it."""


class SearchError(CrawlersError):
    """A search can't be understood."""


class RunError(CrawlersError):
    """No run has that name."""


class ArchiveError(CrawlersError):
    """`scrapy archive` can't do what it is asked: nothing has that name, or the store can't be used."""


class DamagedError(ArchiveError):
    """A file of an archive is missing, or has other bytes than when it was stored."""


class FiguresError(CrawlersError):
    """Figures can't be computed: there is no room for their files, or DuckDB fails."""


class PublishError(CrawlersError):
    """`scrapy publish` can't begin: there is nothing to publish, no token, or no such run."""


class JobError(CrawlersError):
    """JOBDIR can't be used: it is another job's, or no job's; raised before any request."""


class JobFinished(CrawlersError):  # noqa: N818  # not an error
    """The job in JOBDIR has nothing left to do; raised before any request.

    Args:
        verdict: of the run that it was, where it is known: the exit code is that run's.
    """

    def __init__(self, message: str, verdict: str | None = None) -> None:
        super().__init__(message)
        self.verdict = verdict


class AnswerError(CrawlersError):
    """A portal's answer is not what was asked for; raised by the protocol modules' readers.

    Args:
        kind: one of `crawlers.causes.KINDS`.
        message: one sentence that says what came instead.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class WriteError(AnswerError):
    """A write was not confirmed.

    Args:
        status: the HTTP status of the answer; 0 if none came.
    """

    def __init__(self, kind: str, message: str, status: int = 0) -> None:
        super().__init__(kind, message)
        self.status = status


class RefusedWriteError(WriteError):
    """A portal refuses a write: nothing was written, and nothing will be by trying again."""


class UnclearWriteError(WriteError):
    """A write may have been done or not: its answer was lost, or it is a server's error."""


class ConflictError(AnswerError):
    """A record is neither as it was before a write nor as it was written; its kind is ``conflict``."""

    def __init__(self, message: str) -> None:
        super().__init__("conflict", message)


COMMAND = "CRAWLERS_COMMAND"
"""The environment variable that has the command that was called, where that is not scrapy."""
_SCRAPY = re.compile(r"(?<!-m )(?<![-\w./])scrapy(?= [a-z<])")


def with_command(text: str) -> str:
    """Return a text whose commands begin as the user's do: with ``catalogue-crawlers``, if that was called.

    Without a scrapy.cfg, or with pipx, there is no other command.

    >>> os.environ[COMMAND] = "catalogue-crawlers"
    >>> with_command("To harvest it: scrapy harvest town; `scrapy jobs` lists runs. See scrapy.cfg.")
    'To harvest it: catalogue-crawlers harvest town; `catalogue-crawlers jobs` lists runs. See scrapy.cfg.'
    >>> del os.environ[COMMAND]
    >>> with_command("scrapy harvest town")
    'scrapy harvest town'
    """
    command = os.environ.get(COMMAND)
    return _SCRAPY.sub(lambda _: command, text) if command else text


def hint(name: str, names: Iterable[str]) -> str:
    """Return the part of a message that suggests similar names for an unknown one; empty if none is similar.

    >>> hint("poratl", ["portal", "q"]), hint("x", ["portal", "q"])
    (' Did you mean portal?', '')
    """
    close = difflib.get_close_matches(name, list(names), n=1)
    return f" Did you mean {close[0]}?" if close else ""
