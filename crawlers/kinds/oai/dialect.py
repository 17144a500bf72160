"""How a repository lists its records: in one list, or in windows of their datestamps where that is too long, or fails.

What it says of itself (Identify, ListMetadataFormats) comes first, and is a help: without it, the list is asked for all
the same. A list that does not come whole is listed from its beginning again, then in windows. A window ends where the
next one begins: servers disagree on what an end is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from scrapy import Request

from crawlers.components.politeness import failures
from crawlers.exceptions import AnswerError
from crawlers.kinds.oai import answers
from crawlers.kinds.oai.answers import OAIAnswer, OAIError, is_service
from crawlers.listing import ladder
from crawlers.listing.dialect import Dialect, Fault, Traits
from crawlers.listing.ladder import Again, Instead, Onward, Other, Renew
from crawlers.listing.since import beginning
from crawlers.listing.walk import Entry, ListingPage, Part, Walk
from crawlers.records.moment import moment, written

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy.http import Response

    from crawlers.kinds.oai.answers import Metadata, OAIRecord
    from crawlers.listing.crawl import Crawl

LARGE = 10_000
"""Records of a list that is read in windows instead: tokens die in long lists, and some servers end them here."""
_SUSPICIOUS = 1_000
"""Records after which a list that ends too early may have come to a limit of the server."""
_PAGES = 20
"""Pages of a list that is read from its beginning again; a longer one is read in windows."""
_FAILURES = 8
"""Windows in a row without an answer, or tokens that brought nothing new, after which no window is made smaller."""
_FARTHEST = datetime(1970, 1, 1, tzinfo=UTC)
_TOLERANCE = timedelta(days=1)
"""How far a datestamp may be outside its window: some servers' are in local time."""
_LISTS = ("datasets", "deleted", "services")
"""Where the ledger has the records that came."""
_ERRORS = [400, 403, 404, 405, 406, 410, 422, 500, 501]
"""Statuses with which servers send the errors of OAI-PMH: Invenio 422, pycsw 400."""
_LEAST = "oai_dc"
"""The format that every repository has to give."""
_RICHEST = ("dcat_ap", "dcat", "oai_datacite", "datacite", "iso19115-3", "iso19139", _LEAST)
"""The formats that are read, the richest first; a longer name is of the first that it begins with: datacite4."""
_IDENTITY = ("earliestDatestamp", "granularity")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a page is asked by. A list has a window, or holds all records.

    Args:
        verb: ListRecords; before it, what the repository says of itself.
        prefix: the metadataPrefix.
        formats: those that may be requested, the best one first.
        is_daily: whether the repository takes days only, as its granularity says.
        earliest: its earliestDatestamp.
        since: the moment after which changes are wanted; empty if all records are.
        begin: the window's ``from``; empty if it has none.
        until: the window's ``until``; empty if no other window follows.
        token: of this page; empty for the first page of a list.
        has_prefix_beside: whether the metadataPrefix is sent with the token, as pycsw asks for.
        attempt: how many lists were begun before this one.
        pages: how many pages of this list came: a token may be the same for each.
        newest: the last datestamp of this list.
        is_sorted: whether its datestamps have ascended so far.
        is_shuffled: whether those of any list have not.
        is_dated: whether all records have a datestamp, so that windows find them.
        known: how many records were known when a window was split last.
        barren: how many tokens failed since then, and no new record came.
        silent: how often windows were split in a row, and nothing was answered.
        length: how many records each page had that led to another one, of all lists; -1 if they differ, or if a list
            ended without a token: such a repository gives no token too many.
        last: how many records the page before had.
        is_rest: whether this is what a list in the order of its datestamps may have behind its newest record.
    """

    verb: str = "ListRecords"
    prefix: str = _LEAST
    formats: tuple[str, ...] = ()
    is_daily: bool = False
    earliest: str = ""
    since: str = ""
    begin: str = ""
    until: str = ""
    token: str = ""
    has_prefix_beside: bool = False
    attempt: int = 0
    pages: int = 0
    newest: str = ""
    is_sorted: bool = True
    is_shuffled: bool = False
    is_dated: bool = True
    known: int = 0
    barren: int = 0
    silent: int = 0
    length: int = 0
    last: int = 0
    is_rest: bool = False

    def first(self, **changes: Any) -> Question:
        """Return what the first page of a list is asked by.

        Args:
            changes: what is asked otherwise.
        """
        fresh: dict[str, Any] = {"token": "", "pages": 0, "newest": "", "is_sorted": True, "is_rest": False}
        return replace(self, attempt=self.attempt + 1, **fresh | changes)

    @property
    def parameters(self) -> dict[str, str]:
        """The arguments of its verb."""
        if self.verb != "ListRecords":
            return {}
        prefix = {"metadataPrefix": self.prefix}
        if self.token:
            return {"resumptionToken": self.token} | (prefix if self.has_prefix_beside else {})
        window = {"from": self.begin, "until": self.until}
        return prefix | {name: text[:10] if self.is_daily else text for name, text in window.items() if text}

    def behind(self, answer: OAIAnswer) -> Question:
        """Return what is asked behind a page of its list, by its token."""
        moments = [written(found) for record in answer.records if (found := moment(record.datestamp))]
        is_sorted = self.newest <= min(moments, default=self.newest) and moments == sorted(moments)
        return replace(
            self,
            token=answer.token,
            pages=self.pages + 1,
            newest=max(moments, default=self.newest),
            is_sorted=self.is_sorted and is_sorted,
            is_shuffled=self.is_shuffled or not is_sorted,
            is_dated=self.is_dated and len(moments) == len(answer.records),
            silent=0,
            length=self._length(answer),
            last=len(answer.records),
        )

    def _length(self, answer: OAIAnswer) -> int:
        has_ended = bool(answer.records) and not answer.token and not answer.fault
        lengths = {self.length, self.last} - {0} if self.token and answer.records else {self.length}
        if has_ended or len(lengths) > 1 or len(answer.records) > max(lengths, default=0) > 0:
            return -1
        return max(lengths, default=0)

    @property
    def is_short(self) -> bool:
        """Whether the page before may have been the last one: it alone is shorter than each before it."""
        return 0 < self.last < self.length

    @property
    def granule(self) -> timedelta:
        return timedelta(days=1) if self.is_daily else timedelta(seconds=1)

    @property
    def start(self) -> datetime:
        return moment(self.begin or self.earliest) or _FARTHEST

    def windows(self, *, size: int | None) -> Sequence[Part]:
        """Return both windows into which this one is split; none if that can't be done.

        If the records came in the order of their datestamps, the first one ends before those of the last one's moment:
        as many could be listed.

        Args:
            size: how many records a list has that is too long.
        """
        if not self.is_dated:
            return ()
        start, last = self.start, moment(self.newest)
        end = moment(self.until) or datetime.now(UTC)
        if size:
            length = (end - start) * min(LARGE / size, 0.5)
        elif last and last <= end:
            length = last - start - self.granule if self.is_sorted else (last - start) / 2
        else:
            length = (end - start) / 2
        middle = start + max(length // self.granule, 1) * self.granule
        return ((self.begin, written(middle)), (written(middle), self.until)) if start < middle < end else ()


class OddError(AnswerError):
    """What a repository does against the protocol.

    Args:
        code: a word for the rungs of the ladder.
    """

    def __init__(self, code: str, kind: str, message: str) -> None:
        super().__init__(kind, message)
        self.code = code


def _is_bad_argument(fault: Fault) -> bool:
    return fault.about == "badArgument"


def _is_broken(fault: Fault) -> bool:
    """Return whether an answer to the whole list broke off, or is foreign; a window is made smaller at once."""
    return fault.error.kind in ("truncated", "refused") and not fault.about


def _is_lost(fault: Fault) -> bool:
    """Return whether the list may come if it is read from its beginning again."""
    return fault.about == "badResumptionToken" or (not fault.is_spoken and fault.error.kind != "paging")


class ListRecords(Dialect[Question]):
    """The pages that the verb ListRecords gives."""

    asks = Question
    traits = Traits(way="stated", total="hint", windows=frozenset((LARGE,)), longest=LARGE)
    subject = "the repository"
    ladder = (
        Instead("untold", most=2),
        Instead("next_format", most=20),
        Other("has_prefix_beside", lambda walk: (True,) if walk.ask.pages == 1 else (), when=_is_bad_argument),
        Other("is_daily", lambda walk: () if walk.ask.token else (True,), when=_is_bad_argument),
        Instead("everything"),
        Again(when=_is_broken),
        Instead("rest", most=20),
        Renew(when=_is_lost),
        Instead("narrow", most=500),
        Onward(most=3, when=lambda fault: fault.about != "windows"),
    )

    def __init__(self, crawl: Crawl, metadata: Metadata) -> None:
        self.crawl, self.metadata = crawl, metadata

    def first(self) -> Walk[Question]:
        return Walk(ask=Question(verb="Identify"), purpose="count")

    def told(self, walk: Walk[Question], root: Any) -> Walk[Question]:
        """Return what follows Identify, or ListMetadataFormats.

        Args:
            root: of the answer; ``None`` if there is none.
        """
        ask = walk.ask
        if ask.verb == "Identify":
            return self._identified(walk, root)
        names = [] if root is None else [(each.text or "").strip() for each in root.iterfind(".//{*}metadataPrefix")]
        held = self._held_prefix()
        formats = tuple(dict.fromkeys((*ordered(names or [held], held), _LEAST)))
        self.crawl.logger.info("The formats are %s; requesting %s", ", ".join(names)[:500] or "unknown", formats[0])
        return replace(walk, ask=replace(ask, verb="ListRecords", prefix=formats[0], formats=formats), purpose="page")

    def _identified(self, walk: Walk[Question], root: Any) -> Walk[Question]:
        """Return what follows Identify; where the granularity is unknown, days are asked for: all take them.

        What changed since a moment is requested from one granule before it: a page may have been cut within that.
        """
        said = ["" if root is None else root.findtext(f"{{*}}Identify/{{*}}{name}") or "" for name in _IDENTITY]
        earliest, granularity = moment(said[0].strip()), said[1].lower()
        prefix = self.crawl.args["prefix"]
        ask = Question(
            prefix=prefix or _LEAST, is_daily="hh" not in granularity, earliest=written(earliest) if earliest else ""
        )
        if since := moment(beginning(self.crawl)):
            since = since.replace(hour=0, minute=0, second=0) if ask.is_daily else since
            ask = replace(ask, since=written(since - ask.granule), begin=written(since - ask.granule))
        if prefix:
            return replace(walk, ask=ask, purpose="page")
        return replace(walk, ask=replace(ask, verb="ListMetadataFormats"))

    def _held_prefix(self) -> str:
        """Return the format of the records on disk: another one would change every document; empty if there is none."""
        held = next(self.crawl.opened_index().documents.held(), None)
        found = parse_qs(urlsplit(held.metadata_url or "").query).get("metadataPrefix", []) if held else []
        return next(iter(found), "")

    def request(self, walk: Walk[Question]) -> Request:
        headers = {"Cache-Control": "no-cache"} if walk.ask.since or walk.ask.token else {}
        address = self.metadata.endpoint.address(walk.ask.verb, **walk.ask.parameters)
        return Request(address, headers=headers, meta={"handle_httpstatus_list": _ERRORS})

    def read(self, response: Response, walk: Walk[Question]) -> ListingPage[Question]:
        if walk.purpose == "count":
            there = self.told(walk, answers.content(response))
            return ListingPage(next=there.ask, purpose=there.purpose)
        ask = walk.ask
        try:
            found = self.answer(response, walk)
        except AnswerError as error:
            if not _is_behind_end(walk, self.fault(error, response, walk)):
                raise
            found = OAIAnswer(is_none=True)
        for sentence in found.flaws:
            self.crawl.failed("parse", AnswerError("repaired_text", sentence), response.request)
        if self.is_repeated(found, walk):
            if walk.total is not None and (walk.came == walk.total or (walk.parts and walk.came > walk.total)):
                return ListingPage(came=0)
            raise OddError("repeats", "paging", f"the repository gives the same pages again after {walk.came} records")
        alive, apart, doubles = self.alive(found, walk)
        size = _size(found, walk)
        is_end = not found.token or not (found.records or not walk.stale)  # a second empty page, whatever it says
        following = ask.behind(found)
        page = ListingPage(
            entries=[self.metadata.entry(record, ask.prefix) for record in alive],
            next=None if is_end or found.fault else following,
            ask=replace(following, token=ask.token, pages=ask.pages),
            came=len(found.records),
            total=size,
            apart=apart,
            doubles=doubles,
            is_new=bool(found.records),
            end="none" if found.is_none else "",
            fault=found.fault,
        )
        came, total = walk.came + len(found.records), max(size or 0, walk.total or 0)
        if is_end and not found.fault and total != LARGE and _SUSPICIOUS <= came < total and following.is_dated:
            message = f"the repository says that a list has {total} records (completeListSize), and gave {came} of them"
            page.fault = OddError("", "count_mismatch", message)
        return page

    def answer(self, response: Response, walk: Walk[Question]) -> OAIAnswer:
        """Return the records of an answer, in the format that was asked for and of the window's dates.

        Raises:
            AnswerError: it is none, or is refused.
        """
        if response.status >= HTTPStatus.BAD_REQUEST and b"OAI-PMH" not in response.body:
            raise failures.from_status(response)
        try:
            found = answers.page(response)
        except OAIError as error:
            if error.code != "noRecordsMatch":
                raise
            found = OAIAnswer(is_none=True)
        ask, is_whole = walk.ask, not (walk.parts or walk.ask.since)
        is_end = found.is_none or not (found.records or found.token or walk.turned)
        if is_end and ask.token:
            of = f" of {walk.total}" if walk.total and walk.total > walk.came else ""
            message = f"the repository answered a token with no records (noRecordsMatch) after {walk.came}{of}"
            raise OddError("none", "paging", message)
        if not found.records and is_whole and not walk.pages:
            raise OddError("empty", "no_datasets", "the repository has no records, or none in this set")
        is_other = _misdated(found, ask)
        if is_other and all(is_other):
            message = "the repository ignores from and until: it gives records of other dates"
            raise OddError("windows", "paging", message)
        is_first = not walk.listed and is_whole and ask.prefix in ask.formats[:-1]
        if is_first and self.metadata.is_unread([record for record in found.records if not record.is_deleted]):
            raise OddError("unread", "unsupported", f"none of the first records in the format {ask.prefix} can be read")
        return found

    def is_repeated(self, found: OAIAnswer, walk: Walk[Question]) -> bool:
        """Return whether another page of this list began with the same record; after a kill, the same page may."""
        ask, first = walk.ask, next((record.identifier for record in found.records if record.identifier), "")
        name = f"{walk.lap} {ask.attempt} {ask.begin} {ask.until} {first}"
        return bool(first) and not found.fault and not self.crawl.seen(name, list_name="pages", listed_by=walk.key)

    def alive(self, found: OAIAnswer, walk: Walk[Question]) -> tuple[list[OAIRecord], int, int]:
        """Return the records that are datasets, and how many others are new: deleted ones or services, and doubles."""
        records, key = self.crawl.records, walk.key
        named = [record for record in found.records if record.identifier]
        gone = [record for record in named if record.is_deleted]
        services = [record for record in named if not record.is_deleted and is_service(record)]
        doubles = sum(self.is_double(record, walk) for record in named)
        apart = 0
        self.note_moved(named, walk)
        for name, others in (("deleted", gone), ("services", services)):
            apart += sum(self.crawl.seen(str(each.identifier), list_name=name, listed_by=key) for each in others)
        if services and self.crawl.crawler.stats:
            self.crawl.crawler.stats.set_value("catalogue/not_datasets", records.count("services"))
        if records.job.resumed and not found.token:  # requests that stood for one before a kill share what they list
            apart = sum(map(records.count, ("deleted", "services"))) - walk.apart
            doubles = records.count("doubles") - walk.doubles
        ids = {each.identifier for each in services}
        alive = [each for each in found.records if not (each.is_deleted and each.identifier)]
        return [each for each in alive if not each.identifier or each.identifier not in ids], apart, doubles

    def is_double(self, record: OAIRecord, walk: Walk[Question]) -> bool:
        """Note a record at an edge of a window that another window had, too; return whether that is new."""
        ask, stamp = walk.ask, moment(record.datestamp)
        begin, until = moment(ask.begin) if ask.begin != ask.since else None, moment(ask.until)
        if not walk.parts or stamp is None or not self.crawl.records.is_listed(str(record.identifier), *_LISTS):
            return False
        is_first, is_last = begin and stamp < begin + ask.granule, until and stamp >= until
        edge = begin if is_first else until if is_last else None
        name = f"{edge} {record.identifier}"
        return edge is not None and self.crawl.seen(name, list_name="doubles", listed_by=walk.key)

    def note_moved(self, named: list[OAIRecord], walk: Walk[Question]) -> None:
        """Note that a record came twice: it moved while the list was read, and what was behind it moved up."""
        if walk.ask.attempt or not walk.pages or self.crawl.records.job.resumed:
            return
        ids = [str(record.identifier) for record in named]
        for twice in self.crawl.records.listed_among(_LISTS, ids) if ids else ():
            self.crawl.seen(twice, list_name="moved", listed_by=walk.key)

    def items(
        self, response: Response, entry: Entry, allowed: int, walk: Walk[Question], position: int
    ) -> Iterator[Any]:
        if entry.id is None:
            message = f"record {position + 1} of the page has no identifier, so it is not kept"
            self.crawl.failed("list", AnswerError("missing_id", message), response.request)
        elif entry.record.text:
            yield self.metadata.request(entry.id, walk.ask.prefix, allowed)
        else:
            yield from self.metadata.keep(response, entry.record, walk.ask.prefix, allowed)

    # What did not come

    def untold(self, walk: Walk[Question], fault: Fault) -> Walk[Question] | None:
        """Return what comes next, where the repository does not say what it is: that is a help, no need."""
        return self.told(walk, None) if walk.purpose == "count" else None

    def next_format(self, walk: Walk[Question], fault: Fault) -> Walk[Question] | None:
        """Return the list in the next format, before anything was listed: one counts once a record in it was read."""
        ask = walk.ask
        if walk.listed or fault.about not in ("cannotDisseminateFormat", "unread") or ask.prefix not in ask.formats:
            return None
        others = ask.formats[ask.formats.index(ask.prefix) + 1 :]
        return ladder.begun(walk, ask.first(prefix=others[0])) if others else None

    def everything(self, walk: Walk[Question], fault: Fault) -> Walk[Question] | None:
        """Return all records, if the repository ignores the moment after which changes are wanted."""
        if fault.about != "windows" or not walk.ask.since or walk.parts:
            return None
        self.crawl.run_state.since = ""
        return ladder.begun(walk, walk.ask.first(since="", begin=""))

    def rest(self, walk: Walk[Question], fault: Fault) -> Walk[Question] | None:
        """Return what is not older than the newest record, if nothing says that there is more: it shows whether.

        Without a total, a short page says so, and noRecordsMatch. It holds all the rest only if the records come in the
        order of their datestamps.
        """
        ask = walk.ask
        is_over = fault.about == "none" or (ask.is_short and _is_refused(walk, fault))
        is_all = walk.came >= walk.total if walk.total is not None else is_over
        is_further = ask.token and not ask.is_shuffled and ask.is_sorted and ask.is_dated and ask.newest > ask.begin
        if not is_all or not is_further:
            return None
        parts = ((ask.newest, ask.until), *walk.parts[1:])
        stated = walk.stated if walk.parts else walk.total
        ask = ask.first(begin=ask.newest, is_rest=True)
        return ladder.begun(walk, ask, parts=parts, turned=walk.turned, stated=stated)

    def narrow(self, walk: Walk[Question], fault: Fault) -> Walk[Question] | None:
        """Return smaller windows, until one comes whole."""
        ask, known = walk.ask, sum(map(self.crawl.records.count, _LISTS))
        is_final = fault.about == "windows" or (fault.is_of_question and not (ask.token or walk.pages))
        is_foreign = fault.is_of_page and not (walk.pages or ask.earliest)  # nothing shows that it is a repository
        is_all = walk.total is not None and walk.came >= walk.total
        barren = ask.barren + bool(ask.token) if known == ask.known else 0
        if is_final or is_foreign or is_all or max(barren, ask.silent) >= _FAILURES:
            return None
        is_sorted = ask.is_sorted and fault.about != "repeats"  # the last record came because of it
        ask = replace(ask, is_sorted=is_sorted, known=known, barren=barren, silent=ask.silent + 1)
        return ladder.split(replace(walk, ask=ask), self, is_last=True)

    def ending(self, fault: Fault, walk: Walk[Question]) -> ListingPage[Question] | None:
        """Return the end of a list of which all came, where the rest was asked for to see whether there is more."""
        is_all = bool(walk.parts) and walk.listed + walk.apart == walk.stated
        return ListingPage(end="none") if fault.about == "windows" and is_all else None

    def fault(self, error: AnswerError, response: Response | None, walk: Walk[Question]) -> Fault:
        code = getattr(error, "code", "")
        found = super().fault(error, response, walk)
        is_foreign = error.kind == "refused" and not code
        about = code or ("window" if walk.parts else "")
        return replace(found, is_spoken=bool(code), about=about, is_of_page=is_foreign)

    def renewed(self, walk: Walk[Question]) -> Question | None:
        is_short = walk.ask.pages <= _PAGES or not walk.ask.is_dated
        return walk.ask.first() if walk.ask.token and is_short and not walk.parts else None

    def split(self, walk: Walk[Question]) -> Sequence[Part]:
        is_long = walk.ask.pages <= 1 and (walk.total or 0) >= LARGE
        return walk.ask.windows(size=walk.total if is_long else None)

    def ranged(self, walk: Walk[Question], part: Part) -> Question:
        return walk.ask.first(begin=part[0], until=part[1])

    def is_doubtful(self, walk: Walk[Question]) -> bool:
        """Return whether records may have moved between pages: the list became shorter, or one came twice."""
        records = self.crawl.records
        is_less = walk.total is not None and walk.listed < (walk.expected or 0)
        may_lack = is_less and (records.job.resumed or walk.came >= (walk.total or 0))
        return not walk.parts and (walk.has_shrunk or may_lack or (walk.lap == 1 and records.count("moved") > 0))

    def laps(self, walk: Walk[Question]) -> Sequence[Question]:
        return (walk.ask.first(),)

    def whole(self, walk: Walk[Question]) -> None:
        """Mark what the repository says is deleted; not what came alive, too: the next crawl shows which is true."""
        if not self.crawl.run_state.has_stale_answer:
            for name in self.crawl.records.listed("deleted", without="datasets"):
                self.metadata.gone.withdraw(name, walk.ask.prefix)


def _is_refused(walk: Walk[Question], fault: Fault) -> bool:
    """Return whether a token is refused, in whatever words."""
    is_answered = fault.is_of_host or fault.about in ("windows", "repeats")
    return bool(walk.ask.token) and fault.is_of_question and not is_answered


def _is_behind_end(walk: Walk[Question], fault: Fault) -> bool:
    """Return whether a token that is refused was superfluous.

    It was if as many records came as there are, or if the rest of a sorted list is one short page of one moment. A
    short page of other moments proves nothing, not of a window either: records may be hidden, or pages cut by their
    bytes. Where the token is not answered by noRecordsMatch it may have died: then all pages before must have had one
    length.
    """
    ask = walk.ask
    if not _is_refused(walk, fault):
        return False
    is_none = fault.about == "none"
    if walk.total is not None:
        return is_none and walk.came == walk.total
    return (
        ask.is_rest
        and ask.begin == ask.newest
        and (0 < walk.came < walk.largest if is_none else ask.pages == 1 and ask.is_short)
    )


def _size(answer: OAIAnswer, walk: Walk[Question]) -> int | None:
    """Return how many records the list has, by its own word; ``None`` if that is the number of something else.

    It may be that of the records left, of those on the page, or of all records where a window is ignored.
    """
    size, count = answer.size, len(answer.records)
    is_of_page = size == count and bool(answer.token) and walk.total is None and walk.stated is None
    is_of_rest = bool(walk.came) and size == (walk.total or 0) - walk.came
    is_of_all = bool(walk.parts) and size == walk.stated and any(_misdated(answer, walk.ask))
    return None if is_of_page or is_of_rest or is_of_all else size


def _misdated(answer: OAIAnswer, ask: Question) -> list[bool]:
    """Return whether each record that has a date is of one outside its window."""
    moments = [found for record in answer.records if (found := moment(record.datestamp))]
    begin, until = moment(ask.begin), moment(ask.until)
    is_before = [begin is not None and found < begin - _TOLERANCE for found in moments]
    is_behind = [until is not None and found > until + _TOLERANCE for found in moments]
    return [*map(any, zip(is_before, is_behind, strict=True))]


def ordered(names: list[str], held: str = "") -> list[str]:
    """Return the formats that can be read, the best one first.

    Args:
        names: the metadataPrefixes of a repository.
        held: the one of the records on disk.

    >>> ordered(["oai_dc", "marcxml", "oai_datacite4", "datacite", "DCAT"])
    ['DCAT', 'oai_datacite4', 'datacite', 'oai_dc']
    >>> ordered(["oai_dc", "iso19139", "oai_dc_terms"], held="oai_dc")
    ['oai_dc', 'iso19139']
    """
    ranks = {name: rank for name in names if (rank := _rank(name)) is not None}
    return sorted(ranks, key=lambda name: (name != held, ranks[name], len(name)))


def _rank(name: str) -> int | None:
    word = name.lower()
    ranks = (rank for rank, known in enumerate(_RICHEST) if word.startswith(known))
    return next((rank for rank in ranks if _RICHEST[rank] != _LEAST or word == _LEAST), None)
