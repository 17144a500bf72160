"""The end of a run's log."""

from __future__ import annotations

from pathlib import Path

from crawlers.safety.redact import redact

MOST = 32 * 1024  # bytes
_LINES = 60


def tail(logs: Path, log: str | None) -> list[str]:
    """The last lines, redacted; none when the file is not there, or not below LOGS_DIR.

    Args:
        log: as the run has it.
    """
    if not log:
        return []
    try:
        path = Path(log).resolve()
        if not path.is_relative_to(logs.resolve()) or not path.is_file():
            return []
        body = _end(path)
    except (OSError, ValueError):
        return []
    return [redact(line) for line in body.decode("utf-8", "replace").splitlines()[-_LINES:]]


def _end(path: Path) -> bytes:
    with path.open("rb") as file:
        skipped = max(path.stat().st_size - MOST, 0)
        file.seek(skipped)
        body = file.read(MOST)
    return body.partition(b"\n")[2] if skipped else body
