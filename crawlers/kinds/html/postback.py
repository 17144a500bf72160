"""Pagers that are forms, without a browser: a select of pages, and what a page number's script of ASP.NET would post.

``__doPostBack(target, argument)`` posts the page's form with both in hidden fields; the form's other fields carry the
server's state (``__VIEWSTATE``, ``__EVENTVALIDATION`` ...).
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from crawlers.kinds.html import words
from crawlers.kinds.html.form import Form, filled
from crawlers.kinds.html.links import outermost
from crawlers.kinds.html.paging import PAGER, best, cell_of, is_in, is_off, page_number, texts
from crawlers.records.html_page import text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from crawlers.kinds.html.rules.rules import Paging
    from crawlers.records.html_page import Page

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
_MOVES = re.compile(r"location|__doPostBack|submit", re.IGNORECASE)
_PREFIX = re.compile(r"""location(?:\.href)?\s*=\s*["']([^"']{1,500})["']\s*\+\s*(?:this|event\.target)\b""")
_MOST = 2000  # parts of a row of a pager
_CONTROLS = (
    "descendant-or-self::*[contains(@href, '__doPostBack') or contains(@onclick, '__doPostBack')"
    " or contains(@href, 'WebForm_PostBackOptions') or contains(@onclick, 'WebForm_PostBackOptions')"
    " or self::input[@type='submit' or @type='image' or @type='SUBMIT'] or self::button[not(@type) or @type='submit']]"
)


@dataclass(frozen=True, slots=True)
class _Control:
    """What a click on an element posts.

    Args:
        target: the control's name at the server; "" for a button, which posts its own name.
        action: where to, if not to the form's own address.
    """

    element: Any
    texts: tuple[str, ...]
    target: str = ""
    argument: str = ""
    action: str = ""

    @property
    def number(self) -> int | None:
        return next((item for item in map(page_number, self.texts) if item is not None), None)

    @property
    def page(self) -> str:
        """The page that a GridView's argument names: a number, or Next, Prev, First, Last; "" for none."""
        found = _PAGE.fullmatch(self.argument)
        return found[1] if found else ""


def postback(page: Page, paging: Paging, number: int, encoding: str | None = None) -> Form | None:
    """Return the form that loads the page with this number from the page before it; ``None`` if there is none.

    The pager's control is the one with the number, else the one whose argument is ``Page$number``, else the one with
    "next", else the ``...`` behind a lower number and before no other. ``paging.text`` and ``paging.xpath`` name the
    control or pager that counts.

    Args:
        encoding: that the page came in; what it declares itself when it is ``None``.
    """
    control = _chosen(page, paging, number)
    if control is None:
        return None
    form = _form_of(page, control)
    return None if form is None else _filled(page, form, control, encoding)


def offered(page: Page) -> list[int]:
    """Return the numbers of the pages that a pager of forms leads to.

    It shows the page's own number among them, or its arguments name pages: other numbers may be anything.
    """
    rows = _rows(list(_controls(page, page.root)))
    return [number for row in rows if row.score and row.is_pager for _, number in row.numbers]


def chosen_option(page: Page, select: Any, value: str, encoding: str | None = None) -> Form | None:
    """Return what a ``<select>`` asks for when this option is chosen in it; ``None`` when it is in no form.

    Args:
        value: the option's.
        encoding: that the page came in; what it declares itself when it is ``None``.
    """
    script = (select.get("onchange") or "")[:_LONGEST].replace("\\'", "'")
    found = _CALL.search(script)
    target, argument, *_ = [*(_values(script, found.end()) if found else []), "", ""]
    control = _Control(select, (), target, argument)
    is_alone = not target and select.get("form") is None and next(select.iterancestors("form"), None) is None
    form = None if is_alone else _form_of(page, control)
    return None if form is None else _filled(page, form, control, encoding, value)


# The control


def _chosen(page: Page, paging: Paging, number: int) -> _Control | None:
    found = [page.root] if paging.xpath is None else page.find(paging.xpath)
    roots = [item for item in found if not isinstance(item, str)]
    controls = [control for root in outermost(roots) for control in _controls(page, root)]
    if paging.text is not None and paging.text not in words.ELLIPSIS:
        return best(controls, paging.text)
    if paging.xpath is not None and len(controls) == 1 and controls[0].element in roots and _is_nameless(controls[0]):
        return controls[0]
    rows = _rows(controls)
    return (
        _numbered(rows, number)
        or next((control for control in controls if control.page in ("Next", str(number))), None)
        or _next(controls)
        or _dots(rows, number)
    )


def _controls(page: Page, root: Any) -> Iterator[_Control]:
    for element in page.find(_CONTROLS, root):
        if is_off(element):
            continue
        control = _scripted(element)
        if control is None and element.tag in ("input", "button"):
            control = _Control(element, texts(element))
        if control is not None and not _NO_PAGER.match(control.argument):
            yield control


def _scripted(element: Any) -> _Control | None:
    """Return the control that an element's script posts the form for."""
    for script in (unquote((element.get("href") or "")[:_LONGEST]), (element.get("onclick") or "")[:_LONGEST]):
        found = _CALL.search(script)
        if found:
            target, argument, _, _, action, *_ = [*_values(script, found.end()), *[""] * 5]
            return _Control(element, texts(element), target, argument, action) if target else None
    return None


