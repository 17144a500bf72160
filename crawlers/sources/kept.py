"""A new file that stays only when what follows goes well."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from crawlers.exceptions import SourcesError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import TextIO


@contextmanager
def kept(path: Path, text: str) -> Iterator[None]:
    """
    Raises:
        SourcesError: there is one of that name, or it can't be written: nothing of it stays.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("x", encoding="utf-8")
    except FileExistsError:
        raise SourcesError(f"{path} is there already: name another file with --rules.") from None
    except OSError as error:
        raise SourcesError(f"{path} can't be written: {error.strerror}.") from None
    try:
        _fill(file, text)
        yield
    except BaseException:
        path.unlink()
        raise


def _fill(file: TextIO, text: str) -> None:
    try:
        with file:
            file.write(text)
    except OSError as error:
        raise SourcesError(f"{file.name} can't be written: {error.strerror}.") from None
