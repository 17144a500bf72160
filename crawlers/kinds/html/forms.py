"""What a browser sends for an HTML form: HTML, 4.10.21.4, "constructing the entry list".

The form is read here and not by form2request, which needs lxml's own form elements, sends disabled fields and
``type=button``, and knows no encoding but UTF-8.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from crawlers.exceptions import AnswerError
from crawlers.kinds.html import words
from crawlers.kinds.html.links import charset, outermost
from crawlers.kinds.html.paging import PAGER, SIZE, Turner, best, cell_of, is_in, is_off, page_number, texts
from crawlers.records.html_page import text
from crawlers.safety.text import codec, widened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from crawlers.kinds.html.rules import Paging, SearchForm
    from crawlers.records.html_page import Page


URLENCODED = "application/x-www-form-urlencoded"
_MULTIPART = "multipart/form-data"
_FIELDS = ("input", "select", "textarea")
_NEVER_SENT = frozenset(("submit", "image", "button", "reset"))
_UNSAFE = re.compile(rb"[^A-Za-z0-9*._-]")
_WRITTEN = {byte: b"+" if byte == 0x20 else b"%%%02X" % byte for byte in range(256)}
_ESCAPED = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A"})  # in a name of multipart/form-data
_CALL = re.compile(r"(?:__doPostBack|WebForm_PostBackOptions)\s*\(")
_VALUE = re.compile(r"""\s*(?:"((?:[^"\\]|\\.){0,2000})"|'((?:[^'\\]|\\.){0,2000})'|\w{1,20})\s*[,)]""")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|(.))")
_PAGE = re.compile(r"Page\$(\d{1,9}|Next|Prev|First|Last)")
_NO_PAGER = re.compile(r"(?:Select|Edit|Delete|Update|Cancel|New|Insert|Sort)\$")
_LONGEST = 8192  # characters of a script in an attribute
_OPTIONS = 10_000  # of a select
_RANGE = re.compile(r"\D{0,20}(\d{1,9})\s*(?:[-–—]|\.\.\.?|\w{1,5})\s*(\d{1,9})\D{0,20}")
_OF = re.compile(r"\D{0,20}(\d{1,9})\s*(?:/|\w{1,5})\s*(\d{1,9})\D{0,20}")
_NAMED = re.compile(r"(?:^|[^a-z])(?:page|pg|p|seite|pagina|strona|strana|side|sida|start|offset|skip)(?:$|[^a-z])")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_MOVES = re.compile(r"location|__doPostBack|submit", re.IGNORECASE)
_PREFIX = re.compile(r"""location(?:\.href)?\s*=\s*["']([^"']{1,500})["']\s*\+\s*(?:this|event\.target)\b""")
_MOST = 2000  # parts of a row of a pager
_CONTROLS = (
    "descendant-or-self::*[contains(@href, '__doPostBack') or contains(@onclick, '__doPostBack')"
    " or contains(@href, 'WebForm_PostBackOptions') or contains(@onclick, 'WebForm_PostBackOptions')"
    " or self::input[@type='submit' or @type='image' or @type='SUBMIT'] or self::button[not(@type) or @type='submit']]"
)
_MOST_FORMS = 20  # of a page
FILLED_IN = (
    ".//textarea | .//select[not(.//option[@selected])]"
    " | .//input[not(@type='hidden' or @type='submit' or @type='button' or @type='image' or @type='reset')]"
)
"""What people fill in in a form; a choice that is made is no question."""


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
    action: str = "",
    is_scripted: bool = False,
    is_multipart: bool = False,
) -> Form | None:
    """Return the request that a form makes when a button is clicked; ``None`` if it leads to no web address.

    Args:
        changes: names with the values that they send instead, or besides; ``None`` for a field that is not sent.
        button: the clicked element: its name is sent, and its ``formaction`` and ``formmethod`` count.
        action: where to, instead of the form's own address.
        is_scripted: whether a script submits the form, so that the clicked element's name is not sent.
        is_multipart: whether the body is multipart/form-data where the form asks for it.
    """
    target = (action or _attribute(form, button, "action")).strip()
    if (url := page.absolute(target) if target else page.url) is None:
        return None
    pairs = changed(entries(page, form, None if is_scripted else button), changes)
    accepted = (form.get("accept-charset") or "")[:200].split()
    written = next((widened(found) for found in map(codec, accepted) if found), None) or charset(page)
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
        name, is_clicked = element.get("name") or "", element is button
        if is_clicked and (element.get("type") or "").lower() == "image":
            yield from ((f"{name}.{place}" if name else place, "0") for place in ("x", "y"))
        elif is_clicked:
            yield from [(name, element.get("value") or "")] if name else []
        elif name and element.get("disabled") is None and element not in disabled:
            yield from ((name, value) for value in _sent(element))


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