def _values(script: str, at: int) -> list[str]:
    r"""Return the first seven arguments of a call; ``""`` for those that are not texts.

    >>> _values(r"'a$b', 'Page$\u0032', true, '')", 0)
    ['a$b', 'Page$2', '', '']
    """
    values: list[str] = []
    while len(values) < 7 and (found := _VALUE.match(script, at)):
        values.append(_ESCAPE.sub(_unescaped, found[1] or found[2] or ""))
        at = found.end()
    return values


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else found[3]


def _is_nameless(control: _Control) -> bool:
    """Return whether a control's text shows nothing about where it leads, so that the rules' selector decides."""
    return control.number is None and not _is_dots(control) and not any(map(words.says_back, control.texts))


# The pager: a row of controls and bare numbers


@dataclass(frozen=True, slots=True)
class _Row:
    """
    Args:
        parts: the numbers and controls of a row in their order; a bare number is the page's own.
    """

    parts: Sequence[int | _Control]

    @property
    def numbers(self) -> list[tuple[int, int]]:
        """Where in the row there are numbers, and which."""
        both = [(at, part if isinstance(part, int) else part.number) for at, part in enumerate(self.parts)]
        return [(at, number) for at, number in both if number is not None]

    @property
    def is_pager(self) -> bool:
        """Whether it has this page's own number between those of others, or names pages."""
        is_bare = any(isinstance(part, int) for part in self.parts)
        return is_bare or any(part.page for part in self.parts if isinstance(part, _Control))

    @property
    def score(self) -> int:
        """How much it is like a pager: consecutive numbers, and arguments that name pages."""
        numbers = [number for _, number in self.numbers]
        follow = sum(1 for item, other in pairwise(numbers) if other == item + 1)
        return follow + sum(1 for part in self.parts if isinstance(part, _Control) and part.page)


def _rows(controls: Sequence[_Control]) -> list[_Row]:
    """Return the row that is most like a pager, or the rows above and below the list."""
    places: defaultdict[Any, dict[Any, _Control]] = defaultdict(dict)
    for control in controls:
        if control.number is not None or _is_dots(control):
            cell = cell_of(control.element)
            places[cell.getparent()][cell] = control
    rows = [_Row(list(_parts(place, cells))) for place, cells in places.items() if place is not None]
    best = max((row.score for row in rows), default=0)
    return [row for row in rows if row.score == best and len(row.parts) > 1]


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


def _numbered(rows: Iterable[_Row], number: int) -> _Control | None:
    found = (part for row in rows for part in row.parts if isinstance(part, _Control) and part.number == number)
    return next(found, None)


def _next(controls: Sequence[_Control]) -> _Control | None:
    """Return the control with "next" as a word or sign; more than two such belong to the list, not to a pager."""
    forward = [control for control in controls if not any(map(words.says_back, control.texts))]
    for found in (
        [item for item in forward if any(map(words.says_next, item.texts))],
        [item for item in forward if words.SINGLE.intersection(item.texts)],
        [item for item in forward if words.DOUBLE.intersection(item.texts)],
    ):
        if found:
            return found[0] if len(found) <= 2 else None
    return None


def _is_dots(control: _Control) -> bool:
    return any(text in words.ELLIPSIS for text in control.texts)


def _dots(rows: Iterable[_Row], number: int) -> _Control | None:
    """Return the ``...`` behind a lower number that has no further number behind it: the one before leads back."""
    for row in rows:
        numbers = row.numbers
        if numbers and max(value for _, value in numbers) < number:
            behind = [part for part in row.parts[numbers[-1][0] + 1 :] if isinstance(part, _Control) and _is_dots(part)]
            if behind:
                return behind[0]
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

    @property
    def last(self) -> int:
        """Return how many pages there are."""
        return len(self.values)


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


def turned(page: Page, found: Dropdown, number: int, encoding: str | None = None) -> Form | None:
    """Return what choosing a page asks for: an address that the option has, or the form that is sent with it.

    Args:
        number: the wanted page's.
        encoding: that the page came in.
    """
    if number > found.last:
        return None
    value = found.values[number - 1]
    prefix = _PREFIX.search((found.element.get("onchange") or "")[:2000])
    if prefix or "/" in value or "?" in value:
        address = page.absolute(prefix[1] + value if prefix else value)
        return Form(address, b"") if address else None
    return chosen_option(page, found.element, value, encoding)


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


# The form


def _form_of(page: Page, control: _Control) -> Any | None:
    """Return the form that the control is in or belongs to, or the one with the server's state."""
    name = control.element.get("form")
    if name is not None:
        return next((element for element in page.find("//form") if element.get("id") == name), None)
    around = next(control.element.iterancestors("form"), None)
    if around is not None:
        return around
    forms = [*page.find("//input[@name='__VIEWSTATE']/ancestor::form[1]"), *page.find("//form")]
    return forms[0] if forms else None


def _filled(page: Page, form: Any, control: _Control, encoding: str | None, chosen: str | None = None) -> Form | None:
    changes: list[tuple[str, str | None]] = [] if chosen is None else [(control.element.get("name") or "", chosen)]
    if control.target:
        changes += [("__EVENTTARGET", control.target), ("__EVENTARGUMENT", control.argument)]
    return filled(
        page,
        form,
        changes=changes,
        button=control.element,
        encoding=encoding,
        action=control.action,
        is_scripted=bool(control.target),
    )
