"""The page turns that a request needs: plain data, which can be stored, repeated and compared."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

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