# Pagers that are forms, without a browser: ``__doPostBack(target, argument)`` of ASP.NET posts the page's form with
# both in hidden fields; the form's other fields carry the server's state (``__VIEWSTATE``, ``__EVENTVALIDATION`` ...).


@dataclass(frozen=True, slots=True)
class _Control(Turner):
    """What a click on an element posts.

    Args:
        target: the control's name at the server; "" for a button, which posts its own name.
        action: where to, if not to the form's own address.
    """

    target: str = ""
    argument: str = ""
    action: str = ""

    @property
    def page(self) -> str:
        """The page that a GridView's argument names: a number, or Next, Prev, First, Last; "" for none."""
        found = _PAGE.fullmatch(self.argument)
        return found[1] if found else ""


def postback(page: Page, paging: Paging, number: int) -> Form | None:
    """Return the form that loads the page with this number from the page before it; ``None`` if there is none.

    The pager's control is the one with the number, else the one whose argument is ``Page$number``, else the one with
    "next", else the ``...`` behind a lower number and before no other. ``paging.text`` and ``paging.xpath`` name the
    control or pager that counts.
    """
    control = _chosen(page, paging, number)
    return None if control is None else _posted(page, control)


def pressed(page: Page, paging: Paging, number: int, *, is_any: bool = True) -> Form | None:
    """Return what is sent by a button that turns the page, or by ``__doPostBack``; ``None`` if there is none.

    It is the one that ``paging.xpath`` names, or by ``paging.text``; else one with the number or "next". A number
    stands in a row with the page's own, or is sent by the name of a page: others rate, vote, or set a page's length.

    Args:
        is_any: whether a button of a form that is no pager's counts, too, by its text; not where links turn the pages.
    """
    if paging.xpath is not None:
        return postback(page, paging, number)
    every = list(_controls(page, page.root))
    mine = _of_pagers(page, every)
    if paging.text is not None and paging.text not in words.ELLIPSIS:
        others = [each for each in every if is_any and _is_safe(page, each)]
        control = best(mine, paging.text) or best(others, paging.text)
    else:
        listed = {part for row in _every_row(mine) if row.is_pager and row.score for part in row.controls}
        turns = [each for each, is_named in mine.items() if is_named or each.number is None or each in listed]
        control = _turning(turns, number)
    return _posted(page, control) if control else None


def _of_pagers(page: Page, controls: Iterable[_Control]) -> dict[_Control, bool]:
    """Return the controls that may turn pages, and whether what they send is called a page.

    A button's form leads to the page's own path and has nothing to fill in; one that posts sends the name of a page.
    """
    asking, hidden = dict[Any, bool](), dict[Any, list[str]]()
    found = dict[_Control, bool]()
    for each in controls:
        if each.target:
            found[each] = is_in(each.element, PAGER)
            continue
        form = _form(page, each.element)
        if form is None:
            continue
        if form not in asking:
            asking[form] = bool(page.find(FILLED_IN, form, limit=1))
            hidden[form] = [str(name) for name in page.find(".//input[@type='hidden']/@name", form)]
        action, own = _action(page, form, each.element), each.element.get("name") or ""
        sent = [own] if own and each.number is not None else [own, *hidden[form], *dict(parse_qsl(action.query))]
        is_named = any(map(_is_page, sent))
        if not asking[form] and action.path == urlsplit(page.url).path and (is_named or not _is_post(form, each)):
            found[each] = is_named
    return found


def _form(page: Page, element: Any) -> Any | None:
    """Return the form that an element is in, or names as its own."""
    name = element.get("form")
    if name is None:
        return next(element.iterancestors("form"), None)
    return next((form for form in page.find("//form") if form.get("id") == name), None)


def _action(page: Page, form: Any, button: Any) -> SplitResult:
    return urlsplit(page.absolute(_attribute(form, button, "action")) or page.url)


