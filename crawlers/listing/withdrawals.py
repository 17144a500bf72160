"""Withdrawals: datasets on disk that a whole listing lacks, and the guards before one is marked as withdrawn."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from crawlers import signals
from crawlers.exceptions import AnswerError
from crawlers.resume.records import listed_by, planned_among
from crawlers.store.index import listing, scope

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from scrapy import Request

    from crawlers.listing.spider import CatalogueSpider

    Among = Callable[[Sequence[str]], Collection[str]]
    """Returns those of some ids that the listing has."""

_PART = 500
"""Datasets that are looked up before other work goes on."""
_LIST, _ALIASES, _SHARED = "gone", "aliases", "shared aliases"


class Withdrawals:
    """Compares a whole listing with the datasets on disk, and marks those that are gone.

    #. `compare` notes in the ledger what the listing lacks, a part at a time, whatever the catalogue's size.
    #. `is_believed` is the shrink guard: if too much is gone at once, nothing is withdrawn.
    #. A portal that can be asked for one dataset confirms each: `mark` what it says is gone, report the others with
       `not_confirmed`. Any other portal must lack a dataset in two whole listings in a row: `mark_missed_twice`.
    #. What a listing lacks because it has another id there is not gone: it is renamed (`note_aliases`).

    Attributes:
        known: how many datasets were compared.
        gone: how many of them the listing lacks, without those that are renamed.
        renamed: how many of them have another id in the listing.
        control: one that the listing has, for a control question; empty if it has none of them.
    """

    def __init__(self, spider: CatalogueSpider) -> None:
        self.spider = spider
        self.known = self.gone = self.renamed = 0
        self.control = ""
        self.listing_scope = listing(scope(spider.name, spider.given))

    def compare(self, known: Iterable[str], listed: Among) -> Iterator[None]:
        """Note what the listing lacks; yield after each part, so that the caller may let other work go on.

        Args:
            known: the ids of the source's datasets on disk.
        """
        self.known, self.gone, self.renamed, self.control = 0, 0, 0, ""
        ids = iter(known)
        while part := list(islice(ids, _PART)):
            there = listed(part)
            missing = [dataset_id for dataset_id in part if dataset_id not in there]
            gone = [dataset_id for dataset_id in missing if not self.mark_if_renamed(dataset_id)]
            for dataset_id in gone:
                self.spider.seen(dataset_id, list_name=_LIST, listed_by=None)
            self.known, self.gone = self.known + len(part), self.gone + len(gone)
            self.renamed += len(missing) - len(gone)
            self.control = self.control or next((found for found in part if found in there), "")
            yield

    def find(self, known: Iterable[str], listed: Among) -> bool:
        """Compare all at once; return whether the result is believed."""
        for _ in self.compare(known, listed):
            pass
        return self.is_believed()

    def is_believed(self) -> bool:
        """Return whether no more is gone than ``SHRINK_LIMIT`` allows; report it if more is."""
        limit = self.spider.crawler.settings.getfloat("SHRINK_LIMIT")
        if self.gone <= limit * self.known:
            return True
        what = f"{self.gone} of {self.known} {self.spider.listed_kind}s"
        self.spider.failed("list", _shrunk(what, self.gone / self.known, limit))
        return False

    def ids(self) -> Iterator[str]:
        """Yield what the listing lacks, by id."""
        return self.spider.records.listed(_LIST)

    def behind(self, dataset_id: str, count: int) -> list[str]:
        """Return the next ids of what the listing lacks.

        Args:
            dataset_id: the id behind which they begin.
            count: how many at most.
        """
        return self.spider.records.behind(dataset_id, _LIST, count)

    def mark(
        self, dataset_id: str, url: str, reason: signals.Reason = "not found", renamed_to: str | None = None
    ) -> None:
        """Mark a dataset as withdrawn.

        Args:
            url: where it was requested.
            reason: what the portal says became of it.
            renamed_to: the id that it has now.
        """
        send, kind = self.spider.crawler.signals.send_catch_log, self.spider.listed_kind
        more = {"reason": reason, "renamed_to": renamed_to}
        send(signals.dataset_withdrawn, kind=kind, dataset_id=dataset_id, url=url, **more)

    def note_aliases(self, aliases: Mapping[str, Sequence[str]]) -> None:
        """Note which documents on disk the listing calls by another id, too.

        Args:
            aliases: by the id of a dataset that is listed, its other ids.
        """
        others = [(self.spider.listed_kind, each, "") for given in aliases.values() for each in given]
        known = {key[1] for key in self.spider.opened_index().documents.some(others)} if others else set()
        for dataset_id, given in aliases.items():
            for alias in known.intersection(given):
                if not self.spider.seen(alias, list_name=_ALIASES, listed_by=dataset_id):
                    self.spider.seen(alias, list_name=_SHARED, listed_by=dataset_id)

    def mark_if_renamed(self, dataset_id: str) -> bool:
        """Mark a dataset as withdrawn if one other has its id as an alias, and is new since the last whole listing."""
        spider = self.spider
        name = listed_by(spider.records, dataset_id, _ALIASES)
        if name is None or spider.records.is_listed(dataset_id, _SHARED) or not self.last_listing():
            return False
        if spider.opened_index().runs.last_had(name, self.listing_scope):
            return False
        self.mark(dataset_id, str(getattr(spider, spider.address)), "renamed", name)
        return True

    def mark_if_missed_before(self, dataset_id: str, url: str) -> bool:
        """Mark a dataset as withdrawn if the whole listing before this one lacked it, too; return whether it did."""
        known, last = (
            self.spider.opened_index().documents.get(self.spider.listed_kind, dataset_id, None),
            self.last_listing(),
        )
        if not (known and last) or (known.status != "withdrawn" and known.seen >= last):
            return False
        self.mark(dataset_id, url)
        return True

    def mark_missed_twice(self, known: Iterable[str], listed: Among, url: str) -> None:
        """Mark what this whole listing lacks and the one before it lacked; the rest is left to the next one."""
        is_believed = self.find(known, listed)
        if self.renamed:
            message = "%d %ss have another id now: what is on disk under the old ones is withdrawn"
            self.spider.logger.info(message, self.renamed, self.spider.listed_kind)
        if not is_believed:
            return
        self.spider.run_state.is_whole_listing = True
        later = sum(not self.mark_if_missed_before(dataset_id, url) for dataset_id in self.ids())
        if later:
            message = "%d %s are gone; if the next whole listing lacks them too, they are withdrawn"
            self.spider.logger.info(message, later, f"{self.spider.listed_kind}s")

    def mark_missing(self) -> None:
        """Mark what two whole listings in a row lack, unless this one leaves datasets out or failed at some."""
        spider, state = self.spider, self.spider.run_state
        is_partial = bool(state.since) or state.has_stale_answer or state.is_limited or spider.limits.is_set
        if is_partial or spider.records.failures.counts():  # any of them may hide a record
            return
        known = (held.dataset_id for held in spider.opened_index().documents.held(spider.listed_kind))
        listed = partial(planned_among, spider.records, spider.listed_kind)
        self.mark_missed_twice(known, listed, str(getattr(spider, spider.address)))

    def last_listing(self) -> str | None:
        """Return when the last complete crawl began that listed everything."""
        return self.spider.opened_index().runs.last_complete(self.listing_scope)

    def not_confirmed(
        self, dataset_id: str, error: AnswerError, request: Request | None, status: int | None, *, by: str
    ) -> None:
        """Report a dataset that is no longer listed and may still be there.

        Args:
            by: who does not confirm that it is gone: the portal, its page.
        """
        message = f"the dataset is no longer listed, and {by} does not say that it is gone: {error}"
        found = AnswerError(error.kind, message)
        self.spider.failed("fetch", found, request, http_status=status, dataset_id=dataset_id)


def _shrunk(gone: str, share: float, limit: float) -> AnswerError:
    message = (
        f"{gone} are no longer listed ({share:.1%}), more than SHRINK_LIMIT allows ({limit:.1%}): "
        f"nothing is withdrawn. If they are gone indeed: -s SHRINK_LIMIT={share + 0.001:.3f}"
    )
    return AnswerError("shrink", message)
