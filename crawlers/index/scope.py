"""What a run covers: by this a run finds the last complete one that it may build on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from crawlers.safety.redact import redact

if TYPE_CHECKING:
    from collections.abc import Mapping


FILTERS = ("q", "fq", "organization", "group", "tag")


def sees_all(given: Mapping[str, str]) -> bool:
    """Return whether such a run, when its listing is whole, saw all that the source has: a filter leaves some out."""
    return given.keys().isdisjoint(FILTERS)


def from_the_beginning(given: Mapping[str, str]) -> bool:
    """Whether such a run, when complete, leaves nothing out: ``since`` a date leaves out what was never crawled."""
    return given.get("since", "last") == "last"


def scope(spider: str, given: Mapping[str, str]) -> str:
    """Return what a run covers: two runs of one scope would list the same datasets, and ask for the same of them.

    Args:
        given: the run's arguments; a report has them without credentials, which make no difference here.
    """
    kept = {name: redact(value) for name, value in given.items() if name not in ("since", "rows", "source")}
    return json.dumps({"spider": spider, **kept}, sort_keys=True)


def listing(scope: str) -> str:
    """The scope of what only the listing covers: it may be whole, and a record of it faulty in every run."""
    return f"listing {scope}"