def _is_post(form: Any, control: _Control) -> bool:
    return _attribute(form, control.element, "method").strip().lower() == "post"


def _is_safe(page: Page, control: _Control) -> bool:
    """Return whether a button asks, or posts to the listing's own path: what posts elsewhere may subscribe or order."""
    form = _form(page, control.element)
    if form is None:
        return False
    return not _is_post(form, control) or _action(page, form, control.element).path == urlsplit(page.url).path


def _is_page(name: str) -> bool:
    """
    >>> _is_page("page"), _is_page("currentPage"), _is_page("vote"), _is_page("per_page"), _is_page("pageSize")
    (True, True, False, False, False)
    """
    written = _CAMEL.sub("_", name[:200]).lower()
    return bool(_NAMED.search(written)) and not SIZE.search(f"{written}=")


def posted_pages(page: Page) -> list[int]:
    """Return the numbers of the pages that a pager of forms leads to.

    It shows the page's own number among them, or its arguments name pages: other numbers may be anything.
    """
    rows = _rows(list(_controls(page, page.root)))
    return [number for row in rows if row.score and row.is_pager for _, number in row.numbers]


def chosen_option(page: Page, select: Any, value: str) -> Form | None:
    """Return what a ``<select>`` asks for when this option is chosen in it; ``None`` when it is in no form.

    Args:
        value: the option's.
    """
    script = (select.get("onchange") or "")[:_LONGEST].replace("\\'", "'")
    found = _CALL.search(script)
    target, argument, *_ = [*(_values(script, found.end()) if found else []), "", ""]
    control = _Control(select, (), target, argument)
    is_alone = not target and select.get("form") is None and next(select.iterancestors("form"), None) is None
    return None if is_alone else _posted(page, control, value)


# The control


def _chosen(page: Page, paging: Paging, number: int) -> _Control | None:
    found = [page.root] if paging.xpath is None else page.find(paging.xpath)
    roots = [item for item in found if not isinstance(item, str)]
    controls = [control for root in outermost(roots) for control in _controls(page, root)]
    if paging.text is not None and paging.text not in words.ELLIPSIS:
        return best(controls, paging.text)
    if paging.xpath is not None and len(controls) == 1 and controls[0].element in roots:
        only = controls[0]  # if its text says nothing about where it leads, the selector decides
        if only.number is None and not only.is_dots and not only.leads_back:
            return only
    return _turning(controls, number)


def _turning(controls: Sequence[_Control], number: int) -> _Control | None:
    """Return the control that turns to the page with this number from the page before it."""
    rows = _rows(controls)
    return (
        next((part for row in rows for part in row.controls if part.number == number), None)
        or next((control for control in controls if control.page in ("Next", str(number))), None)
        or _next(controls)
        or _dots(rows, number)
    )


def _controls(page: Page, root: Any) -> Iterator[_Control]:
    for element in page.find(_CONTROLS, root):
        control = None if is_off(element) else _scripted(element)
        if control is not None and not _NO_PAGER.match(control.argument):
            yield control


def _scripted(element: Any) -> _Control | None:
    """Return the control that an element's script posts the form for, else the button that it is."""
    for script in (unquote((element.get("href") or "")[:_LONGEST]), (element.get("onclick") or "")[:_LONGEST]):
        found = _CALL.search(script)
        if found:
            target, argument, _, _, action, *_ = [*_values(script, found.end()), *[""] * 5]
            if target:
                return _Control(element, texts(element), target, argument, action)
            break
    return _Control(element, texts(element)) if element.tag in ("input", "button") else None


def _values(script: str, at: int) -> list[str]:
    r"""Return the first seven arguments of a call; ``""`` for those that are not texts.

    >>> _values(r"'a$b', 'Page$\u0032', true, '')", 0)
    ['a$b', 'Page$2', '', '']
    """
    values: list[str] = []
    while len(values) < 7 and (found := _VALUE.match(script, at)):
        text = found[1] or found[2] or ""
        values.append(_ESCAPE.sub(lambda one: one[3] or chr(int(one[1] or one[2], 16)), text))
        at = found.end()
    return values


# The pager: a row of controls and bare numbers


