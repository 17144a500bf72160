"""What a browser sends for an HTML form: HTML, 4.10.21.4, "constructing the entry list".

The form is read here and not by form2request, which needs lxml's own form elements, sends disabled fields and
``type=button``, and knows no encoding but UTF-8.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from crawlers.kinds.html.links import charset, codec, outermost

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crawlers.records.html_page import Page

URLENCODED = "application/x-www-form-urlencoded"
_MULTIPART = "multipart/form-data"
_FIELDS = ("input", "select", "textarea")
_NEVER_SENT = frozenset(("submit", "image", "button", "reset"))
_UNSAFE = re.compile(rb"[^A-Za-z0-9*._-]")
_WRITTEN = {byte: b"+" if byte == 0x20 else b"%%%02X" % byte for byte in range(256)}
_ESCAPED = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A"})  # in a name of multipart/form-data


@dataclass(frozen=True, slots=True)
class Form:
    """A request that a form makes.

    Args:
        body: of a POST; empty for a form that asks by GET: all is in ``url`` then.
        content_type: of the body.
    """

    url: str
    body: bytes
    method: str = "GET"
    content_type: str = URLENCODED


def filled(
    page: Page,
    form: Any,
    *,
    changes: Iterable[tuple[str, str | None]] = (),
    button: Any | None = None,
    encoding: str | None = None,
    action: str = "",
    is_scripted: bool = False,
    is_multipart: bool = False,
) -> Form | None:
    """Return the request that a form makes when a button is clicked; ``None`` if it leads to no web address.

    Args:
        changes: names with the values that they send instead, or besides; ``None`` for a field that is not sent.
        button: the clicked element: its name is sent, and its ``formaction`` and ``formmethod`` count.
        encoding: that the page came in; what it declares itself when it is ``None``.
        action: where to, instead of the form's own address.
        is_scripted: whether a script submits the form, so that the clicked element's name is not sent.
        is_multipart: whether the body is multipart/form-data where the form asks for it.
    """
    target = (action or _attribute(form, button, "action")).strip()
    if (url := page.absolute(target) if target else page.url) is None:
        return None
    pairs = changed(entries(page, form, None if is_scripted else button), changes)
    written = _accepted(form) or encoding or charset(page)
    if _attribute(form, button, "method").strip().lower() != "post":
        return Form(f"{url.partition('?')[0]}?{_encoded(pairs, written).decode()}", b"")
    is_in_parts = is_multipart and _attribute(form, button, "enctype").strip().lower() == _MULTIPART
    return _multipart(url, pairs, written) if is_in_parts else Form(url, _encoded(pairs, written), "POST")


def _attribute(form: Any, button: Any | None, name: str) -> str:
    """Return an attribute of a form, unless the clicked button has its own."""
    own = None if button is None else button.get(f"form{name}")
    return own or form.get(name) or ""


def entries(page: Page, form: Any, button: Any | None = None) -> Iterator[tuple[str, str]]:
    """Yield the names and values that a form sends, in its order, including those of the clicked button."""
    disabled = {
        element for fieldset in outermost(page.find("//fieldset[@disabled]")) for element in fieldset.iter(*_FIELDS)
    }
    for element in fields(page, form):
        if element is button:
            yield from _button(element)
        elif element.get("name") and element.get("disabled") is None and element not in disabled:
            yield from ((element.get("name"), value) for value in _sent(element))


def fields(page: Page, form: Any) -> Iterator[Any]:
    """Yield the form's own fields and buttons, wherever they stand."""
    name = form.get("id")
    yield from (element for element in form.iter(*_FIELDS, "button") if element.get("form") in (None, name))
    if name is not None:
        outside = set(page.find("//*[@form]")).difference(form.iter())
        yield from (
            element for element in page.find("//*[@form]") if element in outside and element.get("form") == name
        )


def changed(pairs: Iterable[tuple[str, str]], changes: Iterable[tuple[str, str | None]]) -> list[tuple[str, str]]:
    """Return names and values with some of them changed, those added that were not there, and those with none left out.

    >>> changed([("a", "1"), ("b", "2"), ("d", "0")], [("b", "3"), ("c", "4"), ("d", None)])
    [('a', '1'), ('b', '3'), ('c', '4')]
    """
    found = list(pairs)
    for name, value in changes:
        if value is None:
            found = [pair for pair in found if pair[0] != name]
        elif all(own != name for own, _ in found):
            found.append((name, value))
        else:
            found = [(own, value if own == name else given) for own, given in found]
    return found


# What each element sends


def _button(element: Any) -> list[tuple[str, str]]:
    name = element.get("name") or ""
    if (element.get("type") or "").lower() == "image":
        return [(f"{name}.{place}" if name else place, "0") for place in ("x", "y")]
    return [(name, element.get("value") or "")] if name else []


def _sent(element: Any) -> list[str]:
    if element.tag == "select":
        return _options(element)
    if element.tag not in _FIELDS:
        return []
    if element.tag == "textarea":
        return ["".join(element.itertext()).removeprefix("\n")]
    kind = (element.get("type") or "text").strip().lower()
    if kind in _NEVER_SENT:
        return []
    if kind in ("checkbox", "radio"):
        return [element.get("value", "on")] if element.get("checked") is not None else []
    return ["" if kind == "file" else element.get("value") or ""]


def _options(select: Any) -> list[str]:
    options = [element for element in select.iter("option") if element.get("disabled") is None]
    chosen = [option for option in options if option.get("selected") is not None]
    if select.get("multiple") is None:
        chosen = chosen[-1:] or (options[:1] if select.get("size") in (None, "", "0", "1") else [])
    return [value_of(item) for item in chosen]


def value_of(option: Any) -> str:
    """Return what an ``<option>`` sends."""
    return str(option.get("value", " ".join("".join(option.itertext()).split())))


# How it is written


def _accepted(form: Any) -> str | None:
    return next((name for part in (form.get("accept-charset") or "")[:200].split() if (name := codec(part))), None)


def _encoded(pairs: Iterable[tuple[str, str]], encoding: str) -> bytes:
    return b"&".join(_quoted(name, encoding) + b"=" + _quoted(value, encoding) for name, value in pairs)


def _quoted(text: str, encoding: str) -> bytes:
    return _UNSAFE.sub(lambda found: _WRITTEN[found[0][0]], _lines(text).encode(encoding, "xmlcharrefreplace"))


def _lines(text: str) -> str:
    return re.sub(r"\r\n?|\n", "\r\n", text)


def _multipart(url: str, pairs: Iterable[tuple[str, str]], encoding: str) -> Form:
    """Return a POST of multipart/form-data, whose boundary is the same for the same content: so is its fingerprint."""
    parts = [
        b'Content-Disposition: form-data; name="%b"\r\n\r\n%b\r\n'
        % tuple(
            part.encode(encoding, "xmlcharrefreplace") for part in (_lines(name).translate(_ESCAPED), _lines(value))
        )
        for name, value in pairs
    ]
    boundary = f"form-{sha256(b''.join(parts)).hexdigest()}"
    line = f"--{boundary}".encode()
    body = b"".join(b"%b\r\n%b" % (line, part) for part in parts) + line + b"--\r\n"
    return Form(url, body, "POST", f"{_MULTIPART}; boundary={boundary}")
