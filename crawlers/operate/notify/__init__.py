"""Notifications of how a run ended: to a webhook, by mail, and in a file for Prometheus."""

from crawlers.operate.notify.notifications import Notifications, Notify, notify

__all__ = ["Notifications", "Notify", "notify"]