@dataclass(frozen=True, slots=True)
class _Row:
    """
    Args:
        parts: the numbers and controls of a row in their order; a bare number is the page's own.
    """

    parts: Sequence[int | _Control]

    @property
    def controls(self) -> list[_Control]:
        return [part for part in self.parts if isinstance(part, _Control)]

    @property
    def numbers(self) -> list[tuple[int, int]]:
        """Where in the row there are numbers, and which."""
        both = [(at, part if isinstance(part, int) else part.number) for at, part in enumerate(self.parts)]
        return [(at, number) for at, number in both if number is not None]

    @property
    def is_pager(self) -> bool:
        """Whether it has this page's own number between those of others, or names pages."""
        return len(self.controls) < len(self.parts) or any(part.page for part in self.controls)

    @property
    def score(self) -> int:
        """How much it is like a pager: consecutive numbers, and arguments that name pages."""
        numbers = [number for _, number in self.numbers]
        follow = sum(1 for item, other in pairwise(numbers) if other == item + 1)
        return follow + sum(1 for part in self.controls if part.page)


def _rows(controls: Sequence[_Control]) -> list[_Row]:
    """Return the row that is most like a pager, or the rows above and below the list."""
    rows = _every_row(controls)
    best = max((row.score for row in rows), default=0)
    return [row for row in rows if row.score == best and len(row.parts) > 1]


def _every_row(controls: Iterable[_Control]) -> list[_Row]:
    places: defaultdict[Any, dict[Any, _Control]] = defaultdict(dict)
    for control in controls:
        if control.number is not None or control.is_dots:
            cell = cell_of(control.element)
            places[cell.getparent()][cell] = control
    return [_Row(list(_parts(place, cells))) for place, cells in places.items() if place is not None]


def _parts(place: Any, cells: dict[Any, _Control]) -> Iterator[int | _Control]:
    yield from _bare(place.text)
    for child in islice(place, _MOST):
        if child in cells:
            yield cells[child]
        elif isinstance(child.tag, str) and len(child) <= 1:
            yield from _bare("".join(islice(child.itertext(), 4)))
        yield from _bare(child.tail)


def _bare(text: str | None) -> Iterator[int]:
    number = page_number(text) if text and len(text) <= 20 and text.strip() else None
    if number is not None:
        yield number


def _next(controls: Sequence[_Control]) -> _Control | None:
    """Return the control with "next" as a word or sign; more than two such belong to the list, not to a pager."""
    forward = [control for control in controls if not control.leads_back]
    ranks = (
        [control for control in forward if control.says_next],
        [control for control in forward if words.SINGLE.intersection(control.texts)],
        [control for control in forward if words.DOUBLE.intersection(control.texts)],
    )
    found = next(filter(None, ranks), [])
    return found[0] if 0 < len(found) <= 2 else None


def _dots(rows: Iterable[_Row], number: int) -> _Control | None:
    """Return the ``...`` behind a lower number that has no further number behind it: the one before leads back."""
    for row in rows:
        numbers = row.numbers
        if numbers and max(value for _, value in numbers) < number:
            for part in row.parts[numbers[-1][0] + 1 :]:
                if isinstance(part, _Control) and part.is_dots:
                    return part
    return None


# A pager that is a select: each option is a page


@dataclass(frozen=True, slots=True)
class Dropdown:
    """
    Args:
        values: of the options, one for each page.
    """

    element: Any
    values: Sequence[str]


def dropdown(page: Page, number: int) -> Dropdown | None:
    """Return the page's ``<select>`` of pages.

    Its options are 1, 2, 3 ... or ranges that follow one another, the chosen one is this page, and it is called a
    pager or leads somewhere: a month or a page's size is none.

    Args:
        number: this page's own, from 1.
    """
    for element in page.find("//select"):
        options = [node for node in islice(element.iter("option"), _OPTIONS) if node.get("disabled") is None]
        chosen = next((at for at, option in enumerate(options) if option.get("selected") is not None), 0)
        if chosen == number - 1 and _turns_pages(element) and _are_pages([text(option) for option in options]):
            return Dropdown(element, [(option.get("value") or text(option)).strip() for option in options])
    return None


def turned(page: Page, found: Dropdown, number: int) -> Form | None:
    """Return what choosing a page asks for: an address that the option has, or the form that is sent with it.

    Args:
        number: the wanted page's.
    """
    if number > len(found.values):
        return None
    value = found.values[number - 1]
    prefix = _PREFIX.search((found.element.get("onchange") or "")[:2000])
    if prefix or "/" in value or "?" in value:
        address = page.absolute(prefix[1] + value if prefix else value)
        return Form(address, b"") if address else None
    return chosen_option(page, found.element, value)


