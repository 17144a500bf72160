"""Lock files: held by a process until it ends, however it ends.

They are opened for writing, for NFS locks no file exclusively that is open for reading alone.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from crawlers.safety.names import safe

if TYPE_CHECKING:
    from collections.abc import Iterator

LOCK = ".lock"
"""The lock file in a source's folder, held by the crawl that writes into it."""
_PAUSE = 0.01  # seconds; a process that only checks the lock holds a shared one for less
_OURS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def is_held(path: Path) -> bool:
    """Return whether a process has the lock. The check never blocks: a process that wants it then tries again."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)  # a pipe is waited for otherwise
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return False
    finally:
        os.close(descriptor)
    return False


def is_crawled(folder: Path) -> bool:
    """Return whether a crawl is writing into a source's folder now."""
    return is_held(folder / LOCK)


def of_host(jobs: Path, host: str) -> Path:
    """Return the lock file of a host, which a crawl has while it asks that host.

    Args:
        jobs: JOBS_DIR.
        host: with its port where it is not the default one.

    >>> of_host(Path("jobs"), "m\u00fcnchen.de:8443").name, of_host(Path("jobs"), "xn--mnchen-3ya.de:8443").name
    ('xn--mnchen-3ya.de_8443.lock', 'xn--mnchen-3ya.de_8443.lock')
    """
    if not host.isascii():
        with suppress(UnicodeError):
            host = host.encode("idna").decode("ascii")
    return jobs / ".hosts" / f"{safe(host.replace(':', '_'))}.lock"


def is_open_in(pid: int, path: Path) -> bool:
    """Return whether a process has a file open; ``False`` if that can't be known, as outside Linux."""
    try:
        ours = path.stat(follow_symlinks=False)
        return any(_is_file(descriptor, ours) for descriptor in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False


def is_inherited(path: Path) -> bool:
    """Return whether who started this process has given it a file: what it opens itself, it leaves to nobody."""
    try:
        ours = path.stat(follow_symlinks=False)
        found = [int(one.name) for one in Path("/proc/self/fd").iterdir() if _is_file(one, ours)]
        return any(map(os.get_inheritable, found))
    except OSError:
        return False


def _is_file(descriptor: Path, file: os.stat_result) -> bool:
    try:
        return os.path.samestat(descriptor.stat(), file)
    except OSError:  # closed meanwhile
        return False


def take(path: Path, *, tries: int = 5) -> int | None:
    """Return the descriptor of a lock file that is ours until it is closed; ``None`` when it is another's.

    Who has it sees by the time of the file that it is wanted.

    Args:
        tries: how often it is tried, every 10 ms.

    Raises:
        OSError: the file can't be made, or is a link.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in reversed(range(tries)):
        descriptor = os.open(path, _OURS, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(path, descriptor):
                return descriptor
        except BlockingIOError:
            os.utime(descriptor)
            time.sleep(_PAUSE if left else 0)
        except OSError:
            os.close(descriptor)
            raise
        os.close(descriptor)
    return None


def give_back(path: Path, descriptor: int) -> None:
    """Remove a lock file that is ours, and then release it."""
    with suppress(OSError):
        path.unlink()
    os.close(descriptor)


def identity(descriptor: int) -> str:
    """Return what tells a lock file from all others, also from its copies on other machines; empty outside Linux.

    It changes when the machine starts again.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
    found = os.fstat(descriptor)
    return f"{boot}:{found.st_dev}:{found.st_ino}"


@contextmanager
def alone(path: Path, patience: float | None = None) -> Iterator[None]:
    """Let one process at a time change a file, by a lock file beside it, which its holder removes.

    SQLite does not wait when two connections turn a new file into WAL mode: one of them gets "database is locked" at
    once, whatever its timeout (https://www.sqlite.org/rescode.html#busy).

    Args:
        patience: seconds that others are waited for, and not longer; by default as long as it takes.

    Raises:
        OSError: the lock file can't be made.
    """
    lock = path.with_name(f".{path.name}.lock")
    descriptor = _waited_for(lock, None if patience is None else time.monotonic() + patience)
    try:
        yield
    finally:
        if descriptor is not None:
            give_back(lock, descriptor)


def _waited_for(lock: Path, end: float | None) -> int | None:
    while end is None or time.monotonic() < end:
        descriptor = os.open(lock, _OURS, 0o666)
        if _locked(descriptor, end) and _is_at(lock, descriptor):
            return descriptor
        os.close(descriptor)
    return None


def _locked(descriptor: int, end: float | None) -> bool:
    if end is None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return True
    while time.monotonic() < end:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE)
        else:
            return True
    return False


def _is_at(lock: Path, descriptor: int) -> bool:
    """Whether the file is still there: who held it before has removed it."""
    try:
        return os.path.samestat(lock.stat(follow_symlinks=False), os.fstat(descriptor))
    except FileNotFoundError:
        return False
