"""How a page is turned: by a button, a numbered one, by scrolling, by the rules' own JavaScript.

The turns that a request needs are plain data, which can be stored, repeated and compared.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, Self

from playwright.async_api import Error
from playwright.async_api import TimeoutError as BrowserTimeoutError

from crawlers.components.browser.page import SCRIPTS
from crawlers.exceptions import AnswerError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from playwright.async_api import ElementHandle

    from crawlers.components.browser.page import End, LivePage, State


Kind = Literal["button", "buttons", "scroll", "script"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turning:
    """``request.meta["browser"]``: the page at the request's address, after some turns.

    Args:
        kind: how the page is turned; ``None`` if it is not.
        texts: of the button; any of them matches.
        xpath: of the button, or of the pager that the numbered buttons are in.
        script: the JavaScript that turns the page; it returns ``false`` if there is no further one.
        first: the number of the page that the address leads to.
        step: what is added for each page.
        wait: the seconds that a page may take to change.
        times: how many turns.
    """

    kind: Kind | None = None
    texts: tuple[str, ...] = ()
    xpath: str | None = None
    script: str | None = None
    first: int = 1
    step: int = 1
    wait: float = 10.0
    times: int = 0

    @classmethod
    def from_meta(cls, meta: Mapping[str, Any]) -> Self:
        """
        >>> Turning.from_meta({"kind": "button", "text": "Weiter", "times": 2}).texts
        ('Weiter',)
        """
        known = {field.name for field in fields(cls)} - {"texts"}
        texts = tuple(meta.get("texts") or ()) or ((meta["text"],) if meta.get("text") else ())
        given = {name: value for name, value in meta.items() if name in known and value is not None}
        return cls(texts=texts, **given)

    @property
    def turns(self) -> int:
        """How many turns, none without a kind."""
        return max(0, self.times) if self.kind else 0

    @property
    def way(self) -> str:
        """What two requests have in common that differ only in the number of turns."""
        return json.dumps({**asdict(self), "times": None, "wait": None}, sort_keys=True)


_LOOKS = 10  # at a button that is not there yet, a tenth of a second apart
_CLICK = 2.0  # seconds until what covers a button is ignored, a cookie banner say
_DRAWN = 0.3  # seconds until a page knows what is in sight
_LOW = 1  # pixel
_AFTER = 1.0  # seconds in which the answer comes that made a script fail
_BLOCKS = 50  # of numbered buttons, on the way to one


async def turn(live: LivePage, turning: Turning) -> End | None:
    """Turn the page once; return why there is no further page, if so.

    Raises:
        AnswerError: the XPath or the script cannot be run in a browser, or the script fails.
    """
    if turning.kind == "button":
        return await _button(live, turning, _want(turning, "button"))
    if turning.kind == "buttons":
        return await _numbered(live, turning)
    if turning.kind == "scroll":
        return await _scroll(live, turning)
    return await _script(live, turning)


def _want(turning: Turning, what: str, number: int = 0) -> dict[str, Any]:
    known = {"what": what, "number": number, "step": turning.step}
    return {**known, "texts": list(turning.texts), "xpath": turning.xpath}


async def _button(live: LivePage, turning: Turning, want: dict[str, Any], looks: int = _LOOKS) -> End | None:
    button: ElementHandle | End = "gone"
    for _ in range(looks):
        before, button = await live.state(), await _found(live, want)
        if not isinstance(button, str) and await _click(button):
            live.clicked = button
            return None if await live.settled(turning.wait, before) else "unchanged"
        await asyncio.sleep(0.1)
    return button if isinstance(button, str) else "gone"


async def _clicked(live: LivePage) -> ElementHandle | None:
    try:
        is_there = live.clicked is not None and await live.clicked.evaluate("button => button.isConnected")
    except Error:  # another page was loaded
        return None
    return live.clicked if is_there else None


async def _found(live: LivePage, want: dict[str, Any]) -> ElementHandle | Any:
    try:
        handle = await live.page.evaluate_handle(SCRIPTS["find"], {**want, "clicked": await _clicked(live)})
    except Error as error:
        if "Failed to execute 'evaluate'" in error.message:
            sentence = f"a browser can't evaluate the XPath {want['xpath']!r}"
            raise AnswerError("paging", sentence) from error
        raise
    return handle.as_element() or await handle.json_value()


async def _click(button: ElementHandle) -> bool:
    """Click as a person would, or as a script where something covers the button; return whether the button was there.

    Click only once: a second click would leave out a page.
    """
    try:
        await button.click(timeout=_CLICK * 1000, trial=True)
    except Error as error:
        if "not attached" in error.message:
            return False
        await button.evaluate("button => button.click()")
    else:
        with suppress(BrowserTimeoutError):
            await button.click(timeout=_CLICK * 1000, force=True)
    return True


async def _numbered(live: LivePage, turning: Turning) -> End | None:
    number = turning.first + (live.turns + 1) * turning.step
    for block in range(_BLOCKS):
        end = await _button(live, turning, _want(turning, "number", number), looks=3)
        if end == "unchanged" and block and not live.gate.refused and not live.traffic.pending:
            return None  # the dots have shown it
        if end != "gone":
            return end
        end = await _button(live, turning, _want(turning, "dots", number), looks=1)
        if end:
            return end
        if await _found(live, _want(turning, "current", number)) is True:
            return None
    return "gone"


async def _scroll(live: LivePage, turning: Turning) -> End | None:
    before = await live.state()
    looks = max(2, min(4, int(turning.wait)))
    for look in range(looks):
        await live.page.bring_to_front()  # a page that was opened meanwhile may be in front
        if look == looks - 1:
            await _squeeze(live)
        await live.page.evaluate(SCRIPTS["scroll"], arg=False)
        if await live.settled(turning.wait / looks, before):
            return None
        await live.page.evaluate(SCRIPTS["scroll"], arg=True)  # some pages look only when the bottom comes into view
        await asyncio.sleep(_DRAWN)
    return "unchanged"


async def _squeeze(live: LivePage) -> None:
    """Make the window low for a moment: if all of the page is in sight, nothing else can come into sight."""
    size = live.page.viewport_size
    if size:
        await live.page.set_viewport_size({"width": size["width"], "height": _LOW})
        await live.page.evaluate(SCRIPTS["scroll"], arg=True)
        await asyncio.sleep(_DRAWN)
        await live.page.set_viewport_size(size)


async def _script(live: LivePage, turning: Turning) -> End | None:
    before = await live.state()
    try:
        async with asyncio.timeout(turning.wait):
            answer = await _evaluated(live, turning.script or "false")
    except Error as error:
        if "Execution context was destroyed" in error.message:  # it leads to another page
            answer = None
        elif "SyntaxError" in error.message:
            raise AnswerError("paging", f"paging.script is not JavaScript: {_first(error)}") from error
        else:
            await _failed(live, error, before)
            return None
    except TimeoutError:
        answer = None  # the page shows whether it did anything
    if answer is False:
        return "false"
    return None if await live.settled(turning.wait, before) else "unchanged"


async def _failed(live: LivePage, error: Error, before: State | None) -> None:
    """Raise the script's error, unless it failed because of a missing answer, which may come a moment later."""
    await live.settled(_AFTER, before)
    if not live.traffic.lacking:
        raise AnswerError("paging", f"paging.script failed: {_first(error)}") from error


async def _evaluated(live: LivePage, script: str) -> Any:
    try:
        return await live.page.evaluate(script)
    except Error as error:
        if "Illegal return" not in error.message and "await is only valid" not in error.message:
            raise
        return await live.page.evaluate(f"async () => {{ {script}\n }}")


def _first(error: Error) -> str:
    return error.message.partition("\n")[0].removeprefix("Page.evaluate: ")
