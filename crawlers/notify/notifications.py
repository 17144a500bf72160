"""All who are told, as the settings say."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from crawlers.exceptions import ArgumentError
from crawlers.notify.channel import Channel, NotToldError, tried
from crawlers.notify.mail import Mail
from crawlers.notify.notice import Notice
from crawlers.notify.prometheus import Prometheus
from crawlers.notify.verdicts import chosen
from crawlers.notify.webhook import Webhook

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

LONGEST = 45.0  # seconds; a crawl that waits has no heartbeat, and is taken for dead after a minute


@dataclass(frozen=True, slots=True, kw_only=True)
class Notifications:
    """
    Args:
        verdicts: of which runs the channels are told.
        channels: the webhook and the mailbox, where there are.
        prometheus: hears of every run.
        seconds: how long the end of a crawl may wait for all of them together.
    """

    verdicts: frozenset[str]
    channels: tuple[Channel, ...]
    prometheus: Prometheus | None
    seconds: float

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        """
        Raises:
            ArgumentError: a setting or an environment variable can't be used; the sentence says which, and no secret.
        """
        found = (Webhook.from_settings(settings), Mail.from_settings(settings))
        return cls(
            verdicts=chosen(settings.getlist("NOTIFY_VERDICTS")),
            channels=tuple(one for one in found if one),
            prometheus=Prometheus.from_settings(settings),
            seconds=_seconds(settings),
        )

    def __bool__(self) -> bool:
        return bool(self.channels or self.prometheus)

    def tell(self, report: dict[str, Any], folder: Path) -> list[str]:
        """
        Args:
            report: what is in runs/<run>.json; source, run and verdict at least.
            folder: the source's.

        Returns:
            A sentence for each that could not be told.
        """
        channels = self.channels if report["verdict"] in self.verdicts else ()
        return [*self._written(report), *told(channels, Notice(report, folder), self.seconds)]

    def _written(self, report: dict[str, Any]) -> list[str]:
        try:
            if self.prometheus:
                self.prometheus.write(report)
        except NotToldError as error:
            return [_sentence(self.prometheus.name, report, str(error))] if self.prometheus else []
        return []


def tell(settings: BaseSettings, report: dict[str, Any], folder: Path) -> list[str]:
    """Tells of a run without a crawl: of one that died, say. See `Notifications.tell`.

    Raises:
        ArgumentError: a setting or an environment variable can't be used.
    """
    return Notifications.from_settings(settings).tell(report, folder)


class Telling(threading.Thread):
    """One channel at work; a thread that nobody waits for beyond the seconds it has.

    Attributes:
        failure: why nobody was told; ``None`` once somebody was.
    """

    def __init__(self, channel: Channel, notice: Notice, seconds: float) -> None:
        super().__init__(daemon=True)
        self.channel, self.notice, self.seconds = channel, notice, seconds
        self.failure: str | None = f"it was not done within {seconds:g} s"

    def run(self) -> None:
        try:
            tried(lambda timeout: self.channel.tell(self.notice, timeout), self.seconds)
        except NotToldError as error:
            self.failure = str(error)
        else:
            self.failure = None


def told(channels: tuple[Channel, ...], notice: Notice, seconds: float) -> list[str]:
    """Tells all at once, and returns when they are done or their time is up: a sentence for each that was not told."""
    at_work = [Telling(channel, notice, seconds) for channel in channels]
    for one in at_work:
        one.start()
    end = time.monotonic() + seconds
    for one in at_work:
        one.join(max(end - time.monotonic(), 0))
    return [_sentence(one.channel.name, notice.report, one.failure) for one in at_work if one.failure]


def _sentence(name: str, report: dict[str, Any], reason: str) -> str:
    return f"{name[0].upper()}{name[1:]} was not told that {report['source']} is {report['verdict']}: {reason}."


def _seconds(settings: BaseSettings) -> float:
    try:
        seconds = float(settings.get("NOTIFY_TIMEOUT", 30))
    except (TypeError, ValueError):
        seconds = 0
    if not 0 < seconds <= LONGEST:
        raise ArgumentError(f"NOTIFY_TIMEOUT takes seconds, more than 0 and {LONGEST:g} at most.")
    return seconds
