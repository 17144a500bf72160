"""Who is told how a run ended: a webhook, a mailbox, Prometheus."""

from crawlers.notify.extension import Notify
from crawlers.notify.notifications import Notifications, tell

__all__ = ["Notifications", "Notify", "tell"]
