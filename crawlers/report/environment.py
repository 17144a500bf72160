"""The templates' surroundings: everything is escaped, and inert."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined

from crawlers.report import quantities, text


def environment() -> Environment:
    """Templates of pages: ``page.html`` to extend, ``overview.html`` to include, ``plots.html`` to import from.

    Globals say where a name leads; they lead nowhere unless whoever has such pages replaces them:
    ``source_href(source)``, ``run_href(source, run)``, ``dataset_href(source, dataset_id)``.
    """
    made = Environment(
        loader=PackageLoader("crawlers.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=text.inert,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        number=quantities.number,
        percent=quantities.percent,
        bytes=quantities.size,
        date=quantities.date,
        ago=quantities.ago,
        duration=quantities.duration,
        link=text.link,
        cut=text.cut,
    )
    made.globals.update(source_href=_nowhere, run_href=_nowhere, dataset_href=_nowhere)
    return made


def _nowhere(*_: str) -> None:
    """A report is one page: its names lead to no other."""
