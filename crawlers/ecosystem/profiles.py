"""What all profiles share: the packages that lead to them, what earlier runs knew, how many have which state."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from crawlers.components.ledger import Notes
from crawlers.exceptions import AnswerError
from crawlers.items import Known
from crawlers.kinds.ckan.dialect import Ask, Packages
from crawlers.kinds.ckan.query import Query
from crawlers.safety import strict_json

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from scrapy.http import Response

    from crawlers.items import Kind, Profile
    from crawlers.kinds.ckan.dialect import PackageCrawl
    from crawlers.listing.spider import CatalogueSpider
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


_OWN = ("source", "metadata_source", "metadata_url", "metadata_modified", "document", "stored")
"""The fields that are not part of a profile's document."""


P = TypeVar("P", bound="Profile")


class Before(NamedTuple):
    """A profile as it is on disk.

    Args:
        document: empty if it can't be read.
        day: the last day on which it was found so.
        run: the run that wrote it.
        status: what it was for that run.
    """

    document: dict[str, Any]
    day: str
    run: str
    status: str


class Profiles:
    """The profiles of a spider's source."""

    def __init__(self, spider: CatalogueSpider, states: Collection[str]) -> None:
        self.spider = spider
        self.states = states

    @cached_property
    def notes(self) -> Notes:
        """The state of each, by its id, and whatever else the spider notes."""
        return Notes(self.spider.crawler)

    def take(self, profile: Profile) -> Iterator[Profile]:
        """Complete a profile by the last one, and yield it; one that this run wrote before a kill is only settled."""
        before = self.before(profile.kind, profile.id)
        if before and before.run == self.spider.records.job.state["run"]:
            self._count(profile.id, str(before.document.get("state")))
            self.spider.records.settle((profile.kind, profile.id, None), before.status)
            return
        yield self.completed(profile, before)

    def completed(self, profile: P, before: Before | None, absent: Collection[str] = ()) -> P:
        """Return a profile with what only the last one knew, and with its document.

        Args:
            absent: the facts that were found not to be there: what was known of those does not count any more.
        """
        if before:
            profile.last_known = last_known(profile, before.document, before.day, absent)
        profile.metadata_modified = profile.checked
        profile.document = document(profile)
        self._count(profile.id, profile.state)
        return profile

    def before(self, kind: Kind, identifier: str) -> Before | None:
        index = self.spider.opened_index()
        known = index.documents.get(kind, identifier, None)
        if known is None:
            return None
        found = strict_json.of_file(index.folder, known.file)
        last = found if isinstance(found, dict) else {}
        return Before(last, max(known.seen, str(last.get("checked", "")))[:10], known.run, known.status)

    def counts(self) -> dict[str, int]:
        return dict.fromkeys(self.states, 0) | self.notes.counts("state")

    def _count(self, identifier: str, state: str) -> None:
        self.notes.put("state", identifier, state)


def last_known(profile: Profile, before: dict[str, Any], day: str, absent: Collection[str] = ()) -> dict[str, Known]:
    """Return the facts that a profile lacks and an earlier one had.

    Args:
        day: the last day on which that was found so.
        absent: the facts that are known not to be there.
    """
    found: dict[str, Known] = {}
    earlier = before.get("last_known")
    for name in profile.facts:
        if getattr(profile, name) is not None or name in absent:
            continue
        if before.get(name) is not None:
            found[name] = Known(value=before[name], day=day)
        elif isinstance(earlier, dict) and isinstance(known := earlier.get(name), dict):
            found[name] = Known(value=known.get("value"), day=str(known.get("day")))
    return found


def document(profile: Profile) -> dict[str, Any]:
    """Return what is written of a profile: its fields in their order, what was last known at the end."""
    own = [one.name for one in fields(profile) if one.name not in (*_OWN, "last_known")]
    return {name: getattr(profile, name) for name in (*own, "last_known")}


def feed_fields(profile: type[Profile]) -> list[str]:
    """Return the fields of a kind of profile that a feed has."""
    return [one.name for one in fields(profile) if one.name not in ("document", "stored")]
