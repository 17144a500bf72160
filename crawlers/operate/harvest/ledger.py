"""A source's JOBDIR between two crawls: whether there is a run to resume, and which."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Literal

from crawlers.components.ledger import FORMAT
from crawlers.exceptions import HarvestError
from crawlers.safety import sqlite

State = Literal["none", "unfinished", "finished", "different", "damaged", "in use"]

NAMING = ("source", "of")
"""The arguments of a crawl that name a source."""
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_ELSEWHERE = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_NOMEM)  # the ledger itself is not the problem


class Ledger:
    """The ledger of a source's job.

    Args:
        folder: JOBS_DIR/<source>.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "ledger.sqlite"

    def state(self, identity: dict[str, Any]) -> State:
        """Return whether the next crawl can resume the job.

        Args:
            identity: of the next crawl; it can't resume a job with another identity.

        Raises:
            HarvestError: the disk can't be read.
        """
        if self.folder.exists() and not self.folder.is_dir():
            raise HarvestError(f"{self.folder} is a file where the folder of this source's job belongs: remove it")
        if not self.path.exists():
            return "none"
        try:
            return self._compare(self._facts(), identity)
        except sqlite3.DatabaseError as error:
            code = sqlite.code(error)
            if code in _ELSEWHERE:
                raise HarvestError(f"{self.path} can't be read ({error})") from None
            return "in use" if code in _BUSY else "damaged"
        except ValueError:
            return "damaged"

    def _compare(self, facts: dict[str, Any], identity: dict[str, Any]) -> State:
        """Return the state of a job with these facts.

        Raises:
            sqlite3.DatabaseError: the ledger is damaged where a crawl would resume.
        """
        if "identity" not in facts:
            return "none"
        if facts["identity"] != {"format": FORMAT, **identity}:
            return "different"
        if facts.get("finished"):
            return "finished"
        with closing(self._opened()) as db:
            return "unfinished" if db.execute("PRAGMA quick_check(1)").fetchone() == ("ok",) else "damaged"

    def finished(self) -> bool:
        """Return whether nothing is left to do."""
        return bool(self._known().get("finished"))

    def run(self) -> str | None:
        """Return the name of the job's run."""
        state = self._known().get("state")
        run = state.get("run") if isinstance(state, dict) else None
        return run if isinstance(run, str) else None

    def _known(self) -> dict[str, Any]:
        try:
            return self._facts() if self.path.exists() else {}
        except (sqlite3.DatabaseError, ValueError):
            return {}

    def remove(self) -> None:
        """Remove the ledger, and the folder unless it has other files.

        Raises:
            HarvestError: it can't be removed.
        """
        for path in self.folder.glob("ledger.sqlite*"):
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise HarvestError(f"{path} is obsolete and can't be removed ({error.strerror}): remove it") from None
        with suppress(OSError):
            self.folder.rmdir()

    def rename(self, names: Mapping[str, str]) -> None:
        """Note that sources have other names, so that this job can be resumed; a damaged one stays as it is.

        Args:
            names: the new names by the old ones.
        """
        if "identity" not in self._known():
            return
        with closing(self._opened()) as db, sqlite.transaction(db):
            known = _facts(db).get("identity")
            if isinstance(known, dict) and isinstance(known.get("arguments"), dict):
                arguments = {name: names.get(value, value) for name, value in known["arguments"].items()}
                known["arguments"] |= {name: value for name, value in arguments.items() if name in NAMING}
                db.execute("UPDATE facts SET value = ? WHERE name = 'identity'", (json.dumps(known),))

    def _facts(self) -> dict[str, Any]:
        """Return the ledger's facts by name.

        Raises:
            sqlite3.DatabaseError: it is not a ledger, or a crawl uses it.
            ValueError: it is damaged.
        """
        with closing(self._opened()) as db, sqlite.transaction(db):
            return _facts(db)

    def _opened(self) -> sqlite3.Connection:
        return sqlite.connect_existing(self.path, "mode=rw", patience=0)


def _facts(db: sqlite3.Connection) -> dict[str, Any]:
    return {name: json.loads(value) for name, value in db.execute("SELECT name, value FROM facts")}
