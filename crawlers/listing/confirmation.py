"""What a portal says of the datasets that a whole listing lacks, one by one, between two control questions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from scrapy import Request
from scrapy.spidermiddlewares.httperror import HttpError

from crawlers.components.ledger import Notes
from crawlers.components.politeness import failures
from crawlers.exceptions import AnswerError
from crawlers.listing.crawl import callback
from crawlers.listing.withdrawals import LIST
from crawlers.safety.addresses import host

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.listing.crawl import Crawl
    from crawlers.listing.withdrawals import Withdrawals
    from crawlers.signals import Reason

PART = 1000
"""Datasets between two control questions."""
THERE = "there"
"""The answer about a dataset that the portal gives."""


class Fate(NamedTuple):
    """What a portal says of one dataset.

    Args:
        reason: why it is gone; ``None`` if it is there.
        is_doubtful: whether that needs the whole listing before this one, which must lack it, too.
        output: what else its answer leads to, of one that is there: its record may have changed unnoticed.
    """

    reason: Reason | None = None
    is_doubtful: bool = False
    output: Iterable[Any] = ()


class Confirmation(ABC):
    """Asks for each dataset of a list of the ledger, between two control questions.

    A control question asks for a dataset that is listed, another one before than after: a cache may have the first. If
    the portal gives none of a few, what it says of the others does not count: it is closed, or slows a crawler down.

    A kind that can ask inherits from this class. The spider has it as an attribute: its callbacks are stored so.

    Attributes:
        list_name: the list of the ledger.
        by: who is asked, for messages.
    """

    list_name: ClassVar[str] = LIST
    by: ClassVar[str] = "the portal"

    def __init__(self, crawl: Crawl, withdrawals: Withdrawals) -> None:
        self.crawl = crawl
        self.withdrawals = withdrawals

    @abstractmethod
    def question(self, dataset_id: str, about: dict[str, Any]) -> Request | None:
        """Return the request for one dataset; ``None`` if it has no address of its own.

        Args:
            about: what the kind wants to carry along, as JSON.
        """

    @abstractmethod
    def fate(self, response: Response, dataset_id: str, about: dict[str, Any]) -> Fate:
        """Return what an answer says of a dataset, whatever its HTTP status is.

        Raises:
            AnswerError: it does not say.
        """

    @abstractmethod
    def settled(self, about: dict[str, Any]) -> Iterator[Any]:
        """Yield what follows when all are marked or left; the notes have what the portal said of each."""

    def unchecked(
        self, error: AnswerError, request: Request | None, status: int | None, about: dict[str, Any], *, is_end: bool
    ) -> Iterator[Any]:
        """Yield what follows when the portal does not give what it lists; by default it is reported, and that is all.

        Args:
            is_end: whether that was asked for after the others.
        """
        count = self.crawl.records.count(LIST)
        many = "1 dataset is" if count == 1 else f"{count} datasets are"
        when = "afterwards the portal does not give" if is_end else "the portal does not give"
        message = f"{many} no longer listed, and nothing is withdrawn: {when} one either that it lists ({error})"
        self.crawl.failed("list", AnswerError(error.kind, message), request, http_status=status)
        yield from ()

    def left_open(self, dataset_id: str, error: AnswerError, request: Request | None, status: int | None) -> None:
        """Note a dataset that the portal neither gives nor says is gone; by default it is reported."""
        message = f"the dataset is no longer listed, and {self.by} does not say that it is gone: {error}"
        found = AnswerError(error.kind, message)
        self.crawl.failed("fetch", found, request, http_status=status, dataset_id=dataset_id)

    def mark(self, dataset_id: str, fate: dict[str, Any]) -> None:
        """Mark a dataset that the portal says is gone."""
        withdrawals = self.withdrawals
        if not fate["is_doubtful"]:
            withdrawals.mark(dataset_id, fate["url"], fate["answer"])
        elif not withdrawals.mark_if_missed_before(dataset_id, fate["url"]):
            message = "%s is gone; if the next complete listing lacks it too, it is withdrawn"
            self.crawl.logger.info(message, fate["url"])

    def error(self, failure: Failure) -> AnswerError:
        """Return why no answer came, or what an answer with an HTTP error says."""
        return failures.from_failure(failure)

    # Between two control questions

    @property
    def notes(self) -> Notes:
        """What the portal said of each, by id."""
        return Notes(self.crawl.crawler)

    @property
    def topic(self) -> str:
        """What the notes are kept under."""
        return f"fate of {self.list_name}"

    def confirm(self, controls: list[str], about: dict[str, Any]) -> Iterator[Any]:
        """Yield the first control question, or what follows if there is nothing to ask for.

        Args:
            controls: some datasets that are listed, and have addresses.
        """
        if part := self._part(""):
            asked = {"controls": controls, "last": "", "until": len(part), "about": about}
            yield from self._control(asked, is_end=False)
        else:
            yield from self.settled(about)

    def _part(self, last: str) -> list[str]:
        return self.crawl.records.behind(last, self.list_name, PART)

    def _control(self, asked: dict[str, Any], *, is_end: bool) -> Iterator[Any]:
        """Yield the control question.

        Args:
            asked: the controls, the id behind which the part begins, how many are asked for until its end, and what the
                kind carries along.
        """
        control = asked["controls"][0]
        request = self.question(control, asked["about"])
        if request is None:
            error = AnswerError("refused", f"{self.by} has no address for {control[:100]}")
            yield from self._not_given(error, None, None, asked, is_end=is_end)
            return
        callbacks = {"callback": self.parse_control, "errback": self.control_failed}
        yield _first(request, **callbacks, cb_kwargs={"asked": asked, "is_end": is_end})

    @callback
    def parse_control(self, response: Response, asked: dict[str, Any], is_end: bool) -> Iterator[Any]:
        control, *others = asked["controls"]
        try:
            reason = self.fate(response, control, asked["about"]).reason
            error = AnswerError("refused", f"{self.by} says of one that it lists: {reason}") if reason else None
        except AnswerError as found:
            error = found
        if error:
            yield from self._not_given(error, response.request, response.status, asked, is_end=is_end)
        else:
            asked = {**asked, "controls": others or [control]}
            yield from self._settle(asked) if is_end else self._ask(asked)

    @callback
    def control_failed(self, failure: Failure) -> Iterator[Any]:
        request, status = failures.request(failure), failures.status(failure)
        return self._not_given(self.error(failure), request, status, **request.cb_kwargs)

    def _not_given(
        self, error: AnswerError, request: Request | None, status: int | None, asked: dict[str, Any], is_end: bool
    ) -> Iterator[Any]:
        """Yield the question for another control if the portal answers at all."""
        others = asked["controls"][1:]
        if others and status and error.kind != "blocked":
            yield from self._control({**asked, "controls": others}, is_end=is_end)
        else:
            yield from self.unchecked(error, request, status, asked["about"], is_end=is_end)

    def _ask(self, asked: dict[str, Any]) -> Iterator[Any]:
        for dataset_id in self._part(asked["last"]):
            if request := self.question(dataset_id, asked["about"]):
                keywords = {"asked": asked, "dataset_id": dataset_id}
                yield _first(request, callback=self.parse, errback=self.failed, cb_kwargs=keywords)
            else:
                error = AnswerError("refused", f"{self.by} has no address for it")
                yield from self._leave_open(error, None, None, asked, dataset_id)

    @callback
    def parse(self, response: Response, asked: dict[str, Any], dataset_id: str) -> Iterator[Any]:
        try:
            fate = self.fate(response, dataset_id, asked["about"])
        except AnswerError as error:
            yield from self._leave_open(error, response.request, response.status, asked, dataset_id)
            return
        yield from self._note(dataset_id, fate, response.url, asked)
        yield from fate.output

    @callback
    def failed(self, failure: Failure) -> Iterator[Any]:
        request, keywords = failures.request(failure), failures.request(failure).cb_kwargs
        fate = None
        if isinstance(failure.value, HttpError):
            with suppress(AnswerError):
                fate = self.fate(failure.value.response, keywords["dataset_id"], keywords["asked"]["about"])
        if fate and fate.reason:
            yield from self._note(keywords["dataset_id"], fate, request.url, keywords["asked"])
        else:
            yield from self._leave_open(self.error(failure), request, failures.status(failure), **keywords)

    def _leave_open(
        self, error: AnswerError, request: Request | None, status: int | None, asked: dict[str, Any], dataset_id: str
    ) -> Iterator[Any]:
        self.left_open(dataset_id, error, request, status)
        yield from self._note(dataset_id, None, request.url if request else "", asked)

    def _note(self, dataset_id: str, fate: Fate | None, url: str, asked: dict[str, Any]) -> Iterator[Any]:
        """Note an answer; when all of a part are noted, ask for the control again if one of them is gone."""
        answer = "" if fate is None else fate.reason or THERE
        noted = {"answer": answer, "is_doubtful": bool(fate and fate.is_doubtful), "url": url}
        self.notes.put(self.topic, dataset_id, noted)
        if self.notes.count(self.topic) == asked["until"]:
            is_any_gone = any(True for _ in self._gone(asked))
            yield from self._control(asked, is_end=True) if is_any_gone else self._settle(asked)

    def _gone(self, asked: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        fates = ((dataset_id, self.notes.get(self.topic, dataset_id)) for dataset_id in self._part(asked["last"]))
        return ((dataset_id, fate) for dataset_id, fate in fates if fate["answer"] not in ("", THERE))

    def _settle(self, asked: dict[str, Any]) -> Iterator[Any]:
        """Mark those of a part that are gone; yield the questions about the next part, or what follows."""
        for dataset_id, fate in self._gone(asked):
            self.mark(dataset_id, fate)
        part = self._part(asked["last"])
        if behind := self._part(part[-1]):
            yield from self._ask({**asked, "last": part[-1], "until": asked["until"] + len(behind)})
        else:
            yield from self.settled(asked["about"])

    def answers(self) -> Iterator[str]:
        """Yield the portal's answer about each: the reason, `THERE`, or "" if it left that open."""
        return (fate["answer"] for _, fate in self.notes.below(self.topic))


