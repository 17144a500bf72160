"""A source's JOBDIR between two crawls: whether there is something to go on with, and of which run."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from crawlers.exceptions import HarvestError
from crawlers.resume.job import FORMAT

State = Literal["none", "unfinished", "finished", "another", "damaged", "in use"]

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_ELSEWHERE = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_NOMEM)  # what is wrong is not the ledger


class Ledger:
    """
    Args:
        folder: JOBS_DIR/<source>.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "ledger.sqlite"

    def state(self, identity: dict[str, Any]) -> State:
        """
        Args:
            identity: what the crawl to come is; a job of another can't be gone on with.

        Raises:
            HarvestError: the disk it is on can't be read.
        """
        if self.folder.exists() and not self.folder.is_dir():
            raise HarvestError(f"{self.folder} is a file, and the place of this source's job: remove it")
        if not self.path.exists():
            return "none"
        try:
            return self._is_of(self._facts(), identity)
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code in _ELSEWHERE:
                raise HarvestError(f"{self.path} can't be read ({error})") from None
            return "in use" if code in _BUSY else "damaged"
        except ValueError:
            return "damaged"

    def _is_of(self, facts: dict[str, Any], identity: dict[str, Any]) -> State:
        """
        Raises:
            sqlite3.DatabaseError: it is damaged where a crawl would go on.
        """
        if "identity" not in facts:
            return "none"
        if facts["identity"] != {"format": FORMAT, **identity}:
            return "another"
        if facts.get("finished"):
            return "finished"
        with closing(self._opened()) as db:
            return "unfinished" if db.execute("PRAGMA quick_check(1)").fetchone() == ("ok",) else "damaged"

    def finished(self) -> bool:
        """Whether nothing is left to do."""
        return bool(self._known().get("finished"))

    def run(self) -> str | None:
        """The name of the run that the job is."""
        state = self._known().get("state")
        run = state.get("run") if isinstance(state, dict) else None
        return run if isinstance(run, str) else None

    def _known(self) -> dict[str, Any]:
        try:
            return self._facts() if self.path.exists() else {}
        except (sqlite3.DatabaseError, ValueError):
            return {}

    def remove(self) -> None:
        """The ledger, and the folder unless somebody keeps something else there.

        Raises:
            HarvestError: it is another user's.
        """
        for path in self.folder.glob("ledger.sqlite*"):
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                told = f"{path} is of no use any more and can't be removed ({error.strerror}): remove it yourself"
                raise HarvestError(told) from None
        with suppress(OSError):
            self.folder.rmdir()

    def _facts(self) -> dict[str, Any]:
        """
        Raises:
            sqlite3.DatabaseError: it is no ledger, or a crawl has it.
            ValueError: it is damaged.
        """
        with closing(self._opened()) as db:
            db.execute("BEGIN IMMEDIATE")
            rows = db.execute("SELECT name, value FROM facts").fetchall()
            db.execute("ROLLBACK")
        return {name: json.loads(value) for name, value in rows}

    def _opened(self) -> sqlite3.Connection:
        return sqlite3.connect(f"file:{quote(str(self.path))}?mode=rw", uri=True, timeout=0, isolation_level=None)
