"""Finds and reads declarations; an error names in one sentence what is wrong and where."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from crawlers.exceptions import RulesError, hint
from crawlers.kind import registered
from crawlers.kinds.api.declaration import (
    CHECKS,
    DATASET_FIELDS,
    RESOURCE_FIELDS,
    Declaration,
    Follow,
    Recognition,
    Resources,
)
from crawlers.kinds.api.expressions import Expression, Template
from crawlers.kinds.api.listing_table import SINCE, listing
from crawlers.kinds.api.table import PORTAL, Table, address
from crawlers.records import toml

if TYPE_CHECKING:
    from collections.abc import Collection
    from importlib.resources.abc import Traversable

FOLDER = "catalogues/kinds"
"""Where users have their own declarations; one of the same name overrides the project's."""
_PLACE = re.compile(r"[?]|/?\{(?:page|offset)\}")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,60}")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8}){0,4}")


def load(name: str) -> Declaration:
    """Return a declaration by its name, or by the path of its file.

    A name is looked for in catalogues/kinds/, in the working directory, below CRAWLERS_HOME and in this project; then
    among those of the project.

    Raises:
        RulesError: there is none, or it is not one; the message names the file, the key and what it takes.
    """
    path = _path(name)
    stem = path.name.removesuffix(".toml")
    return toml.load(path, "The declaration", lambda text: loads(text, stem))  # type: ignore[arg-type]


def lasting(name: str) -> Declaration:
    """Return a declaration as `load` does, if its records on disk can be mapped again: their name leads to the file.

    Raises:
        RulesError: as `load`; or the file is elsewhere than where its name is looked for.
    """
    found = load(name)
    if name.endswith(".toml") and not _is_same(_path(name), found.name):
        message = "its records could not be mapped again, as they have only its name"
        raise RulesError(
            f"The declaration {name[:200]} is not where {found.name!r} is looked for: {message}. "
            f"Put the file into {FOLDER}/, and say -a kind={found.name}."
        )
    return found


def is_there(name: str) -> bool:
    """Return whether there is a declaration of this name, whatever is in it."""
    try:
        return bool(_path(name))
    except RulesError:
        return False


def _is_same(path: Path | Traversable, name: str) -> bool:
    """Return whether a name leads to a file."""
    try:
        return Path(str(_path(name))).resolve() == Path(str(path)).resolve()
    except RulesError:
        return False


def shipped() -> dict[str, Traversable]:
    """Return the project's own declarations by name."""
    found = (each for each in resources.files("crawlers.kinds.api").iterdir() if each.name.endswith(".toml"))
    return {each.name.removesuffix(".toml"): each for each in sorted(found, key=attrgetter("name"))}


def _path(name: str) -> Path | Traversable:
    if name.endswith(".toml"):
        return toml.needed(name, "The declaration")
    own = f"{FOLDER}/{name}.toml"
    if _NAME.fullmatch(name) and (found := toml.find(own, "The declaration")):
        return found
    known = shipped()
    if name not in known:
        message = f"There is no declaration {name[:200]!r}: neither {own} nor one of the project's."
        if not _NAME.fullmatch(name):
            message = f"There is no declaration {name[:200]!r}: names are of small letters, digits and hyphens."
        raise RulesError(f"{message}{hint(name, known)} There are: {', '.join(known)}.")
    return known[name]


@cache
def loads(text: str, name: str) -> Declaration:
    """
    Args:
        name: the file's, without ``.toml``.

    Raises:
        RulesError: it is not TOML, a key is unknown, or a value is not what the key takes.
    """
    try:
        _check_name(name)
        file = Table(toml.table(text).left)
        file.language = _language(file)
        found = _declaration(file, text, name)
        file.end()
    except RulesError as error:
        raise RulesError(_with_line(str(error), text)) from None
    return found


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise RulesError(f"the file's name {name[:80]!r} is not of small letters, digits and hyphens.")
    if any(name in kind.readers for kind in registered().values()):
        raise RulesError(f"the file's name {name!r} is that of records of another kind; rename the file.")


def _with_line(message: str, text: str) -> str:
    """Return a message that begins with a key with the line that has it."""
    found = re.match(r"([\w.\[\]-]+)", message)
    line = _line(found[1], text) if found else None
    return f"line {line}: {message}" if line else message


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


# What a file has


def _declaration(file: Table, text: str, name: str) -> Declaration:
    listed, names, dataset = listing(file.required("list")), file.part("names", _names) or {}, file.required("dataset")
    known = PORTAL | {"id"} | names.keys()
    found = Declaration(
        text=text,
        name=name,
        title=file.text("title") or name,
        recorded=file.typed("recorded", bool, True),
        language=file.language,
        list=listed,
        id=dataset.expression("id"),
        aliases=dataset.optional("aliases"),
        skip=dataset.optional("skip"),
        counters=dataset.texts("counters"),
        sets=dataset.texts("sets"),
        names=names,
        metadata_url=_metadata_url(file, listed.url, known),
        fields=dataset.fields(DATASET_FIELDS, known),
        resources=tuple(_resource(one, known | {"dataset_id"}) for one in file.tables("resource")),
        follow=tuple(one.read(Follow, known) for one in file.tables("follow")),
        check=file.choice("check", CHECKS),
        recognise=file.part("recognise", _recognition) or Recognition(),
    )
    dataset.end()
    _check_portal(found)
    _check_walk(found)
    return found


def _language(file: Table) -> str:
    found = file.text("language") or "en"
    if not _LANGUAGE.fullmatch(found):
        raise RulesError(f"language is {found[:80]!r}, and must be the code of a language: en, de-AT.")
    return found


def _names(table: Table) -> dict[str, Expression]:
    for name in table.left:
        if name in SINCE | {"id", "dataset_id", "seen"}:
            raise RulesError(f"{table.name(name)}: that name has another meaning.")
    return {name: table.expression(name) for name in list(table.left)}


def _metadata_url(file: Table, url: Template, known: Collection[str]) -> Template:
    if "metadata_url" in file.left:
        return file.address("metadata_url", known)
    return Template(_PLACE.split(url.text, maxsplit=1)[0])


def _resource(table: Table, known: Collection[str]) -> Resources:
    return table.read(Resources, known, fields=table.fields(RESOURCE_FIELDS, known))


def _recognition(table: Table) -> Recognition:
    doors = (address(text, table.name("doors"), PORTAL) for text in table.texts("doors"))
    return table.read(Recognition, doors=tuple(doors))


def _check_portal(found: Declaration) -> None:
    """Refuse a file whose records could not be mapped again, for their address would not tell the portal."""
    fillers = (*found.fields.values(), *(one for each in found.resources for one in (each.id, *each.fields.values())))
    used = {name for one in fillers if isinstance(one, Template) for name in one.names}
    if used & PORTAL and not found.metadata_url.text.startswith(("{portal}", "https://{host}", "http://{host}")):
        raise RulesError(
            "metadata_url begins neither with {portal} nor with https://{host}, so records do not tell it."
        )


def _check_walk(found: Declaration) -> None:
    """Refuse what a walk would pass over without a word."""
    given = [key for key, value in (("follow", found.follow), ("check", found.check)) if value]
    if found.list.walk and given:
        raise RulesError(f"{given[0]} means nothing beside list.walk, which only reads files: leave it out.")
