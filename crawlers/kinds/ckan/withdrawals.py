"""Datasets on disk that the portal no longer lists, and ids that it lists without a dataset: what it says of each."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import AnswerError
from crawlers.kinds.ckan import api
from crawlers.kinds.ckan.dialect import Ask, by_offset, of_failure
from crawlers.kinds.ckan.questions import FEW, ById, check_identity
from crawlers.listing.batches import Batch
from crawlers.listing.confirmation import THERE, Confirmation, Fate
from crawlers.listing.walk import ListingPage, Walk, restored
from crawlers.listing.withdrawals import CONTROLS, LIST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy import Request
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.kinds.ckan.access import Access
    from crawlers.kinds.ckan.api import ApiVariant
    from crawlers.kinds.ckan.dialect import Output, PackageCrawl
    from crawlers.listing.lister import Lister
    from crawlers.signals import Reason

_SOURCES = ("package_search", "package_show")
_LISTS = ("datasets", "ids", "stamps")
_NOT_GIVEN = "not given"
_LEFT: Reason = "no longer in the filter"
_OUTSIDE, _UNEDITED = "outside the filter", "unedited"


class Absences(ById, Confirmation):
    """Asks about datasets: package_search about many at once, then package_show for each that it does not give.

    package_show answers from the database, with the reason, while lists come from the search index, which is rebuilt
    now and then.
    """

    crawl: PackageCrawl

    def __init__(self, crawl: PackageCrawl, access: Access) -> None:
        Confirmation.__init__(self, crawl, crawl.withdrawals)
        self.access = access

    def question(self, dataset_id: str, about: dict[str, Any]) -> Request:
        way: ApiVariant = self.crawl.api.variants[about["variant"]]
        return way.request("package_show", {"id": dataset_id})

    def fate(self, response: Response, dataset_id: str, about: dict[str, Any]) -> Fate:
        """Return why a dataset is gone, or its record; that is taken, listed or not."""
        if reason := self.reason(response):
            return Fate(reason)
        record = api.result(response)
        check_identity(record, dataset_id)
        return Fate(output=self.take_record(response, record, about["variant"], 0))

    def reason(self, response: Response) -> Reason | None:
        """Return why a dataset is gone; private ones only look gone to a token that may have expired."""
        reason = api.absence(response)
        is_doubtful = self.crawl.api.has_token and not self.access.is_accepted
        return None if reason == "no longer public" and is_doubtful else reason

    def error(self, failure: Failure) -> AnswerError:
        return of_failure(failure).error

    def ask(self, about: dict[str, Any], *, is_many: bool) -> Iterator[Any]:
        """Yield the questions about the list: about many of its datasets at once, or about each."""
        batch = Batch(about=about, least=FEW)
        if is_many:
            return self.ask_batch(batch)
        self.leave(list(self.crawl.records.listed(self.batch_list)))
        return self.batches_done(batch)

    def leave(self, ids: list[str]) -> None:
        for dataset_id in ids:
            self.crawl.seen(dataset_id, list_name=self.list_name, listed_by=None)

    def some_listed(self, name: str) -> list[str]:
        """Return a few datasets that a list has, and that the portal gave if it was asked."""
        return list(islice(self.crawl.records.listed(name, without=_NOT_GIVEN), CONTROLS))


class Gone(Absences):
    """What a complete list lacks of the datasets on disk: of all, or of those that this filter listed before.

    `Withdrawals` compares the list with the index and notes in the ledger what it lacks. What package_search gives of
    that without a filter is still there. What it gives without the filter has left that if both it and package_show
    give another record than the one on disk: a search index that is rebuilt loses fields, and records stay the same.
    """

    batch_list = LIST
    list_name = "unlisted"

    def find(self, walk: Walk[Ask]) -> Output:
        """Compare the list with the index, a part at a time, and yield the requests about what it lacks."""
        withdrawals = self.withdrawals
        yield from withdrawals.compare(self.known(), partial(self.crawl.records.listed_among, _LISTS))
        records = self.crawl.records
        given = [listed for listed in withdrawals.controls if not records.is_listed(listed, _NOT_GIVEN)]
        controls = given or self.some_listed(walk.name)
        if not self.access.is_refused and withdrawals.is_to_ask(has_control=bool(controls)):
            is_many = self.crawl.api.query.filtered or withdrawals.gone > FEW
            yield from self.ask({"variant": walk.ask.variant, "controls": controls}, is_many=is_many)

    def known(self) -> Iterator[str]:
        """Yield the source's datasets that are CKAN's and this filter's: other crawls may write into the folder."""
        index = self.crawl.opened_index()
        if self.crawl.api.query.filtered:
            yield from index.runs.last_seen_by(self.crawl.name, self.crawl.given, _SOURCES)
        else:
            yield from (held.dataset_id for held in index.documents.held() if held.metadata_source in _SOURCES)

    def take(self, response: Response, records: dict[str, Any], batch: Batch) -> Iterator[Any]:
        if not self.crawl.api.query.filtered:
            yield from super().take(response, records, batch)
            return
        for dataset_id, record in records.items():
            if self.may_have_left(record):
                self.notes.put(_OUTSIDE, dataset_id, response.url)
                self.leave([dataset_id])
            else:
                self.crawl.seen(dataset_id, list_name=_UNEDITED, listed_by=None)

    def may_have_left(self, record: dict[str, Any]) -> bool:
        """Return whether a record may be outside the filter although the one on disk was inside."""
        return self.crawl.api.query.moves or self.crawl.opened_index().documents.is_edited(
            record["id"], record, _SOURCES[0]
        )

    def batches_done(self, batch: Batch) -> Iterator[Any]:
        return self.confirm(batch.about["controls"], batch.about)

    def fate(self, response: Response, dataset_id: str, about: dict[str, Any]) -> Fate:
        found = super().fate(response, dataset_id, about)
        if found.reason or not self.crawl.api.query.filtered:
            return found
        is_outside = self.notes.get(_OUTSIDE, dataset_id) is not None
        return Fate(_LEFT if is_outside and self.may_have_left(api.result(response)) else None)

    def settled(self, about: dict[str, Any]) -> Iterator[Any]:
        for dataset_id, _ in self.notes.below(_OUTSIDE):
            if self.notes.get(self.topic, dataset_id)["answer"] == THERE:
                self.crawl.seen(dataset_id, list_name=_UNEDITED, listed_by=None)
        if self.crawl.records.count(_UNEDITED):
            same = "the portal gives their records as they are on disk, but for stamps and counters"
            why = f", and {same}: nothing shows that they left the filter"
            self.withdrawals.is_accepted(_UNEDITED, why, _LEFT)
        yield from ()


