"""audit.jsonl: who did what, when, to what, and what came of it; a line before it is done, and one after it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import CrawlersError
from crawlers.records import moment
from crawlers.safety.locks import alone
from crawlers.safety.redact import redact, safe_line
from crawlers.store.lines import Budget, JSONLines, backwards, entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

FILE = "audit.jsonl"
_LONGEST = 2000  # characters of a text in it
_ABSENT = dict.fromkeys(("who", "role", "action", "subject"), "")
_READ = 16 * 1024 * 1024  # bytes that a page reads, from the end


class AuditError(CrawlersError):
    """audit.jsonl can't be written, so nothing is done."""


@dataclass(frozen=True, slots=True)
class Deed:
    """What somebody does.

    Args:
        who: the user's name.
        action: the name of what is done.
        subject: the source or the user to which it is done.
        given: what was typed for it, without passwords.
    """

    who: str
    role: str
    action: str
    subject: str
    given: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Audit:
    """The file.

    Args:
        path: beside sources.toml.
    """

    path: Path

    @classmethod
    def beside(cls, listed: Path) -> Audit:
        """Return the one beside sources.toml."""
        return cls(listed.parent / FILE)

    def recorded(self, deed: Deed, act: Callable[[], str]) -> str:
        """Do something, and return the sentence that it returns.

        Raises:
            AuditError: it can't be recorded, so it is not done.
            CrawlersError: what the act raises, which is recorded.
        """
        known = {"id": secrets.token_hex(8), "who": deed.who, "role": deed.role, "action": deed.action}
        known["subject"] = _text(deed.subject)
        self._append(known | {"given": {name: _text(value) for name, value in deed.given.items()}})
        try:
            sentence = act()
        except CrawlersError as error:
            self._append(known | {"done": False, "said": _text(str(error))})
            raise
        self._append(known | {"done": True, "said": _text(sentence)})
        return sentence

    def _append(self, line: dict[str, Any]) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with alone(self.path):
                file = JSONLines(self.path)
                try:
                    file.append({"time": moment.now(), **line})
                finally:
                    file.close()
        except OSError as error:
            what = "what was done is not in it" if "done" in line else "nothing was done"
            raise AuditError(f"{self.path} can't be written ({error.strerror}): {what}.") from None

    def read(self) -> Iterator[dict[str, Any]]:
        """Yield what was done, the newest first; what has no ``done`` was begun, and never ended."""
        ended: dict[str, dict[str, Any]] = {}
        for line in backwards(self.path, Budget(_READ)):
            known = entry(line)
            if known is None or not isinstance(known.get("id"), str):
                continue
            if "given" not in known:
                ended[known["id"]] = known
            else:
                end = ended.pop(known["id"], {})
                when = known.get("time") if moment.moment(known.get("time")) else None
                yield _ABSENT | known | {"time": when, **{key: end.get(key) for key in ("done", "said")}}


def _text(value: Any) -> Any:
    return value if isinstance(value, bool | int | None) else safe_line(redact(str(value)), _LONGEST)
