"""What the sizes of answers tell about the number of triples at which an endpoint cuts them without a word."""

from __future__ import annotations

COMMON = frozenset((1_000, 10_000, 50_000, 100_000, 1 << 20))
"""Where endpoints cut their answers: Virtuoso's ResultSetMaxRows is one of these as a rule."""
LOWEST = 250
"""Triples; no endpoint is known that cuts an answer of fewer."""
_PROOFS = 2


class RowLimit:
    """Learns from each answer what the limit can be.

    An endpoint that gave an answer of some size has no lower limit, so a smaller answer is not cut. One that is as
    large as the largest so far, or larger, may be.

    Attributes:
        cuts: the sizes at which answers are cut.
        largest: the size of the largest answer so far.
        proofs: how many answers of the largest size were counted and found whole.
    """

    def __init__(self) -> None:
        self.cuts = {*COMMON}
        self.largest = 0
        self.proofs = 0

    def may_cut(self, size: int) -> bool:
        """Return whether an answer of that size may have been cut; note its size."""
        was_largest = self.largest
        self._note(size)
        if size in self.cuts:
            return True
        return size >= max(LOWEST, was_largest) and self.proofs < _PROOFS

    def may_cut_uncounted(self, size: int) -> bool:
        """Return the same for an endpoint that does not count: an answer is cut at a size that is often met."""
        is_met_again = size >= LOWEST and size == self.largest
        self._note(size)
        if is_met_again:
            self.cuts.add(size)
        return size in self.cuts

    def counted(self, size: int, count: int) -> None:
        """Note how many triples an answer of some size should have had."""
        if size < count:
            self.cuts.add(size)
        elif size == self.largest:
            self.proofs += 1

    def _note(self, size: int) -> None:
        if size > self.largest:
            self.largest, self.proofs = size, 0
