"""Where a walk stands behind a page, whether it goes on, and what shows that its list was whole: pure functions.

Evidence is what was seen. The rules are a table, taken from the top: the first that shows or denies something decides.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from crawlers.exceptions import AnswerError

if TYPE_CHECKING:
    from crawlers.listing.dialect import Traits
    from crawlers.listing.walk import ListingPage, Walk

Evidence = str
"""What shows that a listing was whole; stands in the run report: total, file, pager, short_page, rules; see `less`."""

_DRIFT, _DRIFT_SHARE = 10, 0.02
"""Records that may come or go between two pages; of a large catalogue, the share."""
_ROUND = 1000
"""A total that is a multiple of this may be the end of what a search server counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What was taken from a page.

    Args:
        came: how many positions of the list the page covers.
        new: how many datasets were new, and within the user's limits.
        resources: how many resources those have.
        digest: of the page's ids; empty if it has none.
        is_cut: whether the limits leave out some resources of the last dataset.
        doubles: how many datasets are new to this list, and another list had them.
    """

    came: int = 0
    new: int = 0
    resources: int = 0
    digest: str = ""
    is_cut: bool = False
    doubles: int = 0

    def __add__(self, later: Taken) -> Taken:
        """Return what was taken from two parts of a page."""
        digests = [each.digest for each in (self, later) if each.digest]
        return Taken(
            came=self.came + later.came,
            new=self.new + later.new,
            resources=self.resources + later.resources,
            digest=hashlib.sha256("".join(digests).encode()).hexdigest() if len(digests) > 1 else "".join(digests),
            is_cut=later.is_cut,
            doubles=self.doubles + later.doubles,
        )


def after(here: Walk[Any], page: ListingPage[Any], taken: Taken, traits: Traits) -> Walk[Any]:
    """Return where a walk stands behind a page."""
    is_none = page.total == 0 and here.came > 0 and here.total is None  # of an empty page behind the last one
    if page.total is not None and (page.total < 0 or is_none):
        page.total = None
    is_behind = page.fault is None or page.next is not None
    is_other = taken.digest != here.digest if taken.came else traits.way == "place"
    is_turned = is_other and (bool(here.first) if page.turns is None else page.turns > 0)
    came = here.came + (taken.came if is_behind else 0)
    ground = max(here.reached, here.listed + here.apart + here.lost if here.lap > 1 else 0)
    is_known = is_other and taken.came > 0 and came <= ground
    is_news = bool(taken.new or taken.doubles or page.apart or page.doubles or page.is_new) or is_known
    total, counted = _counted(here, page, taken)
    is_own = 0 < here.largest == here.total and page.total == taken.came  # each page counts itself
    before = None if is_own else here.total if page.behind is None else here.counted
    change = 0 if is_own or page.total is None or here.total is None else page.total - here.total
    counts = f"it counts {before} datasets on one page and {counted} on a later one"
    contradiction = "" if fits(before, counted) else f"{counts}: its pages answer two questions"
    is_back = traits.way == "stated" and not (page.is_guessed or page.is_new)
    is_ring = is_back and not taken.new and bool(here.first) and here.digest != taken.digest == here.first
    return replace(
        here,
        ask=here.ask if page.ask is None else page.ask,
        tried=() if taken.came and came > here.reached else here.tried,
        skipped=0 if taken.came else here.skipped,
        rows=_grown(here, page, taken),
        pages=here.pages + 1,
        turned=here.turned + is_turned,
        came=came,
        reached=max(here.reached, came),
        listed=here.listed + taken.new,
        resources=here.resources + taken.resources,
        apart=here.apart + page.apart + taken.doubles,
        doubles=here.doubles + page.doubles,
        lost=here.lost + page.lost,
        gaps=here.gaps + page.gaps,
        largest=max(here.largest, taken.came + page.overlap),
        is_capped=here.is_capped or _is_capped(here, page, taken, total),
        total=total,
        counted=here.counted if counted is None else counted,
        printed=here.printed if page.printed is None else max(page.printed, here.printed or 0),
        first=here.first or taken.digest,
        digest=taken.digest or here.digest,
        stale=0 if is_news and not is_ring else here.stale + 1,
        is_ring=is_ring,
        has_moved=here.has_moved or page.has_moved or change != 0,
        has_shrunk=here.has_shrunk or change < 0,
        contradiction=here.contradiction or contradiction,
    )


def _counted(here: Walk[Any], page: ListingPage[Any], taken: Taken) -> tuple[int | None, int | None]:
    """Return how many records there are, as far as is known now, and by this page's own count."""
    if page.behind is not None:
        known, counted = here.listed + here.apart, here.came + page.behind
        if here.total is None:
            total = known + max(page.behind, taken.came)
        else:  # a page may have records that are known
            total = known + taken.new + page.apart + max(page.behind - taken.came, 0)
    elif page.total is not None:
        total = counted = page.total
    else:
        return here.total, None
    return (max(total, here.total or 0) if here.lap == 1 else total), counted


