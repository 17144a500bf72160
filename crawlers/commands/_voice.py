"""What a command says may find no ear any more: a pipe that is closed, a full disk, a terminal that is gone."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO, cast

from crawlers.exceptions import CrawlersError
from crawlers.safety.redact import redact
from crawlers.safety.terminal import Terminal, shown

if TYPE_CHECKING:
    from scrapy.commands import ScrapyCommand

MISTAKE = 1
INTERRUPTED = 130


@contextmanager
def speaking(command: ScrapyCommand) -> Iterator[None]:
    """Around all that a command does: what goes wrong is a sentence, and an exit code.

    A reader who has seen enough (``| head``) is no mistake.
    """
    open_streams()
    try:
        yield
        sys.stdout.flush()
    except CrawlersError as error:
        command.exitcode = MISTAKE
        tell(error)
    except KeyboardInterrupt:
        command.exitcode = INTERRUPTED
    except BrokenPipeError:
        _flush()
    except OSError as error:
        if error.filename is not None:  # of a file, which is no matter of what is said
            raise
        command.exitcode = MISTAKE
        _flush()
        tell(f"The output can't be written: {error.strerror}.")


@contextmanager
def unheard() -> Iterator[None]:
    """Around whatever is said while crawls go on: what can't be written is lost, and what comes after it."""
    with suppress(OSError):
        yield
    _flush()


def open_streams() -> None:
    """Give a command that was begun with closed ones (``>&-``) others, that nobody hears.

    A character that a stream has not, as in a C locale, is escaped; so is what would act on a terminal.
    """
    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    if sys.stdout.isatty() and not isinstance(sys.stdout, Terminal):
        sys.stdout = cast("TextIO", Terminal(sys.stdout))


def tell(sentence: object) -> None:
    """Say what is wrong, without credentials or what would act on a terminal; of several lines each is one sentence."""
    with unheard():
        print("\n".join(shown(redact(line)) for line in str(sentence).split("\n")), file=sys.stderr)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            _silence(stream.fileno())


def _nowhere() -> TextIO:
    return os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", closefd=False)


def _silence(descriptor: int) -> None:
    """Else Python tries once more when it ends, and makes it exit code 120."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
