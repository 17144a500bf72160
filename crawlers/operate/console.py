"""The output of commands, which may fail: a closed pipe, a full disk, a terminal that has gone."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO, cast

from crawlers.exceptions import CrawlersError, with_command
from crawlers.safety.logs import Terminal, shown
from crawlers.safety.redact import redact

if TYPE_CHECKING:
    from scrapy.commands import ScrapyCommand

MISTAKE = 1
INTERRUPTED = 130


@contextmanager
def reporting_errors(command: ScrapyCommand) -> Iterator[None]:
    """Run what a command does; turn an error into a sentence and an exit code.

    A reader that closes the pipe early (``| head``) is not an error. SIGTERM stops it as Ctrl-C does.
    """
    open_streams()
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
        sys.stdout.flush()
    except CrawlersError as error:
        command.exitcode = MISTAKE
        print_error(error)
    except KeyboardInterrupt:
        command.exitcode = INTERRUPTED
        print_error(getattr(command, "interrupted", "Stopped."))
    except BrokenPipeError:
        _flush()
    except OSError as error:
        if error.filename is not None:  # an error of a file, not of the output
            raise
        command.exitcode = MISTAKE
        _flush()
        print_error(f"The output can't be written: {error.strerror}.")


@contextmanager
def ignoring_output_errors() -> Iterator[None]:
    """Print without failing, while crawls run: if the output can't be written, it is lost, and all later output too."""
    with suppress(OSError):
        yield
    _flush()


def open_streams() -> None:
    """Replace streams that are closed (``>&-``) by ones that discard their output.

    A character that a stream can't encode, as in a C locale, is escaped; so are characters that act on a terminal.
    """
    sys.stdout, sys.stderr = sys.stdout or _discard(), sys.stderr or _discard()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    if sys.stdout.isatty() and not isinstance(sys.stdout, Terminal):
        sys.stdout = cast("TextIO", Terminal(sys.stdout))


def print_lines(lines: Iterable[str]) -> None:
    """Print lines; an output that can't be written is ignored."""
    with ignoring_output_errors():
        for line in lines:
            print(line)


def print_error(sentence: object) -> None:
    """Print a message on stderr, without credentials or characters that act on a terminal; lines stay lines."""
    with ignoring_output_errors():
        text = with_command(str(sentence))
        print("\n".join(shown(redact(line)) for line in text.split("\n")), file=sys.stderr)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            _silence(stream.fileno())


def _discard() -> TextIO:
    return os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", closefd=False)


def _silence(descriptor: int) -> None:
    """Discard a stream's output; otherwise Python flushes it again at exit, and ends with exit code 120."""
    discard = os.open(os.devnull, os.O_WRONLY)
    os.dup2(discard, descriptor)
    os.close(discard)
