"""JSON as a portal sends it, and as it is written: nothing is lost, nothing invalid is passed on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from crawlers.exceptions import AnswerError
from crawlers.safety import bounds, inside
from crawlers.safety.redact import writable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

_LENIENT = bounds.Bound("JSON that is not strict", "values", 1_000_000)  # Python's own reader takes twice as long


def loads(body: bytes | str | msgspec.Raw, bound: bounds.Bound = bounds.JSON) -> Any:
    """Return the value of a JSON text; NaN and infinities, which are not JSON, become ``None``.

    An integer with more digits than Python converts (`sys.get_int_max_str_digits`) stays the text that it is.

    Raises:
        AnswerError: ``too_large``: it has more values than the bound.
        ValueError: it is not JSON, or nested too deep to be read.
    """
    body = bytes(body) if isinstance(body, msgspec.Raw) else body
    bounds.check_json(body, bound)
    try:
        return msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _lenient(body)
    except RecursionError:
        raise ValueError("nested too deep") from None


def of_file(folder: Path, file: str) -> Any:
    """Return the JSON of a file below a folder, as `loads` does; ``None`` if it can't be read, or is none."""
    try:
        return loads(inside.read(folder, file))
    except (OSError, ValueError):
        return None


class Pieces(list[Any]):
    """The entries of a long list, each decoded when it is read: together they take no more memory than their text."""

    def __iter__(self) -> Iterator[Any]:
        return map(loads, super().__iter__())


def in_pieces(body: bytes) -> Any:
    """Return the value of a JSON text as `loads` does; a list that it is, or that its object has, as `Pieces`.

    Raises:
        AnswerError: ``too_large``; `Pieces` raise it, too, of an entry.
        ValueError: it is not strict JSON.
    """
    bounds.check_json(body)
    try:
        top = msgspec.json.decode(body, type=dict[str, msgspec.Raw] | list[msgspec.Raw])
        if isinstance(top, list):
            return Pieces(top)
        return {name: _value(raw) for name, raw in top.items()}
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValueError(str(error)) from None
    except RecursionError:
        raise ValueError("nested too deep") from None


def _value(raw: msgspec.Raw) -> Any:
    if bytes(memoryview(raw)[:1]) == b"[":
        return Pieces(msgspec.json.decode(raw, type=list[msgspec.Raw]))
    return loads(raw)


def _lenient(body: bytes | str) -> Any:
    try:
        bounds.check_json(body, _LENIENT)
        return _loads(body, int)
    except AnswerError as error:
        raise ValueError(str(error)) from None
    except RecursionError:
        raise ValueError("nested too deep") from None


def _loads(body: bytes | str, parse_int: Callable[[str], Any]) -> Any:
    try:
        return json.loads(body, parse_constant=lambda _: None, parse_int=parse_int)
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except ValueError:
        if parse_int is _integer:
            raise
    return _loads(body, _integer)  # a function of ours for every number takes its time: only where one is too long


def _integer(digits: str) -> int | str:
    try:
        return int(digits)
    except ValueError:
        return digits


def dumps(document: Any) -> bytes:
    """Return UTF-8, indented by 2, keys in their order, a newline at the end; as it may be stored.

    Raises:
        ValueError: it is nested too deep to be written.
    """
    return writable(verbatim(document))


def verbatim(document: Any) -> bytes:
    """Return the same with what may not be stored: the secrets of this process, the logins in addresses.

    Raises:
        ValueError: it is nested too deep to be written.
    """
    try:
        return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError:  # integers over 64 bits, lone surrogates, over 254 levels: rare, so slowly
        return _slow_dumps(document)


def line(entry: Mapping[str, Any]) -> bytes:
    """Return one line of a JSON Lines file, as it may be stored: UTF-8, and a newline at the end only."""
    try:
        return writable(orjson.dumps(entry, option=orjson.OPT_APPEND_NEWLINE))
    except orjson.JSONEncodeError:
        return writable((json.dumps(entry) + "\n").encode("ascii"))


def _slow_dumps(document: Any) -> bytes:
    try:
        text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
        return (text + "\n").encode("utf-8")
    except UnicodeEncodeError:
        return (json.dumps(document, indent=2) + "\n").encode("ascii")
    except RecursionError:
        raise ValueError("nested too deep") from None
