"""A TOML file of a user's, read key by key: a key that is left at the end is a mistake, and so is a wrong type."""

from __future__ import annotations

import os
import re
import tomllib
import zipfile
from collections.abc import Callable, Collection
from contextlib import contextmanager
from dataclasses import MISSING, fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from crawlers.exceptions import RulesError, hint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

T = TypeVar("T")
_WORDS = {str: "a text", bool: "true or false", int: "a whole number", float: "a number", dict: "a table"}


def find(name: str, what: str) -> Path | None:
    """Return where a file is: in the working directory, below CRAWLERS_HOME, or else beside the project's spiders.

    These may be in an egg: what is in it is no `Path`, and can be read like one.

    Args:
        what: what messages call the file: "The rules".

    Raises:
        RulesError: the places cannot be read.
    """
    path = Path(name)
    if path.is_absolute():
        return path
    project = _project()
    own = zipfile.Path(project, path.as_posix()) if project.is_file() else project / path
    try:
        return next((place for place in (path, _home() / path, own) if place.exists()), None)  # type: ignore[return-value]
    except OSError as error:
        raise RulesError(f"{what} {name[:200]} can't be read: {error.strerror}.") from None


def needed(name: str, what: str) -> Path:
    """Return where a file is, as `find` does.

    Raises:
        RulesError: there is no such file, and the message names the places; or they cannot be read.
    """
    found = find(name, what)
    if found is None:
        where = " or ".join(map(str, folders()))
        raise RulesError(f"{what} {Path(name)} can't be read: there is no such file in {where}.")
    return found


def folders() -> list[Path]:
    """Return where files are looked for, the first first."""
    return [*dict.fromkeys((Path.cwd(), _home(), _project()))]


def _home() -> Path:
    return Path(os.environ.get("CRAWLERS_HOME", "")).resolve()


def _project() -> Path:
    """Return the folder or the egg that has the spiders; the working directory if there are none."""
    spiders = find_spec("spiders")
    return Path(spiders.origin).parents[1] if spiders and spiders.origin else Path.cwd()


