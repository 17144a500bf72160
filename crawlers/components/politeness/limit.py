"""How fast a host may be asked, as its refusals teach: additive increase, multiplicative decrease."""

from __future__ import annotations

from collections import deque
from math import inf

_GOOD = 20  # accepted requests in a row before the rate rises a little
_STEPS = 20  # so often the rate rises until it is what it was when the host refused, and half of that was taken away
_SLOWEST = 1 / 60  # requests a second
_UNKNOWN = 2.0  # requests a second, of a host that has answered once


class Limit:
    """Of one host, for the rest of the run.

    Attributes:
        rate: requests a second at most; infinite as long as the host has refused nothing.
    """

    def __init__(self) -> None:
        self.rate = inf
        self._step = 0.0
        self._has_risen = True  # since the last refusal
        self._good = 0
        self._lowered = -inf
        self._answers: deque[float] = deque(maxlen=20)

    @property
    def delay(self) -> float:
        """Seconds between two requests; 0 without a limit."""
        return 1 / self.rate

    def accept(self, now: float) -> bool:
        """Record an accepted request, and return whether the rate has risen.

        Args:
            now: on a clock that never goes back, in seconds.
        """
        self._answers.append(now)
        self._good += self.rate < inf
        if self._good < _GOOD:
            return False
        self._good, self._has_risen = 0, True
        self.rate += self._step
        return True

    def refuse(self, now: float, sent: float, delay: float) -> bool:
        """Take note of a refusal, and return whether the rate was halved: once for all that was under way.

        Args:
            sent: when the request was made.
            delay: current seconds between two requests; 0 means no limit.
        """
        self._answers.append(now)
        if sent < self._lowered:
            return False
        rate = 1 / delay if delay > 0 else self._observed()
        self.rate = max(rate / 2, _SLOWEST)
        if self._has_risen:  # else every refusal of one outage would also halve the steps of the recovery
            self._step = rate / _STEPS
        self._good, self._lowered, self._has_risen = 0, now, False
        return True

    def _observed(self) -> float:
        """Answers a second lately."""
        seconds = self._answers[-1] - self._answers[0]
        return (len(self._answers) - 1) / seconds if seconds > 0 else _UNKNOWN
