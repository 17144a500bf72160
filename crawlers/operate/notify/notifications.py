"""All notifications of a run, as the settings configure them, and the extension that sends them."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from scrapy.exceptions import NotConfigured

from crawlers import signals
from crawlers.exceptions import ArgumentError
from crawlers.operate.notify.channel import Channel, NotificationError, with_retries
from crawlers.operate.notify.failures import Failures, failures_before
from crawlers.operate.notify.mail import Mail
from crawlers.operate.notify.notice import VERDICTS, Notice
from crawlers.operate.notify.prometheus import Prometheus
from crawlers.operate.notify.webhook import Webhook

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

LONGEST = 45.0  # seconds; a crawl that waits sends no heartbeat, and counts as crashed after a minute


class Notify:
    """An extension: notifies a webhook, a mailbox and Prometheus; off when none is configured.

    It works when the run's report is written, before the command ends, within NOTIFY_TIMEOUT seconds. A notification
    that fails is a warning; the crawl's exit code stays the same.

    Raises:
        ArgumentError: a setting or an environment variable is not usable; before any request.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.notifications = Notifications.from_settings(crawler.settings)
        if not self.notifications:
            raise NotConfigured
        crawler.signals.connect(self.run_ended, signal=signals.run_ended)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the extension of a crawl of a catalogue."""
        if not hasattr(crawler.spider, "source"):
            raise NotConfigured  # scrapy shell, fetch
        return cls(crawler)

    def run_ended(self, report: dict[str, Any], folder: Path) -> None:
        """Send the notifications, and log those that fail."""
        for sentence in self.notifications.send(report, folder):
            logger.warning("%s", sentence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notifications:
    """The channels that the settings configure.

    Args:
        verdicts: the verdicts that the channels are notified of.
        flaws: whether they are notified of new flaws, too.
        channels: the webhook and the mailbox, where configured.
        prometheus: the file, which is written after every run.
        seconds: how long the end of a crawl may wait for all channels together.
    """

    verdicts: frozenset[str]
    flaws: bool
    channels: tuple[Channel, ...]
    prometheus: Prometheus | None
    seconds: float

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        """Return what the settings configure.

        Raises:
            ArgumentError: a setting or an environment variable is not usable; the text says which, and no secret.
        """
        found = (Webhook.from_settings(settings), Mail.from_settings(settings))
        return cls(
            verdicts=_verdicts(settings),
            flaws=settings.getbool("NOTIFY_FLAWS"),
            channels=tuple(channel for channel in found if channel),
            prometheus=Prometheus.from_settings(settings),
            seconds=_seconds(settings),
        )

    def __bool__(self) -> bool:
        return bool(self.channels or self.prometheus)

    def send(self, report: dict[str, Any], folder: Path) -> list[str]:
        """Send the notifications of a run.

        Args:
            report: runs/<run>.json; source, run and verdict at least.
            folder: the source's.

        Returns:
            A sentence for each notification that failed.
        """
        failures = []
        try:
            if self.prometheus:
                self.prometheus.write(report)
        except NotificationError as error:
            failures = [(self.prometheus, str(error))]
        notice = Notice(report, folder, failures_before(report, folder, self.verdicts) if self.channels else Failures())
        is_news = report["verdict"] in self.verdicts or notice.has_recovered or (self.flaws and notice.new_flaws)
        channels = self.channels if is_news else ()
        failed = [*failures, *_send_all(channels, notice, self.seconds)]
        return [_sentence(channel.name, report, reason) for channel, reason in failed if channel]


def notify(settings: BaseSettings, report: dict[str, Any], folder: Path) -> list[str]:
    """Send the notifications of a run outside its crawl: the crawl crashed, for example. See `Notifications.send`.

    Raises:
        ArgumentError: a setting or an environment variable is not usable.
    """
    return Notifications.from_settings(settings).send(report, folder)


class Sending(threading.Thread):
    """A channel at work; a thread that nothing waits for beyond its seconds.

    Attributes:
        failure: why the notification failed; ``None`` once it is sent.
    """

    def __init__(self, channel: Channel, notice: Notice, seconds: float) -> None:
        super().__init__(daemon=True)
        self.channel, self.notice, self.seconds = channel, notice, seconds
        self.failure: str | None = f"it was not done within {seconds:g} s"

    def run(self) -> None:
        """Send the notice, with retries."""
        try:
            with_retries(lambda timeout: self.channel.send(self.notice, timeout), self.seconds)
        except NotificationError as error:
            self.failure = str(error)
        else:
            self.failure = None


def _send_all(channels: tuple[Channel, ...], notice: Notice, seconds: float) -> list[tuple[Channel, str]]:
    """Use all channels in parallel; return those that failed or took too long, each with the reason."""
    threads = [Sending(channel, notice, seconds) for channel in channels]
    for thread in threads:
        thread.start()
    end = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(end - time.monotonic(), 0))
    return [(thread.channel, thread.failure) for thread in threads if thread.failure]


def _sentence(name: str, report: dict[str, Any], reason: str) -> str:
    return f"{name[0].upper()}{name[1:]} was not notified that {report['source']} is {report['verdict']}: {reason}."


def _verdicts(settings: BaseSettings) -> frozenset[str]:
    found = frozenset(filter(None, (word.strip() for word in settings.getlist("NOTIFY_VERDICTS"))))
    wrong = sorted(found.difference(VERDICTS))
    if wrong:
        raise ArgumentError(f"NOTIFY_VERDICTS: {wrong[0]!r} is not a verdict. There are: {', '.join(VERDICTS)}.")
    return found


def _seconds(settings: BaseSettings) -> float:
    try:
        seconds = float(settings.get("NOTIFY_TIMEOUT", 30))
    except (TypeError, ValueError):
        seconds = 0
    if not 0 < seconds <= LONGEST:
        raise ArgumentError(f"NOTIFY_TIMEOUT takes seconds, more than 0 and {LONGEST:g} at most.")
    return seconds
