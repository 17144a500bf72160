"""What can be published, by the words of the command."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlers.publish import captures, datasets, profiles, series

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from crawlers.publish.plan import Target


class Offer(NamedTuple):
    """Something that can be published.

    Args:
        source_of: returns the source that is meant; takes OUTPUT_DIR and the source that the user names, if any.
        make: makes the target; takes OUTPUT_DIR, that source, and the options that the user gives.
        options: the options that it takes.
    """

    source_of: Callable[[Path, str | None], str]
    make: Callable[..., Target]
    options: tuple[str, ...] = ()


TARGETS = {
    "sites": Offer(partial(profiles.source_of, kind="site"), partial(profiles.Profiles, kind="site")),
    "extensions": Offer(partial(profiles.source_of, kind="extension"), partial(profiles.Profiles, kind="extension")),
    "archive": Offer(captures.source_of, captures.Captures),
    "datasets": Offer(datasets.source_of, datasets.Datasets, ("organization", "fields", "max_deleted")),
    "timeseries": Offer(series.source_of, series.Series, ("dataset", "resource", "since")),
}


def target(output: Path, given: dict[str, Any]) -> Target:
    """Return the target of a publish.

    Args:
        given: the spider's arguments: ``what``, ``of``, and options.

    Raises:
        PublishError: it needs to know more.
    """
    offer = TARGETS[given["what"]]
    options = {name: given[name] for name in offer.options if given.get(name) is not None}
    return offer.make(output, given["of"], **options)
