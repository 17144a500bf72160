"""Files that others can write into: only a regular one is read, for a pipe would never end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def regular(path: Path) -> BinaryIO:
    """Opens a regular file for reading.

    Raises:
        OSError: there is none, or what is there is something else: a link, a pipe, a folder, a device.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    return os.fdopen(descriptor, "rb")
