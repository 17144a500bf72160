"""Withdrawals: datasets on disk that a whole listing lacks, and the guards before one is marked as withdrawn."""

from __future__ import annotations

import hashlib
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from crawlers import signals
from crawlers.components.ledger import Notes
from crawlers.exceptions import AnswerError
from crawlers.safety.redact import one_line
from crawlers.store import folder
from crawlers.store.index import listing, scope
from crawlers.store.index.reports import sees_all

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from crawlers.listing.crawl import Crawl

    Among = Callable[[Sequence[str]], Collection[str]]
    """Returns those of some ids that the listing has."""

LIST = "gone"
"""The list of the ledger that has what the listing lacks."""
CONTROLS = 4
"""Datasets that control questions may ask for: a list may have one that is not there any more."""
_PART = 500
"""Datasets that are looked up before other work goes on."""
_ALIASES, _SHARED = "aliases", "shared aliases"
_FEW, _FEW_OF = 3, 10
"""As many may be gone of any catalogue that has ten times as many: SHRINK_LIMIT is less than one of a small one."""
_DAYS = 3
"""Days on which a listing must lack what is more than SHRINK_LIMIT, where nobody can be asked."""
_NAMED = 10
_REFUSED, _LISTINGS = "refused withdrawals", "listings that lacked too much"
_COMPARED, _ACCEPTED = "compared", "withdrawals being accepted"
_FINGERPRINT = 16
"""Characters that stand for a dataset in an accepted list."""
_REMEMBERED = 10
"""Refused lists that are remembered: a user accepts one of the last nights'."""

Decision = Literal["believed", "ask", "wait", "refused"]


def decision(gone: int, known: int, *, limit: float, confirm_max: int | None = None) -> Decision:
    """Return what follows when a whole listing lacks some of the datasets on disk.

    Args:
        gone: how many it lacks.
        known: how many are on disk.
        limit: the part of them that may be gone at once.
        confirm_max: how many the portal is asked for if more than that is gone; ``None`` if it can't be asked.

    >>> decision(2, 100, limit=0.02), decision(3, 30, limit=0.02), decision(4, 40, limit=0.02)
    ('believed', 'believed', 'wait')
    >>> decision(500, 1000, limit=0.02, confirm_max=1000), decision(501, 1000, limit=0.02)
    ('ask', 'refused')
    """
    if gone <= limit * known or (gone <= _FEW and gone * _FEW_OF <= known):
        return "believed" if confirm_max is None else "ask"
    if confirm_max is not None:
        return "ask" if gone <= confirm_max else "refused"
    return "wait" if gone * 2 <= known else "refused"


