"""What a kind says of its listing: how a page is asked for, how an answer is read, and which rungs of recovery it has.

Everything else is the `Lister`'s: what is taken, what is asked for next, what helps when a page does not come, and
whether the list was whole.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol

from crawlers.exceptions import AnswerError
from crawlers.listing.walk import A, Entry, ListingPage, Part, Walk

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator, Sequence

    from scrapy import Request
    from scrapy.http import Response

WINDOWS = frozenset((10_000, 15_000, 50_000))
"""Where search servers stop: Elasticsearch and Solr at 10,000, some GeoNetworks at 15,000, Virtuoso at 50,000.

A total that is one of these means "at least".
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What holds for all pages of a listing.

    Args:
        way: how one comes to the next page: ``stated`` by the answer (a link, a token), by its ``place`` (an offset, a
            number, the last id), by a ``turn`` of a browser; or there is but a ``single`` answer.
        total: what a total is worth: ``exact``; a ``hint`` may be less than there is, and then shows nothing.
        windows: the totals that mean "at least".
        patience: how many pages in a row without a new dataset end a walk; so many empty ones end a computed way.
        longest: a list of as many records is read in parts, because its way on would not last; ``None`` for none.
        has_short_pages: whether a page at a computed place may be shorter than others and not be the last one: the
            server cuts its answers by their time or size. Only an empty page is an end then.
        most_pages: how many pages a walk may have, before it is taken for a trap.
        deepest: how deep lists may lead to lists.
        ends_by: the word for a list whose way on has ended, in the run report.
        is_one_list: whether the catalogue is one list, whose total and number of datasets are those of the catalogue.
        tree: the name of the whole, if its lists are the files of a tree, each of them read once: they are judged
            together, when all have ended.
        judges_single_pages_last: whether a walk of one page that shows nothing is judged when all walks have ended:
            it is whole if it is shorter than a page that led on.
    """

    way: Literal["stated", "place", "turn", "single"] = "stated"
    total: Literal["exact", "hint"] = "exact"
    windows: Collection[int] = WINDOWS
    patience: int = 2
    longest: int | None = None
    has_short_pages: bool = False
    most_pages: int | None = None
    deepest: int = 20
    ends_by: str = "pager"
    is_one_list: bool = True
    tree: str = ""
    judges_single_pages_last: bool = False


class Dialect(ABC, Generic[A]):
    """What a kind says of its listing. A plain one is the first four methods.

    Attributes:
        asks: the type of `Walk.ask`, a frozen dataclass of plain values.
        traits: what holds for all its pages.
        ladder: what may help when a page does not come, in the order in which it is tried.
        subject: what the sentences of an error line call the catalogue.
        lacking: the sentence about a record that the server can't give, with its ``{number}`` in the list.
    """

    asks: type[A]
    traits: Traits = Traits()
    ladder: ClassVar[tuple[Rung, ...]] = ()
    subject: ClassVar[str] = "the catalogue"
    lacking: ClassVar[str] = "the server can't give the record at position {number}"

    @abstractmethod
    def first(self) -> Walk[A]:
        """Return the walk before its first page."""

    @abstractmethod
    def request(self, walk: Walk[A]) -> Request:
        """Return the request for the page, without callback, errback and keywords: those are the lister's."""

    @abstractmethod
    def read(self, response: Response, walk: Walk[A]) -> ListingPage[A] | Awaitable[ListingPage[A]]:
        """Return what an answer holds.

        Raises:
            AnswerError: it is no page of the listing.
        """

    @abstractmethod
    def items(self, response: Response, entry: Entry, allowed: int, walk: Walk[A], position: int) -> Iterator[Any]:
        """Yield a record's item, and the requests for what else is wanted of it.

        Args:
            allowed: how many of its resources the user's limit leaves.
            walk: the walk before its page.
            position: its place among those taken from its page.
        """

    # What may be said besides

    def together(self, response: Response, taken: list[tuple[Entry, int]], walk: Walk[A]) -> Iterator[Any] | None:
        """Yield what the records of a page lead to all together; ``None``: each by itself, see `items`.

        Args:
            taken: the new ones, each with how many of its resources the user's limit leaves.
        """
        return None

    def fault(self, error: AnswerError, response: Response | None, walk: Walk[A]) -> Fault:
        """Return why a page did not come, with what the portal says of it in words of its own.

        Args:
            response: what came; ``None`` if nothing did.
        """
        status, is_help = None if response is None else response.status, walk.purpose == "count" and not walk.pages
        return Fault(error, status, is_first=not walk.pages, is_help=is_help)

    def is_current(self, walk: Walk[A]) -> bool:
        """Return whether the answer to a walk's request counts: another session may have begun the list again."""
        return True

    def reported(self, fault: Fault, walk: Walk[A]) -> Fault:
        """Return the fault that is reported when nothing helped: the last one, with advice, or one that says more."""
        return fault

    def place(self, walk: Walk[A], count: int) -> A | None:
        """Return what is asked for `count` positions behind the beginning of the page; ``None`` if it can't be."""
        return None

    def renewed(self, walk: Walk[A]) -> A | None:
        """Return what the list's beginning is asked by, where a token or a session may have expired."""
        return None

    def count(self, walk: Walk[A]) -> A | None:
        """Return what the number of records alone is asked by, when fewer came than there were.

        An answer to that may name a next question about the number; before any page, it names the first page.
        """
        return None

    def split(self, walk: Walk[A]) -> Sequence[Part]:
        """Return the ranges that the present one, or the whole list, is split into; none if that can't be done."""
        return ()

    def ranged(self, walk: Walk[A], part: Part) -> A | None:
        """Return what the first page of a range is asked by."""
        return None

    def laps(self, walk: Walk[A]) -> Sequence[A]:
        """Return where further looks at the list begin, in the order in which they are taken: for most, page 1."""
        return ()

    def is_doubtful(self, walk: Walk[A]) -> bool:
        """Return whether a further look may find more: the list moved, or as many came as promised, some twice."""
        return walk.has_moved or (walk.expected is not None and walk.seen < walk.expected)

    def called(self, walk: Walk[A]) -> str:
        """Return what the sentences of an error line call a list."""
        is_one_of_many = walk.has_records and walk.name not in ("datasets", self.traits.tree)
        return walk.name if walk.above or is_one_of_many else self.subject

    def ending(self, fault: Fault, walk: Walk[A]) -> ListingPage[A] | None:
        """Return the end that a fault means, for a page that was only guessed or has records alone; ``None``: none.

        Those that it says are lost with the page are reported.
        """
        return None

    def ended(self, walk: Walk[A]) -> Iterator[Any] | None:
        """Yield what there is to do when all lists have ended, whole or not, in place of `whole`; a walk is begun."""
        return None

    def explained(self, walk: Walk[A]) -> Iterator[Any] | None:
        """Yield what may explain why fewer came than there are; ``None``: a further look at the list is taken.

        A list that is read for the sake of another is doubtful, too, and explains that one.
        """
        return None

    def whole(self, walk: Walk[A]) -> Iterator[Any] | None:
        """Yield what there is to do when the catalogue was listed whole; ``None``: look for what is gone."""
        return None

    def short(self, walk: Walk[A]) -> Iterator[Any]:
        """Yield what there is to do when a list was not whole, which has been reported; a walk is begun."""
        return iter(())

    def stopped(self, walk: Walk[A]) -> Iterator[Any]:
        """Yield what there is to do when the user's limit is reached."""
        return iter(())


