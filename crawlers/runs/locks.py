"""Locks on files and folders: held by a process until it ends, however it ends."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

_PAUSE = 0.01  # seconds; whoever looks whether a lock is held has a shared one for less


def is_held(path: Path) -> bool:
    """Whether a process has the lock. It is looked at, never taken: whoever wants it at this moment tries again."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe is waited for otherwise
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


def take(path: Path, *, tries: int = 5) -> int | None:
    """The descriptor of a lock file that is ours until it is closed; ``None`` when it is another's.

    Raises:
        OSError: the file can't be made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    for left in reversed(range(tries)):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE if left else 0)
        else:
            return descriptor
    os.close(descriptor)
    return None
