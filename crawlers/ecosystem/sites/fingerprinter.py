"""Tells the requests to portals apart: one address may be asked for about different sites."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from crawlers.components.httpcache import AcceptFingerprinter

if TYPE_CHECKING:
    from scrapy import Request


class SiteFingerprinter(AcceptFingerprinter):
    """REQUEST_FINGERPRINTER_CLASS of a crawl of portals: the site that a request is about counts, too."""

    def fingerprint(self, request: Request) -> bytes:
        """Return a hash that two requests for the same address share only if they are about the same site."""
        plain = super().fingerprint(request)
        visit = request.cb_kwargs.get("visit")
        if visit is None:
            return plain
        return hashlib.sha1(plain + str(visit["site"]["id"]).encode(), usedforsecurity=False).digest()