def _grown(here: Walk[Any], page: ListingPage[Any], taken: Taken) -> int | None:
    """Return how many records the next page is asked for: more, behind a small one that came."""
    is_grown = taken.came and not (page.is_substitute or page.fault)
    return min(here.most, here.rows * 5) if is_grown and here.rows and here.most else here.rows


def fits(before: int | None, now: int | None) -> bool:
    """Return whether two counts may be of one question: the catalogue changes while it is listed, but not by so much.

    >>> fits(2977, 746), fits(2977, 3036), fits(5, 15), fits(5, 16)
    (False, True, True, False)
    """
    return before is None or now is None or abs(now - before) <= max(_DRIFT, _DRIFT_SHARE * before)


def _is_capped(here: Walk[Any], page: ListingPage[Any], taken: Taken, total: int | None) -> bool:
    """Return whether the server gave fewer than were asked for, and has more behind them."""
    if page.asked is None or not taken.came:
        return False
    if total is None:
        return bool(here.first) and here.largest < page.asked
    return taken.came + page.overlap < page.asked and here.came + taken.came < total


# Whether it goes on


def decide(walk: Walk[Any], page: ListingPage[Any], taken: Taken, traits: Traits) -> Literal["follow", "end", "trap"]:
    """Return what follows a page that was read to its end.

    Args:
        walk: behind the page.
    """
    if page.next is None or page.end or walk.is_ring or _is_repeated(walk, page, traits):
        return "end"
    is_unsure = page.is_open or page.fault is not None  # an answer that breaks off is no end
    if traits.way == "place" and not is_unsure and _is_at_end(walk, page, taken, traits):
        return "end"
    is_trap = traits.most_pages is not None and walk.pages >= traits.most_pages
    return "trap" if is_trap else "follow"


def _is_repeated(walk: Walk[Any], page: ListingPage[Any], traits: Traits) -> bool:
    """Return whether the next page would be the same again, or as the last ones nothing new."""
    return page.next is not None and (walk.stale >= traits.patience or page.next == walk.ask)


def _is_at_end(walk: Walk[Any], page: ListingPage[Any], taken: Taken, traits: Traits) -> bool:
    """Return whether a page at a computed place is the last one.

    A full page is never an end: short is shorter than the largest one. A total that is met ends a walk, unless the page
    is a full one of a server that gives fewer than it is asked for, or the total is one where servers stop counting.
    """
    if not taken.came or traits.has_short_pages:
        return False  # the patience ends it
    is_full = taken.came + page.overlap >= min(walk.largest, page.asked or walk.largest)
    if walk.total is None:
        return bool(walk.turned) and not is_full
    if is_full and (walk.is_capped or walk.total % _ROUND == 0):
        return False
    if page.behind is not None:  # if more came than were left, nothing says how many there are
        return taken.came == page.behind
    return is_trusted(walk, traits) and walk.came >= walk.total


def is_trusted(walk: Walk[Any], traits: Traits) -> bool:
    """Return whether a total is the number of records, and not that of a window."""
    return walk.total is not None and (walk.total not in traits.windows or bool(walk.parts))


def is_met(walk: Walk[Any], traits: Traits) -> bool:
    """Return whether as many datasets came as there are by the protocol's own word."""
    return is_trusted(walk, traits) and walk.expected is not None and walk.seen >= walk.expected


def is_end(walk: Walk[Any], traits: Traits) -> bool:
    """Return whether a list ends where a way on is refused: all came, and the total is no number where servers stop."""
    is_passed = traits.total == "hint" and not walk.parts and walk.seen != walk.expected
    return walk.total is not None and walk.total % _ROUND != 0 and is_met(walk, traits) and not is_passed