def _turns_pages(element: Any) -> bool:
    named = f"{element.get('name') or ''} {element.get('id') or ''}"[:200].lower()
    return bool(
        _NAMED.search(named)
        or _MOVES.search((element.get("onchange") or "")[:2000])
        or is_in(element, PAGER)
        or any("?" in (node.get("value") or "") for node in islice(element.iter("option"), 3))
    )


def _are_pages(texts: Sequence[str]) -> bool:
    """
    >>> _are_pages(["1", "2", "3"]), _are_pages(["1 of 2", "2 of 2"]), _are_pages(["1-20", "21-40", "41-47"])
    (True, True, True)
    >>> _are_pages(["10", "20", "50"]), _are_pages(["2024", "2025"]), _are_pages(["1"])
    (False, False, False)
    """
    if len(texts) < 2:
        return False
    wanted = list(range(1, len(texts) + 1))
    if [page_number(shown) for shown in texts] == wanted:
        return True
    counted = [(int(found[1]), int(found[2])) for shown in texts if (found := _OF.fullmatch(shown))]
    if counted == [(item, len(texts)) for item in wanted]:
        return True
    ranges = [(int(found[1]), int(found[2])) for shown in texts if (found := _RANGE.fullmatch(shown))]
    follow = all(before[1] + 1 == after[0] for before, after in pairwise(ranges))
    return len(ranges) == len(texts) and ranges[0][0] in (0, 1) and follow


def _posted(page: Page, control: _Control, chosen: str | None = None) -> Form | None:
    """Return what is sent by the form that a control is in or belongs to, else by the one with the server's state."""
    form = _form(page, control.element)
    if form is None and control.element.get("form") is None:
        forms = [*page.find("//input[@name='__VIEWSTATE']/ancestor::form[1]"), *page.find("//form")]
        form = next(iter(forms), None)
    if form is None:
        return None
    changes: list[tuple[str, str | None]] = [] if chosen is None else [(control.element.get("name") or "", chosen)]
    if control.target:
        changes += [("__EVENTTARGET", control.target), ("__EVENTARGUMENT", control.argument)]
    return filled(
        page,
        form,
        changes=changes,
        button=control.element,
        action=control.action,
        is_scripted=bool(control.target),
    )


# The form that a listing is behind


def form_of(page: Page, rule: SearchForm) -> Any:
    """Return the form that the rules mean: by their selector, else by the fields, else the only one.

    Raises:
        AnswerError: there is none, or there are several.
    """
    forms = list(page.find("//form"))[:_MOST_FORMS]
    if rule.xpath:  # finds a form, or what is in or around one
        found = [element for element in page.find(rule.xpath) if not isinstance(element, str)][:_MOST_FORMS]
        around = "ancestor-or-self::form[1] | descendant::form"
        forms = list(dict.fromkeys(form for element in found for form in page.find(around, element)))[:_MOST_FORMS]
    names = {name for name, value in rule.fields if value is not None}
    has = {form: names & {element.get("name") for element in fields(page, form)} for form in forms}
    most = max(map(len, has.values()), default=0)
    best = [form for form in forms if len(has[form]) == most]
    if not best:
        raise AnswerError("paging", "the page has no form such as [form] names: look at it without JavaScript")
    if len(best) > 1 and rule.xpath is None:
        raise AnswerError("paging", f"the page has {len(best)} forms, say which: css or xpath in [form]")
    return best[0]


def button_of(page: Page, form: Any, wanted: str | bool | None) -> Any | None:
    """Return the button that is clicked: by name, by text, else the first, as a browser does on Enter.

    Raises:
        AnswerError: there is no such button.
    """
    buttons = []
    for element in fields(page, form):
        kind = (element.get("type") or ("submit" if element.tag == "button" else "")).strip().lower()
        if element.tag in ("input", "button") and kind in ("submit", "image") and element.get("disabled") is None:
            buttons.append(element)
    if not isinstance(wanted, str):
        return buttons[0] if buttons and wanted is None else None
    for element in buttons:
        if element.get("name") == wanted or any(words.alike(text, wanted) >= words.ALIKE for text in texts(element)):
            return element
    raise AnswerError("paging", f"the form has no button {wanted!r}")