class Withdrawals:
    """Compares a whole listing with the datasets on disk, and marks those that are gone.

    #. `compare` notes in the ledger what the listing lacks, a part at a time, whatever the catalogue's size.
    #. `decision` says whether that is believed. What a user accepts (``ACCEPT_SHRINK``) is.
    #. A portal that can be asked for one dataset is asked for each: `crawlers.listing.confirmation.Confirmation`.
    #. Any other must lack a dataset in two whole listings in a row; if it lacks more than ``SHRINK_LIMIT``, in whole
       listings on three days: `by_listings`.
    #. What a listing lacks because it has another id there is not gone: it is renamed (`note_aliases`).

    Attributes:
        known: how many datasets were compared.
        gone: how many of them the listing lacks, without those that are renamed.
        renamed: how many of them have another id in the listing.
        controls: a few that the listing has, for control questions.
    """

    def __init__(self, crawl: Crawl) -> None:
        self.crawl = crawl
        self.known = self.gone = self.renamed = 0
        self.controls: list[str] = []
        self.listing_scope = listing(scope(crawl.name, crawl.given))

    # What the listing lacks

    def compare(self, known: Iterable[str], listed: Among | None = None) -> Iterator[None]:
        """Note what the listing lacks; yield after each part, so that the caller may let other work go on.

        Args:
            known: the ids of the source's datasets on disk.
            listed: returns those that it has; by default those whose document is expected.
        """
        listed = listed or partial(self.crawl.records.planned_among, self.crawl.listed_kind)
        self.known, self.gone, self.renamed, self.controls = 0, 0, 0, []
        ids = iter(known)
        while part := list(islice(ids, _PART)):
            there = listed(part)
            missing = [dataset_id for dataset_id in part if dataset_id not in there]
            gone = [dataset_id for dataset_id in missing if not self.mark_if_renamed(dataset_id)]
            for dataset_id in gone:
                self.crawl.seen(dataset_id, list_name=LIST, listed_by=None)
            self.known, self.gone = self.known + len(part), self.gone + len(gone)
            self.renamed += len(missing) - len(gone)
            self.controls += islice((found for found in part if found in there), CONTROLS - len(self.controls))
            yield
        if self.renamed:
            message = "%d %ss have another id now: what is on disk under the old ones is withdrawn"
            self.crawl.logger.info(message, self.renamed, self.crawl.listed_kind)

    def ids(self, name: str = LIST) -> Iterator[str]:
        """Yield what the listing lacks, by id.

        Args:
            name: a part of it, another list of the ledger.
        """
        return self.crawl.records.listed(name)

    def is_partial(self) -> bool:
        """Return whether this run leaves datasets out, or failed at some, so that what it lacks may still be there."""
        crawl, state = self.crawl, self.crawl.run_state
        if state.since or state.has_stale_answer or state.is_limited or crawl.limits.is_set:
            return True
        return bool(crawl.records.failures.counts())  # any of them may hide a record

    # Whether it is believed

    def decide(self, gone: int, *, can_ask: bool, known: int | None = None) -> Decision:
        """Return what follows for as many as are gone.

        Args:
            can_ask: whether the portal can be asked for one dataset.
            known: how many are on disk; by default as many as were compared.
        """
        settings = self.crawl.crawler.settings
        confirm_max = settings.getint("CONFIRM_MAX") if can_ask else None
        known = self.known if known is None else known
        return decision(gone, known, limit=settings.getfloat("SHRINK_LIMIT"), confirm_max=confirm_max)

    def is_to_ask(self, name: str = LIST, *, has_control: bool) -> bool:
        """Return whether the portal is asked for what the listing lacks; if not, that is settled here.

        Args:
            name: what is gone, a list of the ledger.
            has_control: whether there is a dataset that the portal lists, to check it by.
        """
        gone = self.crawl.records.count(name)
        if not gone or self._mark_if_accepted(name):
            return False
        if has_control and self.decide(gone, can_ask=True) == "ask":
            Notes(self.crawl.crawler).put(_COMPARED, "known", self.known)  # what is left open is judged by it
            return True
        most = self.crawl.crawler.settings.getint("CONFIRM_MAX")
        why = f"more than are asked for one by one (CONFIRM_MAX = {most})" if has_control else "none is left to ask for"
        self._refuse(name, f", and {why}")
        return False

    def _recall_known(self) -> None:
        self.known = self.known or Notes(self.crawl.crawler).get(_COMPARED, "known") or 0  # after a kill

    def by_listings(self, name: str = LIST, url: str = "", more: str = "") -> bool:
        """Mark what enough whole listings lack; return whether no more is gone than is believed.

        Args:
            name: what is gone and can't be asked for, a list of the ledger.
            url: where it was requested; by default the catalogue's address.
            more: why the three days hold for few, too, as the end of a clause.
        """
        gone = self.crawl.records.count(name)
        self._recall_known()
        if gone and self._mark_if_accepted(name):
            return True
        follows = self._by_number(gone, is_strict=bool(more))
        if follows == "wait":
            follows = self._by_number(self._mark_long_gone(name), is_strict=bool(more))
        if follows != "believed":
            more += f"; what whole listings on {_DAYS} days lack is believed" * (follows == "wait")
            self._refuse(name, more)
            return False
        later = sum(
            not self.mark_if_missed_before(dataset_id, url or self.crawl.place) for dataset_id in self.ids(name)
        )
        if later:
            message = "%d %s are gone; if the next whole listing lacks them too, they are withdrawn"
            self.crawl.logger.info(message, later, f"{self.crawl.listed_kind}s")
        self.remember(_LISTINGS, None)
        return True

    def _by_number(self, gone: int, *, is_strict: bool) -> Decision:
        follows = self.decide(gone, can_ask=False) if gone else "believed"
        return "wait" if gone and is_strict and follows == "believed" else follows

    def mark_missed_twice(self, known: Iterable[str], listed: Among | None = None, url: str = "") -> None:
        """Mark what whole listings lack, this one and those before it; the rest is left to the next one."""
        for _ in self.compare(known, listed):
            pass
        if self.by_listings(url=url):
            self.crawl.run_state.is_whole_listing = True

    def mark_missing(self) -> None:
        """Mark what whole listings lack, unless this one leaves datasets out or failed at some."""
        if not self.is_partial():
            self.mark_missed_twice(self.held())

    def held(self) -> Iterator[str]:
        """Yield the ids of the source's datasets on disk; of a part of it (``-a set=``), what that part listed last."""
        index, crawl = self.crawl.opened_index(), self.crawl
        if sees_all(crawl.given):
            return (held.dataset_id for held in index.documents.held(crawl.listed_kind))
        return index.runs.last_seen_by(crawl.name, crawl.given)

    # What is marked

    def mark(
        self, dataset_id: str, url: str, reason: signals.Reason = "not found", renamed_to: str | None = None
    ) -> None:
        """Mark a dataset as withdrawn.

        Args:
            url: where it was requested.
            reason: what the portal says became of it.
            renamed_to: the id that it has now.
        """
        send, kind = self.crawl.crawler.signals.send_catch_log, self.crawl.listed_kind
        more = {"reason": reason, "renamed_to": renamed_to}
        send(signals.dataset_withdrawn, kind=kind, dataset_id=dataset_id, url=url, **more)

    def mark_if_missed_before(self, dataset_id: str, url: str) -> bool:
        """Mark a dataset as withdrawn if the whole listing before this one lacked it, too; return whether it did."""
        return self._mark_if_not_seen_since(self.last_listing(), dataset_id, url)

    def _mark_if_not_seen_since(self, moment: str | None, dataset_id: str, url: str) -> bool:
        known = self.crawl.opened_index().documents.get(self.crawl.listed_kind, dataset_id, None)
        if not (known and moment) or (known.status != "withdrawn" and known.seen >= moment):
            return False
        self.mark(dataset_id, url)
        return True

    def _mark_long_gone(self, name: str) -> int:
        """Mark what whole listings on three days lack; return how many of a list are left."""
        today = str(self.crawl.records.job.state.get("started"))
        days = [moment for moment in self.recall(_LISTINGS) or () if moment[:10] < today[:10]]
        first = days[1 - _DAYS] if len(days) >= _DAYS - 1 else None
        left = sum(
            not self._mark_if_not_seen_since(first, dataset_id, self.crawl.place) for dataset_id in self.ids(name)
        )
        if left:
            Notes(self.crawl.crawler).put(_LISTINGS, "lacks", left)
        return left

    def last_listing(self) -> str | None:
        """Return when the last complete crawl began that listed everything."""
        return self.crawl.opened_index().runs.last_complete(self.listing_scope)

    # What a user accepts

    def is_accepted(self, name: str, why: str = "", reason: signals.Reason = "not found") -> bool:
        """Mark what is gone if the user accepts exactly this list (``ACCEPT_SHRINK``); else report that it is too much.

        A list is accepted once: it is remembered with the run that refused it, until then.

        Args:
            name: what is gone, a list of the ledger.
            why: more about it, as the end of a clause.
            reason: what becomes of it if the user accepts that.
        """
        self._recall_known()
        if self._mark_if_accepted(name, reason):
            return True
        self._refuse(name, why)
        return False

    def _mark_if_accepted(self, name: str, reason: signals.Reason = "not found") -> bool:
        """Mark a list if the user accepts exactly this one; return whether that is so.

        Until the run ends, all of it is remembered: a kill may leave any part.
        """
        run, refused = self._accepted_run, self._refused()
        if not run:
            return False
        if refused.get(run) == self._digest(name):
            self.remember(_ACCEPTED, [run, "".join(self._fingerprints(name))])
        elif not self._is_left_of_accepted(name):
            return False
        if digest := refused.get(run):
            self._store(_REFUSED, {each: other for each, other in refused.items() if other != digest})
        Notes(self.crawl.crawler).put(_ACCEPTED, run, True)
        for dataset_id in self.ids(name):
            self.mark(dataset_id, self.crawl.place, reason)
        if not self.crawl.run_state.since:
            self.crawl.run_state.is_whole_listing = True
        return True

    def _is_left_of_accepted(self, name: str) -> bool:
        """Return whether a list is what a killed run left of the one that the user accepts."""
        run, prints = (*(self.recall(_ACCEPTED) or ()), "", "")[:2]
        accepted = {prints[at : at + _FINGERPRINT] for at in range(0, len(prints), _FINGERPRINT)}
        return run == self._accepted_run and accepted.issuperset(self._fingerprints(name))

    def _fingerprints(self, name: str) -> Iterator[str]:
        beginning = hashlib.blake2b(f"{name}\0".encode(), digest_size=_FINGERPRINT // 2)
        for dataset_id in self.ids(name):
            found = beginning.copy()
            found.update(dataset_id.encode())
            yield found.hexdigest()

    def _refuse(self, name: str, why: str) -> None:
        """Report that a list is too much, and remember it: the user may accept it."""
        run = str(self.crawl.records.job.state.get("run"))
        if self._accepted_run:
            why += f"; ACCEPT_SHRINK={self._accepted_run} accepts another list, or none"
        refused = {**self._refused(), run: self._digest(name)}
        if unwritten := self._store(_REFUSED, dict(sorted(refused.items())[-_REMEMBERED:])):
            advice = f"It can't be accepted: {unwritten}. Mend that, and crawl again"
        else:
            advice = f"If these are gone indeed, accept this list, once: -s ACCEPT_SHRINK={run}"
            advice += " (scrapy crawl needs another JOBDIR for it)" * bool(self.crawl.crawler.settings.get("JOBDIR"))
        count, limit = self.crawl.records.count(name), self.crawl.crawler.settings.getfloat("SHRINK_LIMIT")
        what = f"{count} of {self.known} {self.crawl.listed_kind}s are no longer listed ({count / self.known:.1%})"
        what += f", more than SHRINK_LIMIT allows ({limit:.1%})" if count > limit * self.known else ""
        message = f"{what}{why}: nothing is withdrawn. They are {self.names(name, count)}. {advice}"
        self.crawl.failed("list", AnswerError("shrink", message))

    def run_ended(self, report: Mapping[str, Any]) -> None:
        """Remember what the next runs must know of this one; the process that judged its listing may be gone."""
        if report["finish_reason"] != "finished":
            return
        notes = Notes(self.crawl.crawler)
        if notes.count(_ACCEPTED):
            self.remember(_ACCEPTED, None)
        if notes.count(_LISTINGS) and not report["errors"].keys() - {"shrink"}:
            begun = str(report["started"])  # a whole listing without another fault, once a day
            days = [moment for moment in self.recall(_LISTINGS) or () if moment[:10] != begun[:10]]
            self.remember(_LISTINGS, sorted([*days, begun])[-_DAYS:])

    @property
    def _accepted_run(self) -> str:
        return str(self.crawl.crawler.settings.get("ACCEPT_SHRINK") or "")

    def names(self, name: str, count: int) -> str:
        """Return the titles of the first datasets of a list of the ledger, as part of a sentence."""
        documents = self.crawl.opened_index().documents
        first = islice(self.ids(name), _NAMED)
        names = ", ".join(one_line(documents.title(dataset_id) or dataset_id, 60) for dataset_id in first)
        return f"{names} and {count - _NAMED} more" if count > _NAMED else names

    def _digest(self, name: str) -> str:
        """Return what identifies a list of datasets that this crawl's listing lacks."""
        found = hashlib.sha256(f"{self.listing_scope}\0{name}".encode())
        for dataset_id in self.ids(name):
            found.update(f"\0{dataset_id}".encode())
        return found.hexdigest()

    def _refused(self) -> dict[str, str]:
        found = folder.recall(self._folder, _REFUSED)
        return {run: text for run, text in found.items() if isinstance(text, str)} if isinstance(found, dict) else {}

    # What is remembered for this scope

    @property
    def _folder(self) -> Path:
        return self.crawl.opened_index().folder

    def recall(self, name: str) -> list[str] | None:
        """Return the texts that earlier runs of this scope remember; ``None`` if they remember no list."""
        found = folder.recall(self._folder, name)
        values = found.get(self.listing_scope) if isinstance(found, dict) else None
        return [value for value in values if isinstance(value, str)] if isinstance(values, list) else None

    def remember(self, name: str, value: list[str] | None) -> None:
        """Remember texts for later runs of this scope; ``None`` forgets them."""
        found = folder.recall(self._folder, name)
        known = found if isinstance(found, dict) else {}
        new = {**known, self.listing_scope: value}
        self._store(name, {one: other for one, other in new.items() if other is not None})

    def _store(self, name: str, value: dict[str, Any]) -> str:
        """Remember a value; return why that failed, else nothing."""
        try:
            folder.remember(self._folder, name, value or None)
        except OSError as error:
            unwritten = f"{folder.MEMORY} can't be written ({error.strerror})"
            self.crawl.logger.warning("%s: later runs know less", unwritten)
            return unwritten
        return ""

    # What has another id now

    def note_aliases(self, aliases: Mapping[str, Sequence[str]]) -> None:
        """Note which documents on disk the listing calls by another id, too.

        Args:
            aliases: by the id of a dataset that is listed, its other ids.
        """
        others = [(self.crawl.listed_kind, each, "") for given in aliases.values() for each in given]
        known = {key[1] for key in self.crawl.opened_index().documents.some(others)} if others else set()
        for dataset_id, given in aliases.items():
            for alias in known.intersection(given):
                if not self.crawl.seen(alias, list_name=_ALIASES, listed_by=dataset_id):
                    self.crawl.seen(alias, list_name=_SHARED, listed_by=dataset_id)

    def mark_if_renamed(self, dataset_id: str) -> bool:
        """Mark a dataset as withdrawn if one other has its id as an alias, and is new since the last whole listing."""
        crawl = self.crawl
        name = crawl.records.listed_by(dataset_id, _ALIASES)
        if name is None or crawl.records.is_listed(dataset_id, _SHARED) or not self.last_listing():
            return False
        if crawl.opened_index().runs.last_had(name, self.listing_scope):
            return False
        self.mark(dataset_id, self.crawl.place, "renamed", name)
        return True
