"""The states of sources: enabled or disabled; open, approved or refused. Each change locks and replaces the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlers.exceptions import SourcesError
from crawlers.operate.sources import edit

if TYPE_CHECKING:
    from collections.abc import Collection

    from crawlers.operate.sources.file import SourcesFile
    from crawlers.operate.sources.source import Source


def enable(file: SourcesFile, names: Collection[str]) -> None:
    """Let ``--all`` and ``--due`` take sources again.

    Raises:
        SourcesError: there is no such source, its table is invalid, or the file can't be written.
        CrawlersError: its spider refuses its arguments.
    """
    change(file, names, {"enabled": True})


def disable(file: SourcesFile, names: Collection[str]) -> None:
    """Leave sources out of ``--all`` and ``--due``.

    Raises:
        SourcesError: there is no such source, or the file can't be written.
    """
    change(file, names, {"enabled": False}, may_stay_invalid=True)


def approve(file: SourcesFile, names: Collection[str], why: str | None = None) -> None:
    """Let harvests take sources.

    Raises:
        SourcesError: there is no such source, or the file can't be written.
    """
    change(file, names, {"review": "approved", "review_comment": why}, may_stay_invalid=True)


def refuse(file: SourcesFile, names: Collection[str], why: str | None) -> None:
    """Let no harvest take sources.

    Args:
        why: a line of text, which a harvest of one of them repeats.

    Raises:
        SourcesError: there is no such source, the reason has several lines, or the file can't be written.
    """
    change(file, names, {"review": "refused", "review_comment": why}, may_stay_invalid=True)


def change(file: SourcesFile, names: Collection[str], keys: dict[str, Any], *, may_stay_invalid: bool = False) -> None:
    """Change keys of several tables, all or none.

    Args:
        keys: the new values, as `crawlers.operate.sources.edit.update` takes them.
        may_stay_invalid: whether a table may be changed that is invalid for another reason.

    Raises:
        SourcesError: there is no such source, a change makes a table invalid, or the file can't be written.
        CrawlersError: a spider refuses its arguments, if these are new, or the source is enabled.
    """

    def changed(content: str) -> str:
        found, mistakes = file.parse(content)
        file.check(names, {**found, **mistakes})
        for name in names:
            content = edit.update(content, name, keys)
        others = {name: why for name, why in mistakes.items() if may_stay_invalid or name not in names}
        sources = _checked(file, content, others)
        if "arguments" in keys or keys.get("enabled"):
            _check_ready(file, [sources[name] for name in names])
        return content

    edit.write(file.path, changed)


def _checked(file: SourcesFile, content: str, known: dict[str, str]) -> dict[str, Source]:
    """Return the sources of a text.

    Raises:
        SourcesError: it has a mistake that is not known.
    """
    sources, mistakes = file.parse(content)
    for name, mistake in mistakes.items():
        if mistake != known.get(name):
            raise SourcesError(mistake)
    return sources


def _check_ready(file: SourcesFile, sources: list[Source]) -> None:
    """Check that the enabled ones could be harvested.

    Raises:
        CrawlersError: a spider refuses the arguments, or its rules file can't be read.
    """
    from crawlers.operate.sources.add import ready  # noqa: PLC0415 -- it learns rules

    for source in sources:
        if source.enabled:
            ready(source, file.known)
