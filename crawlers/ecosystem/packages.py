"""The packages of one type that a CKAN catalogue lists: its portals, its extensions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import AnswerError
from crawlers.kinds.ckan.dialect import Ask, Packages
from crawlers.kinds.ckan.query import Query

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.http import Response

    from crawlers.kinds.ckan.dialect import PackageCrawl
    from crawlers.listing.walk import ListingPage, Walk


@dataclass(frozen=True, slots=True)
class OtherFilter:
    """The next filter, where the first page is empty, has packages of other types, or is refused for its filter."""

    most: int = 20
    name: str = "filter"

    def instead(self, walk: Walk[Ask], fault: Any, dialect: Any) -> Walk[Ask] | None:
        is_of_filter = fault.error.kind == "refused" or (fault.is_spoken and not fault.wants_post)
        if walk.pages or not is_of_filter or not dialect.has_another_filter(walk):
            return None
        return replace(walk, ask=replace(walk.ask, filter=walk.ask.filter + 1))


class PackagesOfType(Packages):
    """The listing of a catalogue's packages of one type; catalogues differ in the filter that finds them.

    Args:
        name: of the type: site, extension.
        identify: returns the id of a record's profile; ``None`` if it has none.
    """

    subject = "the catalogue"
    ladder = (OtherFilter(), *Packages.ladder)

    def __init__(self, crawl: PackageCrawl, name: str, identify: Callable[[Any], str | None]) -> None:
        super().__init__(crawl)
        self.name = name
        self.identify = identify
        self.filters = (Query(fq=f"type:{name}"), Query(q=f"type:{name}"), Query(fq=f"dataset_type:{name}"))

    def query(self, ask: Ask) -> Query:
        return self.filters[ask.filter]

    def has_another_filter(self, walk: Walk[Ask]) -> bool:
        return walk.ask.filter + 1 < len(self.filters)

    def read(self, response: Response, walk: Walk[Ask]) -> ListingPage[Ask]:
        page = super().read(response, walk)
        entries = [*page.entries]
        for entry in entries:
            found = entry.record.get("type", self.name) if isinstance(entry.record, dict) else self.name
            if found != self.name:
                message = (
                    f"{self.subject} lists a {str(found)[:50]} where packages of the type {self.name} are asked for"
                )
                raise AnswerError("refused", message)
        if not entries and not walk.pages and walk.purpose == "page" and self.has_another_filter(walk):
            raise AnswerError("refused", f"{self.subject} lists no package for this filter")
        page.entries = [entry._replace(id=self.identify(entry.record)) for entry in entries]
        return page
