"""XPath with a limit of time: libxml2 has none, and notices no signal while it evaluates."""

from __future__ import annotations

import os
import re
import threading
import time
from functools import lru_cache
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import AnswerError

if TYPE_CHECKING:
    from lxml import etree

XPATH_SECONDS = 10.0
"""CPU seconds that one evaluation may take."""

_WANDERS = re.compile(r"//|\.\.|\b(?:ancestor|descendant|following|preceding|parent)\b|(?<=[\[(,=<>+|])\s*/")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_LOOK = 0.2
_given_up: set[str] = set()


def evaluate(compiled: etree.XPath, node: Any, xpath: str) -> Any:
    """Return what a compiled XPath finds.

    One that may take more than linear time is evaluated in a thread, which then waits for the next one: to start a
    thread takes ten times as long as most XPaths. A thread that takes too long can't be stopped: it is left behind,
    the XPath is not evaluated again, and the thread ends with the process.

    Args:
        xpath: the expression as written.

    Raises:
        AnswerError: ``xpath``: it took longer than `XPATH_SECONDS`, now or before.
        XPathError: it can't be evaluated.
    """
    if not may_be_slow(xpath):
        return compiled(node)
    if xpath in _given_up:
        raise _too_slow(xpath)
    evaluator = _idle.pop() if _idle else _Evaluator()
    try:
        found, error = evaluator.evaluate(compiled, node)
    except TimeoutError:
        _given_up.add(xpath)
        raise _too_slow(xpath) from None
    _idle.append(evaluator)
    if error:
        raise error
    return found


def _too_slow(xpath: str) -> AnswerError:
    return AnswerError("xpath", f"the XPath {xpath} takes more than {XPATH_SECONDS:g} s on a page: make it simpler")


@lru_cache(maxsize=2048)
def may_be_slow(xpath: str) -> bool:
    """Return whether an XPath searches the page more than once: its time may grow faster than the page.

    >>> may_be_slow("//ul[@id='a//b']/li[3]/a"), may_be_slow("descendant-or-self::h1")
    (False, False)
    >>> may_be_slow("//div[.//h2]"), may_be_slow("//li[count(../li) > 1]"), may_be_slow("//a[count(/html/body/p) > 1]")
    (True, True, True)
    """
    return len(_WANDERS.findall(_QUOTED.sub("''", xpath))) > 1


class _Evaluator:
    """A thread that evaluates one XPath after the other."""

    def __init__(self) -> None:
        self._asked: SimpleQueue[tuple[etree.XPath, Any]] = SimpleQueue()
        self._answers: SimpleQueue[tuple[Any, Exception | None]] = SimpleQueue()
        thread = threading.Thread(target=self._answer, daemon=True)
        thread.start()
        self._clock = time.pthread_getcpuclockid(thread.ident or 0)

    def evaluate(self, compiled: etree.XPath, node: Any) -> tuple[Any, Exception | None]:
        """Return what the XPath finds, or its error.

        Raises:
            TimeoutError: it took too long of the thread's own CPU time: a busy machine takes nothing from it.
        """
        end = time.clock_gettime(self._clock) + XPATH_SECONDS
        self._asked.put((compiled, node))
        while time.clock_gettime(self._clock) <= end:
            try:
                return self._answers.get(timeout=_LOOK)
            except Empty:
                continue
        raise TimeoutError

    def _answer(self) -> None:
        while True:
            self._answers.put(_tried(*self._asked.get()))


def _tried(compiled: etree.XPath, node: Any) -> tuple[Any, Exception | None]:
    try:
        return compiled(node), None
    except Exception as error:  # noqa: BLE001 -- it is raised where the XPath was asked for
        return None, error


_idle: list[_Evaluator] = []
os.register_at_fork(after_in_child=_idle.clear)  # a thread does not come along into a child
