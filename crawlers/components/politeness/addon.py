"""The add-on that turns this project's two politeness settings into Scrapy's own."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)


class Politeness:
    """REQUESTS_PER_SECOND becomes the download delay and AutoThrottle's floor, CONTACT goes into the user agent.

    At add-on priority: a project's or a command line's own DOWNLOAD_DELAY, AUTOTHROTTLE_ENABLED or USER_AGENT wins.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        rate = settings.getfloat("REQUESTS_PER_SECOND")
        delay = 1 / rate if rate > 0 else 0.0
        settings.set("DOWNLOAD_DELAY", delay, "addon")
        settings.set("AUTOTHROTTLE_START_DELAY", delay, "addon")
        settings.set("AUTOTHROTTLE_ENABLED", rate > 0, "addon")
        contact = settings.get("CONTACT")
        product = f"{settings['BOT_NAME']}/{settings['VERSION']}"
        settings.set("USER_AGENT", f"{product} (+{contact})" if contact else product, "addon")
        if "harvester" in str(settings["USER_AGENT"]).lower():
            logger.warning("HDX and others refuse a user agent with %r in it: %s", "harvester", settings["USER_AGENT"])
