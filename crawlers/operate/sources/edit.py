"""Changes to sources.toml that keep everything else: comments, order, quotes, line ends. And new rules files."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import deepcopy
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any, TextIO

from crawlers.exceptions import SourcesError
from crawlers.operate.sources.source import Source
from crawlers.safety.locks import alone
from crawlers.store.sources_file import text as read_text

_HEADER = re.compile(r"\s*\[\[?\s*(?P<key>[^\]#]+?)\s*\]\]?\s*(#.*)?$")
_FIRST_KEY = re.compile(r"""(\s*\[\[?\s*)(?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+)""")
_NO_VALUE = re.compile(r"\s*(#.*)?$")
_BY_HAND = "The table is written in a way that can't be changed automatically: edit the file."


def add(text: str, source: Source) -> str:
    """Return the text with one more table, at the end."""
    return append(text, source.name, table_of(source))


def append(text: str, name: str, table: Mapping[str, Any]) -> str:
    """Return the text with a table at the end."""
    import tomlkit  # noqa: PLC0415 -- what only reads sources.toml needs it not

    written = tomlkit.dumps({name: table}).replace("\n", _end(text))
    before = text.rstrip() + _end(text) * 2 if text.strip() else ""
    return _checked(before + written, {**tomllib.loads(text), name: dict(table)})


def update(text: str, name: str, changes: Mapping[str, Any]) -> str:
    """Return the text with keys of a source's table changed.

    Args:
        changes: the new values; ``None`` removes a key, and a mapping changes keys of the table within it.

    Raises:
        SourcesError: the table is written in a way that can't be changed automatically.
    """
    if not isinstance(tomllib.loads(text)[name], dict):
        raise SourcesError(f"{name} is not a table: edit the file.")
    for key, value in changes.items():
        for path, leaf in leaves(key, value):
            text = _with_key(text, (name, *path), leaf)
    return text


def leaves(key: str, value: Any) -> list[tuple[tuple[str, ...], Any]]:
    """Return the paths of keys that a change of a key changes, and their new values."""
    if isinstance(value, Mapping):
        return [((key, *path), leaf) for inner, below in value.items() for path, leaf in leaves(inner, below)]
    return [((key,), value)]


def _with_key(text: str, path: tuple[str, ...], value: Any) -> str:
    """Return the text with a value at a path of keys, the table's name first; ``None`` removes it."""
    content = tomllib.loads(text)
    if _at(content, path) == value:
        return text
    wanted = _at(copy := deepcopy(content), path[:-1], make=True)
    wanted |= {path[-1]: value}
    if value is None:
        del wanted[path[-1]]
    elif _at(content, path) is None and (added := _inserted(text, path, value, content)):
        return _checked(added, copy)
    lines = text.splitlines(keepends=True)
    first, last = _place(text, lines, path)
    lines[first:last] = [_rewritten("".join(lines[first:last]), path, value)]
    return _checked("".join(lines), copy)


def _rewritten(text: str, path: tuple[str, ...], value: Any) -> str:
    """Return a part of the file with a value at a path of keys; ``None`` removes it."""
    import tomlkit  # noqa: PLC0415
    from tomlkit.exceptions import TOMLKitError  # noqa: PLC0415

    try:
        document: Any = tomlkit.parse(text)
        table = _at(document, path[:-1], make=True)
        if value is None:
            del table[path[-1]]
        else:
            table[path[-1]] = value
        return tomlkit.dumps(document)
    except TOMLKitError:
        raise SourcesError(_BY_HAND) from None


def _place(text: str, lines: list[str], path: tuple[str, ...]) -> tuple[int, int]:
    """Return the first line and the end of the table that has a key: another one can't stand in the way of a change."""
    headers = [*_headers(text), (len(lines), [])]
    for (first, key), (following, _) in pairwise(headers):
        if key and tuple(key) == path[: len(key)]:
            with suppress(tomllib.TOMLDecodeError):
                if _at(tomllib.loads("".join(lines[first:following])), path) is not None:
                    return first, following
    return 0, len(lines)


def _at(content: Any, path: tuple[str, ...], *, make: bool = False) -> Any:
    """Return what is at a path of keys; ``None`` if nothing is, or a table that is made."""
    for key in path:
        if key not in content:
            if not make:
                return None
            content[key] = {}
        content = content[key]
    return content


def _inserted(text: str, path: tuple[str, ...], value: Any, content: dict[str, Any]) -> str | None:
    """Return the text with a line for a new key below its table's header; ``None`` if its table has no header."""
    import tomlkit  # noqa: PLC0415

    headers = {tuple(key): number for number, key in _headers(text)}
    above = next((path[:depth] for depth in range(len(path) - 1, 0, -1) if path[:depth] in headers), None)
    if above is None or (above != path[:-1] and _at(content, path[:-1]) is not None):
        return None
    lines = text.splitlines(keepends=True)
    at, key = headers[above], ".".join(tomlkit.key(one).as_string() for one in path[len(above) :])
    lines[at] = lines[at].rstrip("\r\n") + _end(text)
    lines.insert(at + 1, f"{key} = {tomlkit.item(value).as_string()}{_end(text)}")
    return "".join(lines)


def rename(text: str, old: str, new: str) -> str:
    """Return the text with another name for a source.

    Raises:
        SourcesError: the table is written in a way that can't be changed automatically.
    """
    import tomlkit  # noqa: PLC0415

    lines = text.splitlines(keepends=True)
    for number, key in _headers(text):
        if key[:1] == [old]:
            quoted = tomlkit.key(new).as_string()
            lines[number] = _FIRST_KEY.sub(lambda found: found[1] + quoted, lines[number], count=1)  # noqa: B023
    content = {new if name == old else name: table for name, table in tomllib.loads(text).items()}
    return _checked("".join(lines), content)


def remove(text: str, name: str) -> str:
    """Return the text without a table, the tables within it, and the comment directly above it."""
    lines = text.splitlines(keepends=True)
    gone = {number for first, last in _blocks(text, lines, name) for number in range(first, last)}
    left = [line for number, line in enumerate(lines) if number not in gone]
    content = tomllib.loads(text)
    del content[name]
    if gone:
        rest = "".join(left).strip("\r\n")
        return _checked(rest + _end(text) if rest else "", content)
    return _checked(_rewritten(text, (name,), None), content)


def write(path: Path, change: Callable[[str], str]) -> None:
    """Rewrite the file atomically, under a lock: a reader sees the old one or the new one, and no change is lost.

    Args:
        change: returns the new text for the old one.

    Raises:
        SourcesError: the file is not readable or not writable.
    """
    target = path.resolve()  # a symbolic link stays one
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with alone(target):
            _replace(target, change(read_text(path) if path.exists() else ""))
    except OSError as error:
        raise SourcesError(f"{path} can't be written: {error.strerror}.") from None
    except RecursionError:  # dotted keys are read to any depth, and changed to some hundred
        raise SourcesError(f"{path} is not changed: its tables are nested too deeply.") from None


def _replace(target: Path, text: str) -> None:
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8", newline="")
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o777)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def new_file(path: Path, text: str) -> Iterator[None]:
    """Write a new file, and remove it again if what follows fails.

    Raises:
        SourcesError: the file exists, or can't be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("x", encoding="utf-8")
    except FileExistsError:
        raise SourcesError(f"{path} exists: name another file with --rules.") from None
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


def table_of(source: Source) -> dict[str, Any]:
    """Return the table of a new source."""
    keys = {"spider": source.spider, "schedule": source.schedule and source.schedule.text, "contact": source.contact}
    table: dict[str, Any] = {name: value for name, value in keys.items() if value}
    if not source.enabled:
        table["enabled"] = False
    if source.review != "approved":
        table["review"] = source.review
    if source.archive:
        table["archive"] = True
    inner = {"arguments": source.arguments, "settings": source.settings}
    return table | {name: value for name, value in inner.items() if value}


def _end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _checked(text: str, content: dict[str, Any]) -> str:
    """Return the text."""
    try:
        if _filled(tomllib.loads(text)) == _filled(content):
            return text
    except tomllib.TOMLDecodeError:
        pass
    raise SourcesError(_BY_HAND)


def _filled(content: dict[str, Any]) -> dict[str, Any]:
    """Return the content without empty tables in a source's: the last key that goes may take its table along."""
    return {name: _without_empty(table) for name, table in content.items()}


def _without_empty(table: Any) -> Any:
    if not isinstance(table, dict):
        return table
    return {key: left for key, value in table.items() if (left := _without_empty(value)) != {}}


def _headers(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines that start a table, and the parts of the table's name."""
    for number, line in enumerate(text.splitlines()):
        found = _HEADER.match(line)
        if found:
            yield number, _parts(found["key"])


def _parts(key: str) -> list[str]:
    """Return the parts of a table's name.

    >>> _parts('"data.gov".arguments')
    ['data.gov', 'arguments']
    """
    try:
        content: Any = tomllib.loads(f"{key} = 0")
    except tomllib.TOMLDecodeError:  # a line within a multi-line text
        return []
    parts = []
    while isinstance(content, dict):
        [(part, content)] = content.items()
        parts.append(part)
    return parts


def _blocks(text: str, lines: list[str], name: str) -> Iterator[tuple[int, int]]:
    """Yield the first line and the end of each of a source's tables; comments before the next table belong to that."""
    headers = [*_headers(text), (len(lines), [])]
    for (first, key), (following, _) in pairwise(headers):
        if key[:1] != [name]:
            continue
        last = following
        while _NO_VALUE.match(lines[last - 1]):
            last -= 1
        while last < following and not lines[last].strip():  # with the empty lines after it
            last += 1
        above = takewhile(lambda line: line.lstrip().startswith("#"), reversed(lines[:first]))
        yield first - len(list(above)), last
