"""Chooses the spider that harvests what was found, and its arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.exceptions import SourcesError
from crawlers.kind import detector

if TYPE_CHECKING:
    from crawlers.kind import Finding
    from crawlers.listing.spider import CatalogueSpider
    from crawlers.operate.sources.project_context import Known


def spider(finding: Finding, known: Known) -> str:
    """Return the name of the spider that is declared for this very catalogue, else of the generic one of its kind."""
    spiders = ((name, spider) for name, spider in known.spiders.items() if spider.kind == finding.kind)
    same = (name for name, spider in spiders if _knows(spider, finding))
    return next(same, finding.kind)


def arguments(finding: Finding, typed: str, chosen: type[CatalogueSpider]) -> dict[str, str]:
    """Return where the catalogue is, unless the spider knows, and which part of it the address is about.

    Args:
        typed: the address that the user gave.
    """
    where = {} if _knows(chosen, finding) else {chosen.address: finding.address, **finding.arguments}
    recogniser = detector(finding.kind)
    narrowed = recogniser.narrowed(typed) if recogniser else {}
    return where | {name: value for name, value in narrowed.items() if name in chosen.arguments}


def kind(name: str, known: Known) -> str:
    """Return the name of the kind of catalogue that a spider harvests.

    Raises:
        SourcesError: it is not of a kind that can be recognised.
    """
    found = known.spiders[name].kind
    if detector(found) is None:
        raise SourcesError(f"What spider {name} harvests can't be recognised: --force writes the table as it is.")
    return found


def _knows(chosen: type[CatalogueSpider], finding: Finding) -> bool:
    """Return whether a spider is declared for the catalogue that was found."""
    own, recogniser = getattr(chosen, chosen.address, None), detector(finding.kind)
    return bool(own and recogniser and recogniser.is_same(str(own), finding.address))