def load(path: Path, what: str, read: Callable[[str], T]) -> T:
    """Return what ``read`` makes of a file's text.

    Args:
        what: what messages call the file: "The rules".

    Raises:
        RulesError: it can't be read, or is not what it should be; the message names the file and the key.
    """
    try:
        return read(path.read_text(encoding="utf-8-sig"))  # as Notepad writes it
    except OSError as error:
        raise RulesError(f"{what} {path} can't be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise RulesError(f"{what} {path} can't be read: the file is not UTF-8.") from None
    except RulesError as error:
        raise RulesError(f"{what} {path}: {error}") from None


def table(text: str) -> Table:
    """Return the table of a file's text.

    Raises:
        RulesError: it is not TOML, or nested too deeply.
    """
    try:
        return Table(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise RulesError(f"this is not TOML: {error}.") from None
    except ValueError:  # Python's, of what is TOML
        raise RulesError("this has a number with too many digits.") from None
    except RecursionError:
        raise RulesError("its tables are nested too deeply.") from None


@contextmanager
def located(text: str) -> Iterator[None]:
    """Name the line of the key that a mistake in a file's text begins with.

    Raises:
        RulesError: the mistake.
    """
    try:
        yield
    except RulesError as error:
        key = re.match(r"([\w.\[\]-]+)", str(error))
        line = _line(key[1], text) if key else None
        raise RulesError(f"line {line}: {error}" if line else str(error)) from None


def _line(key: str, text: str) -> int | None:
    r"""
    >>> _line("list.paging.kind", 'title = "kind"\n[list]\nurl = "a"\n[list.paging]\nkind = "none"')
    5
    """
    path, header = re.sub(r"\[[0-9]+\]", "", key).split("."), ""
    best: tuple[int, int] | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if table := re.match(r"\s*\[\[?\s*([^\]]{1,200}?)\s*\]", line):
            header = table[1]
        name = re.match(r"\s*\"?([\w.-]{1,200})\"?\s*=", line)
        here = [*filter(None, header.split(".")), *([name[1]] if name else [])]
        if (name or table) and here == path[: len(here)] and (best is None or len(here) > best[0]):
            best = len(here), number
    return best[1] if best else None


Readers = dict[str, Callable[[Any, str, "Collection[str]"], Any]]


class Table:
    """
    Args:
        path: its place in the file, for messages: ``fields.title``; "" for the file itself.

    Attributes:
        readers: what reads a key that is there, by the type of its field.
        known: the names that templates in it may have.
    """

    readers: ClassVar[Readers] = {
        "str": lambda table, key, _: table.needed(key),
        "int": lambda table, key, _: table.number(key, 1, 1),
        "bool": lambda table, key, _: table.typed(key, bool, False),
        "tuple[str, ...]": lambda table, key, _: table.texts(key),
    }
    known: ClassVar[Collection[str]] = ()

    def __init__(self, content: Mapping[str, Any], path: str = "") -> None:
        self.left = dict(content)
        self.path = path
        self.asked: list[str] = []

    def name(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def value(self, key: str) -> Any:
        self.asked.append(key)
        return self.left.pop(key, None)

    def typed(self, key: str, kind: type[T], default: T) -> T:
        value = self.value(key)
        if value is None:
            return default
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            raise RulesError(f"{self.name(key)} is not {_WORDS[kind]}.")
        return value

    def text(self, key: str) -> str | None:
        return self.typed(key, str, "").strip() or None

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a text or a list of texts as a tuple."""
        value = self.value(key)
        values = [] if value is None else [value] if isinstance(value, str) else value
        if not isinstance(values, list) or not all(isinstance(value, str) and value.strip() for value in values):
            raise RulesError(f"{self.name(key)} is neither a text nor a list of texts.")
        return tuple(values)

    def number(self, key: str, default: int, least: int) -> int:
        value = self.typed(key, int, default)
        if value < least:
            raise RulesError(f"{self.name(key)} is {value}, and must be {least} or more.")
        return value

    def inner(self, content: Mapping[str, Any], path: str) -> Self:
        """Return a table that is in this one."""
        return type(self)(content, path)

    def table(self, key: str) -> Self | None:
        value = self.value(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise RulesError(f"{self.name(key)} is not a table.")
        return self.inner(value, self.name(key))

    def part(self, key: str, read: Callable[[Self], T]) -> T | None:
        """Return what is read of a table; ``None`` if there is none."""
        found = self.table(key)
        return None if found is None else read(found)

    def required(self, key: str) -> Self:
        found = self.table(key)
        if found is None:
            raise RulesError(f"[{self.name(key)}] is missing.")
        return found

    def tables(self, key: str) -> Iterator[Self]:
        value = [] if key not in self.left else self.value(key)
        found = [value] if isinstance(value, dict) else value
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            raise RulesError(f"{key} is not a table: write [[{key}]].")
        yield from (self.inner(one, f"{key}[{place}]") for place, one in enumerate(found))

    def needed(self, key: str) -> str:
        text = self.text(key)
        if text is None:
            raise RulesError(f"{self.name(key)} is missing.")
        return text

    def choice(self, key: str, names: Collection[str]) -> str | None:
        value = self.text(key)
        if value is not None and value not in names:
            message = f"{self.name(key)} is {value!r}, and must be one of {', '.join(names)}.{hint(value, names)}"
            raise RulesError(message)
        return value

    def read(self, kind: type[T], known: Collection[str] | None = None, /, **given: Any) -> T:
        """Return what the whole table says as a dataclass: each field is a key, and its type says what that takes.

        Args:
            known: the names that its templates may have.
            given: the fields that were read otherwise.
        """
        for field in fields(kind):  # type: ignore[arg-type]
            name = field.name
            if name in given:
                continue
            if name in self.left:
                read = self.readers[str(field.type).removesuffix(" | None")]
                given[name] = read(self, name, self.known if known is None else known)
            elif field.default is not MISSING:
                given[name] = self.value(name) or field.default
            else:
                given[name] = self.needed(name)
        self.end()
        return kind(**given)

    def end(self, known: Collection[str] = ()) -> None:
        """
        Raises:
            RulesError: a key is left that nobody asked for; the message names the ones there are.
        """
        names = sorted({*self.asked, *known})
        for key in self.left:
            raise RulesError(f"{self.name(key)} is unknown.{hint(key, names)} There are: {', '.join(names)}.")