class Ghosts(Absences):
    """Ids that the portal lists without giving their datasets: in its search index, and not in its database.

    They are found where fewer records came than the portal counts, and among those that have changed. If the portal
    says of one that it is not there, it does not count.

    Args:
        lister: what reads the list of records, which is judged behind them.

    Attributes:
        then: yields what follows those that have changed: what `end` takes, without the request.
    """

    batch_list = "lacking"
    list_name = _NOT_GIVEN

    then: Callable[[dict[str, Any], int, int], Iterator[Any]]

    def __init__(self, crawl: PackageCrawl, access: Access, lister: Lister[Ask]) -> None:
        super().__init__(crawl, access)
        self.lister = lister

    def list_ids(self, short: Walk[Ask]) -> Iterator[Any]:
        """Request a list of all ids, by offset: what a list of records lacks of them may be found by its id."""
        ask, rows = replace(by_offset(short.ask), fields="id", instead_of=short.plain()), self.crawl.args["rows"]
        ids = Walk(ask=ask, name="all ids", is_of_ids=True, rows=rows, most=rows, pages=short.pages)
        yield self.lister.onward(short, ids)

    def explain(self, walk: Walk[Ask]) -> Iterator[Any]:
        """Yield the questions about what a list of all ids has and the list of records lacks.

        Args:
            walk: behind the list of ids.
        """
        records, short = self.crawl.records, restored(walk.ask.instead_of or {}, Ask)
        most = self.crawl.crawler.settings.getint("CONFIRM_MAX")
        for dataset_id in islice(records.listed(walk.name, without=short.name), most + 1):
            self.crawl.seen(dataset_id, list_name=self.batch_list, listed_by=None)
        count, about = records.count(self.batch_list), {"variant": short.ask.variant, "walk": short.plain()}
        if count > most:
            yield from self.lister.lap(short, by_offset(short.ask))
        elif count and (question := self.access.question(walk)):
            yield question
        elif count:
            yield from self.ask(about, is_many=count > FEW)
        else:
            yield from self.lister.judged(short, ListingPage(), None)

    def unexplained(self, walk: Walk[Ask]) -> Iterator[Any]:
        """Judge the list of records where the host does not give the list of ids either."""
        return self.lister.judged(restored(walk.ask.instead_of or {}, Ask), ListingPage(), None)

    def batches_done(self, batch: Batch) -> Iterator[Any]:
        return self.check({**batch.about, "count": batch.count})

    def check(self, about: dict[str, Any]) -> Iterator[Any]:
        """Yield the questions about what was not given.

        Args:
            about: the ``variant``, the ``walk`` behind the list, and the ``count`` of records that came by their ids.
        """
        controls = self.some_listed(restored(about["walk"], Ask).name)
        count = self.crawl.records.count(self.list_name)
        if self.is_too_much(count):
            self.crawl.failed("list", self.too_much(count))
            yield from self.end(None, about, about["count"], 0)
        elif controls or not count:
            yield from self.confirm(controls, about)
        else:
            error = AnswerError("refused", "the portal lists no dataset that it can be checked by")
            yield from self.unchecked(error, None, None, about, is_end=False)

    def is_too_much(self, count: int) -> bool:
        """Return whether the portal is not asked for as many: the rule is that of what is no longer listed."""
        known = self.crawl.opened_index().documents.count()
        return self.withdrawals.decide(count, can_ask=True, known=known) == "refused"

    def too_much(self, count: int) -> AnswerError:
        most = self.crawl.crawler.settings.getint("CONFIRM_MAX")
        message = (
            f"the portal lists {count} datasets, and does not give them: more than are asked for one by one "
            f"(CONFIRM_MAX = {most}), and nothing is withdrawn. They are "
            f"{self.withdrawals.names(self.list_name, count)}. To have it asked for each: -s CONFIRM_MAX={count}"
        )
        return AnswerError("shrink", message)

    def left_open(self, dataset_id: str, error: AnswerError, request: Request | None, status: int | None) -> None:
        subject = {"http_status": status, "dataset_id": dataset_id, "missing": "dataset"}
        self.crawl.failed("fetch", error, request, **subject)

    def mark(self, dataset_id: str, fate: dict[str, Any]) -> None:
        if self.access.is_refused:
            return
        known = self.crawl.opened_index().documents.get("dataset", dataset_id, None)
        is_of_this_run = known is not None and known.run == self.crawl.records.job.state.get("run")
        if known and (known.status != "withdrawn" or is_of_this_run):  # before a kill, which took only the ledger's row
            super().mark(dataset_id, fate)

    def settled(self, about: dict[str, Any]) -> Iterator[Any]:
        answers = list(self.answers())
        absent = sum(each not in ("", THERE) for each in answers)
        yield from self.end(None, about, about["count"] + answers.count(THERE), absent)

    def unchecked(
        self, error: AnswerError, request: Request | None, status: int | None, about: dict[str, Any], *, is_end: bool
    ) -> Iterator[Any]:
        """Report each that was not given: what the portal says of it does not count."""
        for dataset_id in self.crawl.records.listed(self.list_name):
            self.left_open(dataset_id, error, request, status)
        yield from self.end(request, about, about["count"], 0)

    def end(self, request: Request | None, about: dict[str, Any], given: int, absent: int) -> Iterator[Any]:
        """Count what came, and yield what follows the list.

        Args:
            given: how many of those that were lacking the portal gave.
            absent: how many it does not have, as it says itself.
        """
        walk = restored(about["walk"], Ask)
        if walk.is_of_ids:
            yield from self.then(about, given, absent)
            return
        self.crawl.run_state.count_listed(walk.listed + given)
        whole = replace(walk, listed=walk.listed + given)
        yield from self.lister.judged(whole, ListingPage(), request, absent=absent)