class GoneRecords(Confirmation):
    """What a whole listing lacks, of a kind whose datasets have addresses of their own: those in the index.

    Where the portal can't be asked, or does not say, its listings decide: `Withdrawals.by_listings`; on three days if
    it has answered in an earlier run. What it gave and did not list is gone only if it says so.
    """

    _OPEN = "left open"
    _GIVEN = "given by their own address"

    def find(self) -> Iterator[Any]:
        """Yield the questions about what this whole listing lacks, or mark it without any."""
        withdrawals = self.withdrawals
        if withdrawals.is_partial():
            return
        yield from withdrawals.compare(withdrawals.held())
        controls = [listed for listed in withdrawals.controls if self.question(listed, {})]
        if not withdrawals.gone or not controls:
            self._let_listings_decide("nothing that it lists has an address of its own there")
        elif withdrawals.is_to_ask(has_control=True):
            yield from self.confirm(controls, {})

    @cached_property
    def given_before(self) -> set[str] | None:
        """The datasets that the portal gave in an earlier run, and did not list; ``None`` if it never answered."""
        found = self.withdrawals.recall(self._GIVEN)
        return None if found is None else set(found)

    def _let_listings_decide(self, why: str) -> None:
        """Mark what enough whole listings lack, but for what the portal gave in an earlier run.

        Args:
            why: why it is not asked, as a clause.
        """
        for dataset_id in self.withdrawals.ids():
            self._leave_to_listings(dataset_id)
        more = "" if self.given_before is None else f", and {why}"
        self.crawl.run_state.is_whole_listing = self.withdrawals.by_listings(self._OPEN, more=more)

    def _leave_to_listings(self, dataset_id: str) -> None:
        if dataset_id not in (self.given_before or ()):
            self.crawl.seen(dataset_id, list_name=self._OPEN, listed_by=None)

    def _remember(self, *, is_believed: bool) -> None:
        """Remember what the portal gives and does not list.

        Args:
            is_believed: whether what it says is gone is so: it also gave the control afterwards.
        """
        fates = ((name, self.notes.get(self.topic, name)) for name in self.withdrawals.ids())
        answers = ((name, fate["answer"] if fate else "") for name, fate in fates)  # a later part has none yet
        before = self.given_before or ()
        given = [
            name for name, answer in answers if answer == THERE or (name in before and not (answer and is_believed))
        ]
        self.withdrawals.remember(self._GIVEN, given)

    def question(self, dataset_id: str, about: dict[str, Any]) -> Request | None:
        known = self.crawl.opened_index().documents.get(self.crawl.listed_kind, dataset_id, None)
        url = known.metadata_url if known else None
        is_own = url is not None and host(url) == host(self.crawl.place)
        return Request(url) if url and is_own and "***" not in url else None  # without the secrets that it had

    def left_open(self, dataset_id: str, error: AnswerError, *_: Any) -> None:
        self.crawl.logger.info("%s does not say whether %s is gone: %s", self.by, dataset_id, error)
        self._leave_to_listings(dataset_id)

    def settled(self, about: dict[str, Any]) -> Iterator[Any]:
        self._remember(is_believed=True)
        self.crawl.run_state.is_whole_listing = self.withdrawals.by_listings(self._OPEN)
        yield from ()

    def unchecked(
        self, error: AnswerError, request: Request | None, status: int | None, about: dict[str, Any], *, is_end: bool
    ) -> Iterator[Any]:
        if is_end:
            self._remember(is_believed=False)
            yield from super().unchecked(error, request, status, about, is_end=is_end)
            return
        why = f"{self.by} does not answer for a single record that it lists ({error})"
        self.crawl.logger.info("%s: a dataset is withdrawn when its listings lack it", why)
        self._let_listings_decide(why)


def _first(request: Request, **keywords: Any) -> Request:
    """Return a request that precedes the next page's, is made although another may have its address, of no cache."""
    meta = {**request.meta, "dont_cache": True}
    found: Request = request.replace(priority=1, dont_filter=True, meta=meta, **keywords)
    found.headers["Cache-Control"] = "no-cache"
    return found