def is_windowed(walk: Walk[Any], traits: Traits) -> bool:
    """Return whether a list is longer than what the server gives of it: it is read in parts, before anything else."""
    return walk.total in traits.windows


# What shows that it was whole


@dataclass(frozen=True, slots=True)
class Ended:
    """A walk that has ended.

    Args:
        walk: behind its last page.
        page: the last one.
        traits: of the listing.
        subject: what the sentences call it.
        absent: how many datasets the catalogue counts and does not have, as it says of each.
    """

    walk: Walk[Any]
    page: ListingPage[Any]
    traits: Traits
    subject: str = "the catalogue"
    absent: int = 0

    @property
    def expected(self) -> int:
        """How many datasets there should be; 0 if nothing says."""
        return 0 if self.walk.expected is None else self.walk.expected - self.absent


@dataclass(frozen=True, slots=True)
class Rule:
    """A line of the table.

    Args:
        seen: what was seen, for the documentation.
        shows: what that shows: evidence, or an error kind.
        judged: returns the evidence, or raises the error; ``None`` if it was not seen.
    """

    seen: str
    shows: str
    judged: Callable[[Ended], Evidence | None]


def _broken(ended: Ended) -> None:
    if ended.page.fault is not None:
        raise ended.page.fault


def _two_questions(ended: Ended) -> None:
    if ended.walk.contradiction:
        raise AnswerError("count_mismatch", f"{ended.subject} contradicts itself: {ended.walk.contradiction}")


def _fewer(ended: Ended) -> None:
    walk, stated, expected = ended.walk, ended.walk.stated, ended.expected
    if stated is not None and stated not in ended.traits.windows:
        expected = max(expected, stated - walk.apart - ended.absent)
    if walk.seen < expected:
        message = f"{ended.subject} says it has {expected} datasets, and listed {walk.listed}"
        raise AnswerError("count_mismatch", message)


def _more(ended: Ended) -> None:
    walk, is_exact = ended.walk, ended.traits.total == "exact" and is_trusted(ended.walk, ended.traits)
    if is_exact and ended.walk.seen > ended.expected and not walk.has_moved and walk.lap == 1 and not walk.parts:
        message = f"{ended.subject} says it has {ended.expected} datasets, and listed {walk.listed}"
        raise AnswerError("count_mismatch", message)


def _shrunk(ended: Ended) -> None:
    if ended.walk.lap > 1 and ended.walk.has_shrunk:
        message = f"{ended.subject} lists less and less while it is read, so records may have moved between its pages"
        raise AnswerError("count_mismatch", message)


def _printed(ended: Ended) -> None:
    printed, listed = ended.walk.printed, ended.walk.seen + ended.walk.apart  # another list may have had some of them
    if printed is not None and listed < printed:
        raise AnswerError(
            "count_mismatch", f"{ended.subject} prints that it has {printed} datasets, and listed {listed}"
        )


def _met(ended: Ended) -> Evidence | None:
    is_equal = ended.traits.total == "exact" or ended.walk.seen == ended.expected
    return less(ended.absent) if is_equal and is_trusted(ended.walk, ended.traits) else None


def _window(ended: Ended) -> None:
    walk = ended.walk
    if is_windowed(walk, ended.traits) and not walk.parts and ended.walk.seen == walk.total:
        message = f"{ended.subject} listed {walk.total} datasets, and never gives more: there may be others"
        raise AnswerError("unproven", message)


def _left(ended: Ended) -> None:
    if ended.walk.left:
        raise AnswerError("unproven", f"{ended.subject} listed {ended.walk.listed} datasets, and {ended.walk.left}")


def _declared(ended: Ended) -> Evidence | None:
    return "rules" if ended.page.end == "declared" else None


def _ring(ended: Ended) -> Evidence | None:
    return ended.traits.ends_by if ended.walk.is_ring else None


def _again(ended: Ended) -> None:
    walk, page, traits = ended.walk, ended.page, ended.traits
    is_short = walk.seen < ended.expected
    is_all = is_met(walk, traits) or (walk.total is None and _is_limit_ignored(ended))
    is_empty = traits.way == "place" and page.came == 0
    if is_short if walk.is_ring else _is_repeated(walk, page, traits) and not (is_all or is_empty):
        of = "" if walk.expected is None else f" of {walk.expected}"
        message = f"{ended.subject} gives the same pages again after {walk.listed}{of} datasets"
        raise AnswerError("paging", message)