def repeated(title: str | None, other: str | None, what: str) -> AnswerError:
    """Return what is wrong with a record whose id another one has: a version of the same dataset is a flaw of that.

    Args:
        title, other: those of the two records.
        what: who has the other record: "the server", "another file".

    >>> repeated("Rivers", " rivers ", "the server").kind, repeated("Rivers", "Roads", "the server").kind
    ('repeated_id', 'duplicate_id')
    """
    first, second = (" ".join((each or "").casefold().split()) for each in (title, other))
    if first and first == second:
        return AnswerError("repeated_id", f"{what} has another version of this dataset; the first one is kept")
    message = f"{what} has a different record with the same identifier; only the first one is kept"
    return AnswerError("duplicate_id", message)


# Why a page did not come
#
# A fault of the host has no rung: that host is stopped. A fault of the question is the portal's refusal, in words of
# its own or with a 4xx: only another question helps. A fault of the page is met by the whole ladder.

OF_HOST = frozenset(("blocked", "robots", "dns", "forbidden_address", "offsite", "ignored", "disk", "bug"))
"""The error kinds that no other request to the host cures."""
LASTING = frozenset(("too_large", "timeout", "truncated"))
"""Later pages stay small after one of these."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a page did not come.

    Args:
        error: what is reported.
        status: the HTTP status, if an answer came.
        is_spoken: whether the portal refused in words of its own protocol.
        about: the codes and names that those words have.
        is_first: whether no page came before.
        is_of_page: whether a smaller page may help, whatever the portal says of this one.
        has_waited: whether the host said when to come again (Retry-After), and was obeyed.
        is_help: whether it was but a help before the list, which is asked for all the same: the list decides.
    """

    error: AnswerError
    status: int | None = None
    is_spoken: bool = False
    about: str = ""
    is_first: bool = False
    is_of_page: bool = False
    has_waited: bool = False
    is_help: bool = False

    @property
    def is_of_host(self) -> bool:
        """Whether no other request to the host helps: it is closed, unknown, or asks for a pause without end."""
        is_unreached = self.error.kind == "connection" and self.is_first
        is_waiting = self.status == 429 or (self.status == 503 and self.has_waited)
        return self.error.kind in OF_HOST or is_unreached or (is_waiting and not self.is_help)

    @property
    def is_of_question(self) -> bool:
        """Whether the portal would repeat its answer to this question: a 4xx, or a refusal in words of its own."""
        is_refused = self.status is not None and 400 <= self.status < 500 and self.status not in (408, 429)
        return not self.is_of_page and (self.is_spoken or is_refused or self.error.kind == "refused")


class Rung(Protocol):
    """Something that may help.

    Attributes:
        name: for the log and `Walk.tried`.
        most: how often it is taken without progress.
    """

    @property
    def name(self) -> str: ...
    @property
    def most(self) -> int: ...

    def instead(self, walk: Walk[Any], fault: Fault, dialect: Any) -> Walk[Any] | None:
        """Return the walk that is tried instead; ``None`` if this does not help here."""
