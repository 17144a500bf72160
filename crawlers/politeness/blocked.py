"""Recognises a firewall's or a robot check's answer, whatever its HTTP status says."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.http import Response

_MARKS = (b"not a robot", b"javascript is disabled", b"challenge-platform", b"captcha")
_HEADERS = ("x-amzn-waf-action", "cf-mitigated")
_PAGE_START = 64 * 1024


def challenge(response: Response) -> str | None:
    """Why the answer is a robot check and no answer; ``None`` when it is not one.

    AWS WAF challenges with 202 or 405 and ``x-amzn-waf-action``, Cloudflare with ``cf-mitigated``; others give a page.
    """
    for header in _HEADERS:
        if header in response.headers:
            return f"a firewall answered instead of the portal (HTTP {response.status}, {header})"
    if _is_html(response) and any(mark in response.body[:_PAGE_START].lower() for mark in _MARKS):
        return f"a robot check came instead of an answer (HTTP {response.status})"
    return None


def _is_html(response: Response) -> bool:
    content_type = (response.headers.get("Content-Type") or b"").lower()
    return b"html" in content_type or response.body[:256].lstrip().lower().startswith((b"<!doctype", b"<html"))
