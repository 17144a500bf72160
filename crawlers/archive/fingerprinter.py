"""Tells the requests of an archive apart: one address may be asked for about different files."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from crawlers.components.httpcache import AcceptFingerprinter

if TYPE_CHECKING:
    from scrapy import Request


class ArchiveFingerprinter(AcceptFingerprinter):
    """REQUEST_FINGERPRINTER_CLASS of an archive: what a request is about counts, too."""

    def fingerprint(self, request: Request) -> bytes:
        """Return a hash that two requests for the same address share only if they are about the same files."""
        plain = super().fingerprint(request)
        asked = request.cb_kwargs.get("asked")
        if asked is None:
            return plain
        return hashlib.sha1(plain + json.dumps(asked).encode(), usedforsecurity=False).digest()
