"""How much of a page is read."""

from __future__ import annotations


class Allowance:
    """
    >>> allowance = Allowance(3)
    >>> allowance.take(2), allowance.take(2), allowance.take(0)
    (True, False, False)
    """

    __slots__ = ("left",)

    def __init__(self, most: int) -> None:
        self.left = most

    def take(self, amount: int = 1) -> bool:
        """Whether so much was still left; once it was not, nothing is."""
        self.left = max(-1, self.left - amount)
        return self.left >= 0

    @property
    def spent(self) -> bool:
        return self.left < 0
