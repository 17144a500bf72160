"""The packages of one type that a CKAN catalogue lists: its portals, its extensions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import AnswerError
from crawlers.kinds.ckan.listing import CKANListing
from crawlers.kinds.ckan.query import Query

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.http import Response

    from crawlers.kinds.ckan.cursor import Cursor
    from crawlers.kinds.ckan.listing import Output
    from crawlers.kinds.ckan.packages import PackageSpider
    from crawlers.kinds.ckan.recovery import Refusal
    from crawlers.listing.paging import Page


class PackagesOfType(CKANListing):
    """The listing of a catalogue's packages of one type.

    Catalogues differ in the filter that finds them. The next one is tried if the first page is empty, has packages of
    other types, or is refused.

    Args:
        name: of the type: site, extension.
        identify: returns the id of a record's profile; ``None`` if it has none.
    """

    subject = "the catalogue"

    def __init__(self, spider: PackageSpider, name: str, identify: Callable[[Any], str | None]) -> None:
        super().__init__(spider, spider)
        self.name = name
        self.identify = identify
        self.filters = (Query(fq=f"type:{name}"), Query(q=f"type:{name}"), Query(fq=f"dataset_type:{name}"))

    def begin(self, cursor: Cursor) -> Request:
        """Note that the list has begun; return the request for its first page, by the filter that was found to work."""
        self.packages.api.query = self.filters[self._state.get("filter", 0)]
        return super().begin(cursor)

    def read(self, response: Response, here: Cursor) -> Page[Cursor]:
        page = super().read(response, here)
        for entry in page.entries:
            found = entry.record.get("type", self.name) if isinstance(entry.record, dict) else self.name
            if found != self.name:
                message = (
                    f"{self.subject} lists a {str(found)[:50]} where packages of the type {self.name} are asked for"
                )
                raise AnswerError("refused", message)
        entries = [entry._replace(id=self.identify(entry.record)) for entry in page.entries]
        return replace(page, entries=entries)

    def list_page(self, response: Response, here: Cursor, page: Page[Cursor]) -> Output:
        if here.first and not page.entries and self._has_another_filter():
            yield self.request(here)
        else:
            yield from super().list_page(response, here, page)

    def not_listed(self, request: Request | None, here: Cursor, refusal: Refusal) -> Output:
        is_of_filter = refusal.error.kind == "refused" or (refusal.spoken and not refusal.wants_post)
        if here.first and is_of_filter and self._has_another_filter():
            yield self.request(here)
        else:
            yield from super().not_listed(request, here, refusal)

    @property
    def _state(self) -> dict[str, Any]:
        state: dict[str, Any] = self.spider.records.job.state
        return state

    def _has_another_filter(self) -> bool:
        """Turn to the next filter; return whether there is one."""
        following = self._state.get("filter", 0) + 1
        if following == len(self.filters):
            return False
        self._state["filter"] = following
        self.packages.api.query = self.filters[following]
        return True
