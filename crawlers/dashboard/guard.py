"""Who is answered, and what a browser may do with the answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flask import request
from werkzeug.exceptions import BadRequest, MethodNotAllowed

if TYPE_CHECKING:
    from flask import Response

METHODS = ("GET", "HEAD")
_HOST = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?", re.IGNORECASE)
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def only_reading() -> None:
    """
    Raises:
        BadRequest: the request is for another host: a name of somebody else's that now leads to this machine
            (https://owasp.org/www-community/attacks/DNS_Rebinding).
        MethodNotAllowed: it is no GET or HEAD.
    """
    if not _HOST.fullmatch(request.headers.get("Host", "")):
        raise BadRequest("The dashboard answers to http://127.0.0.1 and http://localhost only.")
    if request.method not in METHODS:
        raise MethodNotAllowed(METHODS, "The dashboard only shows: it takes GET and HEAD.")


def headers(response: Response) -> Response:
    response.headers.update(_HEADERS)
    return response
