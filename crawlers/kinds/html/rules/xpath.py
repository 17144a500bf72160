"""XPath with a limit of time: libxml2 has none, and notices no signal while it evaluates."""

from __future__ import annotations

import re
import threading
import time
from functools import lru_cache
from typing import Any

from lxml import etree

from crawlers.exceptions import AnswerError

XPATH_SECONDS = 10.0
"""CPU seconds that one evaluation may take."""

_WANDERS = re.compile(r"//|\.\.|\b(?:ancestor|descendant|following|preceding|parent)\b|(?<=[\[(,=<>+|])\s*/")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_LOOK = 0.2
_given_up: set[str] = set()


def evaluate(compiled: etree.XPath, node: Any, xpath: str) -> Any:
    """Return what a compiled XPath finds.

    One that may take more than linear time is evaluated in a thread of its own. A thread that takes too long can't be
    stopped: it is left behind, the XPath is not evaluated again, and the thread ends with the process.

    Args:
        xpath: the expression as written.

    Raises:
        AnswerError: ``xpath``: it took longer than `XPATH_SECONDS`, now or before.
        XPathError: it can't be evaluated.
    """
    if not may_be_slow(xpath):
        return compiled(node)
    evaluation = _Evaluation(compiled, node)
    if xpath in _given_up or not evaluation.is_done():
        _given_up.add(xpath)
        raise AnswerError("xpath", f"the XPath {xpath} takes more than {XPATH_SECONDS:g} s on a page: make it simpler")
    if evaluation.error:
        raise evaluation.error
    return evaluation.found


@lru_cache(maxsize=2048)
def may_be_slow(xpath: str) -> bool:
    """Return whether an XPath searches the page more than once: its time may grow faster than the page.

    >>> may_be_slow("//ul[@id='a//b']/li[3]/a"), may_be_slow("descendant-or-self::h1")
    (False, False)
    >>> may_be_slow("//div[.//h2]"), may_be_slow("//li[count(../li) > 1]"), may_be_slow("//a[count(/html/body/p) > 1]")
    (True, True, True)
    """
    return len(_WANDERS.findall(_QUOTED.sub("''", xpath))) > 1


class _Evaluation:
    """An evaluation in a thread."""

    def __init__(self, compiled: etree.XPath, node: Any) -> None:
        self.compiled = compiled
        self.node = node
        self.found: Any = None
        self.error: etree.XPathError | None = None
        self.clock: int | None = None
        self.ended = threading.Event()

    def is_done(self) -> bool:
        """Evaluate; return whether that came to its end in time."""
        threading.Thread(target=self._evaluate, daemon=True).start()
        while not self.ended.wait(_LOOK):
            if self._seconds() > XPATH_SECONDS:
                return False
        return True

    def _evaluate(self) -> None:
        self.clock = time.pthread_getcpuclockid(threading.get_ident())
        try:
            self.found = self.compiled(self.node)
        except etree.XPathError as error:
            self.error = error
        finally:
            self.ended.set()

    def _seconds(self) -> float:
        """Of the thread's own CPU time: a busy machine takes nothing from it."""
        try:
            return 0.0 if self.clock is None else time.clock_gettime(self.clock)
        except OSError:
            return 0.0  # the thread has just ended
