"""What differs between two versions of a dataset, as HTML: for the dashboard's pages and for feeds."""

from __future__ import annotations

from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from crawlers.operate.report.report import environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jinja2 import Template

    from crawlers.store.difference import Change, Difference

_LONGEST = 2_000  # characters of a line


def as_html(found: Difference, *, changes: int = 100, lines: int = 2_000) -> Markup:
    """Return a difference as HTML that shows texts of portals and does nothing else; it needs no style.

    Args:
        found: the difference.
        changes: how many of the item's fields are shown, and how many of the record's own.
        lines: how many lines are shown of each of these two together; of one change, a fifth.
    """
    parts = (("Fields", found.fields), ("The record itself", found.record))
    shown = [(name, [*_shown(part[:changes], lines)], len(part)) for name, part in parts if part]
    return Markup(_template().render(parts=shown, left_out=found.left_out))  # noqa: S704 -- the template escapes


@cache
def _template() -> Template:
    return environment().get_template("difference.html")


def _shown(changes: Sequence[Change], left: int) -> Iterator[dict[str, Any]]:
    each = left // 5
    for change in changes:
        most = min(each, left)
        some = [*islice(change.lines(), most + 1)] if most else []
        said = [(line.sign, line.text[:_LONGEST], len(line.text) > _LONGEST) for line in some[:most]]
        yield {"path": change.path or "all of it", "op": change.op, "lines": said, "more": len(some) > most or not most}
        left -= len(said)