def _is_limit_ignored(ended: Ended) -> bool:
    """Return whether the first page has more than was asked for, and nothing else came on the pages behind it."""
    walk, asked = ended.walk, ended.page.asked
    return asked is not None and walk.largest > asked and walk.digest == walk.first


def _file(ended: Ended) -> Evidence | None:
    page, walk, traits = ended.page, ended.walk, ended.traits
    if page.next is None and (traits.way == "single" or page.is_file):
        return "file"
    if _is_limit_ignored(ended) and walk.lap == 1:
        return "file"
    if walk.pages != 1 or traits.way == "turn" or traits.judges_single_pages_last:
        return None
    if page.asked is None:
        return "file" if traits.way == "stated" and page.next is None else None
    return "file" if walk.came < page.asked else None


def _guessed(ended: Ended) -> Evidence | None:
    return "short_page" if ended.page.is_guessed and ended.page.next is None and not ended.page.came else None


def _pager(ended: Ended) -> Evidence | None:
    walk, way = ended.walk, ended.traits.way
    is_end = ended.page.next is None or way == "place"
    is_worked = walk.turned or (walk.parts and way == "stated")  # the last range names no way on, others did
    return ended.traits.ends_by if is_worked and is_end else None


def _nothing(ended: Ended) -> None:
    listed = ended.walk.listed
    raise AnswerError("unproven", f"{ended.subject} listed {listed} datasets, and nothing shows that these are all")


RULES = (
    Rule("The last answer broke off, and nothing brought the rest.", "as it broke off", _broken),
    Rule("Pages of one walk count so differently that they answer two questions.", "count_mismatch", _two_questions),
    Rule("Pages in a row brought nothing new, although a way on is there and the total is not met.", "paging", _again),
    Rule(
        "Fewer came than the protocol's own total says, with the records that were given up.", "count_mismatch", _fewer
    ),
    Rule("More came than an exact total says, and the list did not change meanwhile.", "count_mismatch", _more),
    Rule("It became shorter while it was read, and again while it was read again.", "count_mismatch", _shrunk),
    Rule("A number that a page prints for people is larger than what came.", "count_mismatch", _printed),
    Rule("Something was offered that was neither followed nor kept.", "unproven", _left),
    Rule("As many distinct ids came as the protocol's total says, and servers do not stop there.", "total", _met),
    Rule("As many came as servers give at most: 10,000, 15,000 or 50,000.", "unproven", _window),
    Rule("The user says that there is only this page.", "rules", _declared),
    Rule("A stated way on led back to the first page.", "pager", _ring),
    Rule("A page that no answer names, at the next number, is empty or is not there.", "short_page", _guessed),
    Rule("One answer was read to its end, and names no other; or gave more, or fewer, than asked for.", "file", _file),
    Rule("A way on that had worked before ended.", "pager or short_page", _pager),
    Rule("Nothing of all that.", "unproven", _nothing),
)
"""The rules of evidence, in the order in which they are asked."""


def judge(ended: Ended) -> Evidence:
    """Return what shows that a list was whole.

    Raises:
        AnswerError: something contradicts that (count_mismatch, paging), or nothing shows it (unproven).
    """
    return next(shown for rule in RULES if (shown := rule.judged(ended)) is not None)


def check_end(ended: Ended) -> None:
    """
    Raises:
        AnswerError: a part of a list broke off, or repeats itself.
    """
    _broken(ended)
    _again(ended)


def less(absent: int) -> Evidence:
    """Return the total as evidence, where the catalogue counts some that it does not have.

    >>> less(0), less(2)
    ('total', 'total less 2 that the portal does not have')
    """
    return f"total less {absent} that the portal does not have" if absent else "total"


def table(rules: tuple[Rule, ...] = RULES) -> str:
    """Return the table for the documentation, as Markdown."""
    lines = [f"| {number} | {rule.seen} | {rule.shows} |" for number, rule in enumerate(rules, 1)]
    return "\n".join(("| | What was seen | What that shows |", "|---|---|---|", *lines))
