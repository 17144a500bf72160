"""The digests of all sources: which are due, who gets them, and that each change is told once."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import CrawlersError, OutputError
from crawlers.operate.console import print_error
from crawlers.operate.notify.channels import Channel, Mail, NotificationError, Webhook
from crawlers.operate.notify.digest import MOST, SHOWN, Changes, Digest, Reader, Told
from crawlers.operate.notify.notifications import patience, send_all
from crawlers.operate.notify.outbox import Begun, Outbox
from crawlers.records import moment
from crawlers.store.index import manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from datetime import tzinfo

    from scrapy.settings import BaseSettings

    from crawlers.operate.sources.source import Source

HOUR = time(6)
"""When a digest is due, in the source's zone: the night's crawls are over by then."""
_DAYS = {"daily": 1, "weekly": 7}
_AHEAD = timedelta(hours=1)  # that clocks may differ by
_DOUBTS = 4  # times that a digest is sent without an answer; its pauses are 1, 4 and 16 hours
_DAY, _WEEK = timedelta(days=1), timedelta(days=7)
_NOBODY = "nobody"  # the channel of digests that nobody gets
_OWN = ("DIGEST", "NOTIFY_")
"""The settings that digests depend on, by their beginning."""


def last_due(now: datetime, period: str, zone: tzinfo) -> datetime:
    """Return when a digest was last due: at 06:00 of a day, or of a Monday, in a zone.

    >>> str(last_due(datetime(2026, 11, 26, 5, 59, tzinfo=UTC), "daily", UTC))
    '2026-11-25 06:00:00+00:00'
    >>> str(last_due(datetime(2026, 11, 26, 6, tzinfo=UTC), "weekly", UTC))
    '2026-11-23 06:00:00+00:00'
    """
    today = now.astimezone(zone).date()
    day = today - timedelta(days=today.weekday() if period == "weekly" else 0)
    due = datetime.combine(day, HOUR, zone).astimezone(UTC)
    if due > now:
        due = datetime.combine(day - timedelta(days=_DAYS[period]), HOUR, zone).astimezone(UTC)
    return due


def first_told(now: datetime, period: str, zone: tzinfo) -> datetime:
    """Return up to when everything counts as told if nothing ever was: a digest that is due today is sent today.

    >>> str(first_told(datetime(2026, 11, 26, 7, tzinfo=UTC), "daily", UTC))
    '2026-11-25 06:00:00+00:00'
    """
    due = last_due(now, period, zone)
    is_today = due.astimezone(zone).date() == now.astimezone(zone).date()
    return last_due(due - timedelta(seconds=1), period, zone) if is_today else due


@dataclass(frozen=True, slots=True)
class Group:
    """Sources that make one digest.

    Args:
        channel: who gets it; ``None`` if it is only printed.
        sources: their names.
    """

    channel: Channel | None
    period: str
    zone: tzinfo
    sources: list[str] = field(default_factory=list, compare=False)

    @property
    def kind(self) -> str:
        """Return the kind of the channel, by which the outbox knows what was told."""
        return self.channel.kind if self.channel else "mail"


class Digests:
    """The digests of sources.

    Args:
        settings: the command's; a source's own come before them, ``-s`` before both.
        sources: those of sources.toml, by name.
        tell: prints a sentence about what went wrong.

    Attributes:
        sent: what was delivered.
        has_failed: whether one was not delivered.
        is_damaged: whether a source can't be read.
    """

    def __init__(
        self, settings: BaseSettings, sources: Mapping[str, Source], tell: Callable[[str], None] = print_error
    ) -> None:
        self.settings = settings
        self.sources = sources
        self.tell = tell
        self.output, self.jobs = Path(settings["OUTPUT_DIR"]), Path(settings["JOBS_DIR"])
        self.reader = Reader(self.output, settings["DASHBOARD_URL"])
        self.wanted: dict[str, tuple[str, tuple[Channel, ...]]] = {}
        self.sent: list[Digest] = []
        self.has_failed = self.is_damaged = False

    # Who gets which

    def groups(self, names: Collection[str] = (), *, is_printed: bool = False) -> list[Group]:
        """Return the digests that there are: one for each channel, period and zone.

        Args:
            names: the sources; by default those that have a digest. Those that are named have one in any case.
            is_printed: whether it does not matter who gets them: then there is one for each period and zone.
        """
        found: dict[Group, Group] = {}
        for name in names or self.sources:
            source = self.sources.get(name)
            own = {key: value for key, value in (source.settings if source else {}).items() if key.startswith(_OWN)}
            key = json.dumps([own, bool(names)], sort_keys=True)
            if key not in self.wanted:  # most sources have no settings of their own, and a copy takes its time
                self.wanted[key] = self._wanted(own, is_named=bool(names))
            period, channels = self.wanted[key]
            for channel in (channels or (None,))[:1] if is_printed and period else channels:
                group = Group(channel, period, source.timezone if source else UTC)
                found.setdefault(group, group).sources.append(name)
        return list(found)

    def _wanted(self, own: dict[str, Any], *, is_named: bool) -> tuple[str, tuple[Channel, ...]]:
        """Return how often digests are sent, empty for never, and who gets them, by a source's own settings."""
        settings = self.settings.copy()
        settings.setdict(own, "spider")
        period = str(settings["DIGEST"] or ("daily" if is_named else ""))
        try:
            found = (Webhook.from_settings(settings), Mail.from_settings(settings)) if period else ()
        except CrawlersError as error:
            self._fail(str(error))
            return "", ()
        return period, tuple(channel for channel in found if channel)

    # What is sent

    def send_due(self, now: datetime | None = None) -> None:
        """Send the digests that are due.

        Args:
            now: by default the clock's.
        """
        groups, now = self.groups(), now or datetime.now(UTC)
        lost = self._lost(groups)
        if groups or lost:
            self._alone(lambda outbox: self._send_due(outbox, groups, lost, now), lambda: None)

    def send(self, names: Collection[str], since: Callable[[tzinfo], datetime] | None = None) -> None:
        """Send what was not told yet, whether a digest is due or not.

        Args:
            names: the sources; by default those that have a digest.
            since: returns when a digest begins, in a zone: then it does not count as told.
        """
        groups, now = self.groups(names), datetime.now(UTC)
        self._tell_lost([name for group in self._lost(groups, names) for name in group.sources])

        def send(outbox: Outbox) -> None:
            if not since:
                self._finish(outbox, groups, now, is_asked=True, are_all=not names)
            for group in groups:
                if not since:
                    self._begin(outbox, group, self._waiting(outbox, group, now), now)
                elif digest := self._read(group, _since(group, since), now)[0]:
                    self._say(group, digest, self._deliver(group.channel, digest))

        if groups:
            self._alone(send, lambda: self._fail("Another process is sending digests now: try again later."))

    def shown(self, names: Collection[str], since: Callable[[tzinfo], datetime] | None = None) -> Iterator[Digest]:
        """Yield what `send` would send, each once, however many channels there are."""
        now = datetime.now(UTC)
        try:
            outbox = Outbox.read(self.jobs)
        except OSError as error:
            self._refuse(error)
            return
        for group in self.groups(names, is_printed=True):
            told = _since(group, since) if since else self._told(outbox, group, now)
            digest, _ = self._read(group, told, now)
            if digest:
                yield digest

    def _lost(self, found: list[Group], names: Collection[str] = ()) -> list[Group]:
        """Return the digests that nobody gets."""
        told = {name for group in found for name in group.sources}
        return [group for group in self.groups(names, is_printed=True) if told.isdisjoint(group.sources)]

    def _tell_lost(self, lost: list[str]) -> None:
        if lost:
            more = f" and {len(lost) - 1:,} more" if len(lost) > 1 else ""
            how = f"set NOTIFY_MAIL_TO, or the environment variable {self.settings['NOTIFY_WEBHOOK_ENV']}"
            self._fail(f"Nobody gets the digest of {lost[0]}{more}: {how}.")

    def _alone(self, work: Callable[[Outbox], None], otherwise: Callable[[], None]) -> None:
        try:
            with Outbox.opened(self.jobs) as outbox:
                if outbox:
                    work(outbox)
                else:
                    otherwise()
        except (OSError, sqlite3.Error) as error:
            self._refuse(error)

    def _send_due(self, outbox: Outbox, groups: list[Group], lost: list[Group], now: datetime) -> None:
        self._finish(outbox, groups, now)
        for group in groups:
            told = self._waiting(outbox, group, now)
            if new := {name: one for name, one in told.items() if not outbox.known(group.kind, name)}:
                outbox.note(group.kind, new)  # else what is killed now would begin a day later
            self._begin(outbox, group, _due(group, told, now), now)
        late = [name for group in lost for name in _due(group, self._told(outbox, group, now, _NOBODY), now)]
        if late:
            self._tell_lost(late)
            outbox.note(_NOBODY, dict.fromkeys(late, Told(now)))

    def _finish(
        self, outbox: Outbox, groups: list[Group], now: datetime, *, is_asked: bool = False, are_all: bool = True
    ) -> None:
        """Send again, the same, what was begun and not noted as delivered: its process was killed, or it failed.

        Args:
            is_asked: whether somebody asked for it: then it does not pause.
            are_all: whether the groups are those of all sources.
        """
        for kind in dict.fromkeys(group.kind for group in groups):
            for begun in outbox.unfinished(kind):
                ours = [one for one in groups if one.kind == kind and not begun.sources.keys().isdisjoint(one.sources)]
                group = next((one for one in ours if one.channel and one.channel.whom == begun.whom), None)
                if group and (is_asked or _may_try(begun, now)):
                    self._send(outbox, group, begun, now)
                elif ours and not group and are_all:  # others get the digests of its sources now: they are told all
                    outbox.end(kind, begun.digest.id)

    def _waiting(self, outbox: Outbox, group: Group, now: datetime) -> dict[str, Told]:
        """Return up to where a group was told of its sources, but for those of a digest that was begun."""
        begun = {name for one in outbox.unfinished(group.kind) for name in one.sources}
        return {name: one for name, one in self._told(outbox, group, now).items() if name not in begun}

    def _told(self, outbox: Outbox, group: Group, now: datetime, kind: str = "") -> dict[str, Told]:
        """Return up to where a group was told of its sources; a time that a wrong clock gave does not count."""
        first = Told(first_told(now, group.period, group.zone))
        known = {name: outbox.known(kind or group.kind, name) or first for name in group.sources}
        return {name: one if one.time <= now + _AHEAD else Told(first.time, one.place) for name, one in known.items()}

    def _read(self, group: Group, told: Mapping[str, Told], now: datetime) -> tuple[Digest | None, dict[str, Told]]:
        """Return the digest, ``None`` if nothing changed, and up to where it tells of each source."""
        changes, ends, left = list[Changes](), dict[str, Told](), MOST
        for name, one in told.items():
            ends[name] = Told(now, one.place)
            if not (self.output / name / manifest.FILE).exists():  # nothing was crawled into it yet
                continue
            try:
                found = self.reader.changes(name, one, min(SHOWN, max(left, 0)))
            except OutputError as error:
                self.is_damaged = True
                self.tell(str(error))
                del ends[name]
                continue
            if found.damage:
                self.is_damaged = True
                self.tell(found.damage)
            ends[name] = Told(now, found.end)
            left -= sum(map(len, found.first.values()))
            changes += [found] if found.counts else []
        if not changes:
            return None, ends
        digest = Digest(
            id=_id(group.kind, told, ends),
            period=group.period,
            zone=group.zone,
            since=min(told[one.source].time for one in changes),
            until=now,
            changes=changes,
            quiet=len(ends) - len(changes),
        )
        return digest, ends

    def _begin(self, outbox: Outbox, group: Group, told: Mapping[str, Told], now: datetime) -> None:
        """Send what changed in sources; of nothing, nothing is sent."""
        digest, ends = self._read(group, told, now) if told else (None, {})
        if digest and group.channel:
            self._send(outbox, group, Begun(digest, ends, group.channel.whom), now)
        elif ends:
            outbox.note(group.kind, ends)

    def _send(self, outbox: Outbox, group: Group, begun: Begun, now: datetime) -> None:
        """Send a digest, and note it before and after.

        One that is refused for what it says is sent with the numbers only. One counts as told, too, if that is refused,
        if there was no answer four times, or after a week: else its sources would wait for ever.
        """
        sent = replace(begun, doubts=begun.doubts + 1)
        outbox.begin(group.kind, sent)  # a process that is killed now leaves a doubt, too
        error, digest = self._deliver(group.channel, begun.digest), begun.digest
        is_old = now - digest.until > _DAY
        if error and error.is_refused and digest != digest.short and (is_old or not error.is_temporary):
            self._say(group, digest, error, "It is sent with the numbers only.")
            begun, sent = replace(begun, digest=digest.short), replace(sent, digest=digest.short)
            outbox.begin(group.kind, sent)
            error, digest = self._deliver(group.channel, sent.digest), sent.digest
        is_refused = error is not None and error.is_refused and not error.is_temporary
        is_in_doubt = error is not None and error.is_in_doubt
        if error is None or error.is_delivered:
            self._say(group, digest, error)
        elif is_refused or (is_in_doubt and sent.doubts >= _DOUBTS) or now - digest.until > _WEEK:
            name = f" {digest.changes[0].source}" if len(digest.changes) == 1 else ""
            command = f"scrapy digest{name} --since {moment.written(digest.since)}"
            self._say(group, digest, error, f"It counts as told; `{command}` sends what changed since.")
        elif is_in_doubt:
            self._say(group, digest, error, f"It is sent again after {_pause(sent.doubts)}, as it may have come.")
            outbox.begin(group.kind, replace(sent, tried=now))
            return
        else:
            self._say(group, digest, error, "The next `scrapy harvest --due` sends it again.")
            outbox.begin(group.kind, begun)
            return
        outbox.end(group.kind, digest.id, begun.sources)

    def _deliver(self, channel: Channel | None, digest: Digest) -> NotificationError | None:
        """Send a digest; return what failed."""
        channels = (channel,) if channel else ()
        error = next((error for _, error in send_all(channels, digest, patience(self.settings))), None)
        if error is None or error.is_delivered:
            self.sent.append(digest)
        return error

    def _say(self, group: Group, digest: Digest, error: NotificationError | None, what_next: str = "") -> None:
        if error and group.channel:
            name = f"{group.channel.name[0].upper()}{group.channel.name[1:]}"
            did = "got" if error.is_delivered else "did not get"
            self._fail(f"{name} {did} the {digest.period} digest: {error}. {what_next}".rstrip())

    def _refuse(self, error: OSError | sqlite3.Error) -> None:
        reason = f"{error.strerror}: see {self.jobs / '.digests'}" if isinstance(error, OSError) else f"{error}"
        self._fail(f"Digests can't be sent: what was told can't be read or written ({reason}).")

    def _fail(self, sentence: str) -> None:
        self.has_failed = True
        self.tell(sentence)


def _since(group: Group, since: Callable[[tzinfo], datetime]) -> dict[str, Told]:
    return dict.fromkeys(group.sources, Told(since(group.zone)))


def _due(group: Group, told: Mapping[str, Told], now: datetime) -> dict[str, Told]:
    due = last_due(now, group.period, group.zone)
    return {name: one for name, one in told.items() if one.time < due}


def _pause(doubts: int) -> str:
    return f"{_hours(doubts)} hour{'s' * (doubts > 1)}"


def _hours(doubts: int) -> int:
    return int(4 ** max(doubts - 1, 0))


def _may_try(begun: Begun, now: datetime) -> bool:
    """Return whether a digest has paused long enough; one whose process was killed need not."""
    return begun.tried is None or abs(now - begun.tried) >= timedelta(hours=_hours(begun.doubts))


def _id(kind: str, told: Mapping[str, Told], ends: Mapping[str, Told]) -> str:
    """Return the id of a digest that tells of sources from somewhere to somewhere."""
    parts = [kind, *({name: one.fields() for name, one in sorted(each.items())} for each in (told, ends))]
    return f"digest.{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]}"
