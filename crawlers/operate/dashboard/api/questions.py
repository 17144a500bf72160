"""What the JSON API takes: the parameters of each path, and how they are read from a request."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from werkzeug.exceptions import BadRequest

from crawlers.exceptions import hint
from crawlers.operate.dashboard.addresses import here
from crawlers.safety.redact import one_line
from crawlers.store.runs import State

if TYPE_CHECKING:
    from collections.abc import Mapping

    from werkzeug.datastructures import MultiDict

Asked = TypeVar("Asked", bound="Question")
Values = TypeVar("Values", bound=tuple[Any, ...])

Name = Annotated[str, Meta(description="the name of a source", max_length=300)]
Status = Annotated[State, Meta(description="a state of a run: complete, incomplete, running ...")]
Limit = Annotated[int, Meta(description="how many there are on a page, from 1 to 1000", ge=1, le=1000)]
After = Annotated[str, Meta(description="where the page begins, as `next` of the page before has it", max_length=3000)]


class Question(Struct, kw_only=True, forbid_unknown_fields=True):
    """The parameters of a path."""


class Page(Question):
    """A page of a list."""

    limit: Limit = 100
    after: After | UnsetType = UNSET


class OneSource(Question):
    """A source."""

    source: Name


class RunsPage(Page):
    """A page of runs."""

    source: Name | UnsetType = UNSET
    status: Annotated[State, Meta(description="a state of a run: complete, incomplete, running ...")] | UnsetType = (
        UNSET
    )


class OneRun(Question):
    """A run."""

    source: Name
    run: Annotated[str, Meta(description="the name of a run", max_length=300)]


class DatasetsPage(Page):
    """A page of datasets."""

    source: Name | UnsetType = UNSET
    withdrawn: Annotated[bool, Meta(description="true to have withdrawn datasets, too, or false")] = False


class OneDataset(Question):
    """A dataset."""

    source: Name
    id: Annotated[str, Meta(description="the id of a dataset of the source")]


class SearchPage(Question):
    """A page of a search."""

    q: Annotated[str, Meta(description="the words to find", min_length=1, max_length=500)]
    source: Name | UnsetType = UNSET
    withdrawn: Annotated[bool, Meta(description="true to find withdrawn datasets, too, or false")] = False
    limit: Annotated[int, Meta(description="how many there are on a page, from 1 to 100", ge=1, le=100)] = 20
    after: After | UnsetType = UNSET


def described(kind: type[Question]) -> dict[str, dict[str, Any]]:
    """Return the JSON Schema of each parameter."""
    (schema,), components = msgspec.json.schema_components([kind])
    name = schema["$ref"].rpartition("/")[2]
    return dict(components[name]["properties"])


def required(kind: type[Question]) -> set[str]:
    """Return the parameters that a request must have."""
    return {field.name for field in msgspec.structs.fields(kind) if field.required}


def read(kind: type[Asked], path: Mapping[str, str], query: MultiDict[str, str]) -> Asked:
    """Return the parameters of a request.

    Args:
        kind: which parameters there are.
        path: those that are in the path.
        query: the others.

    Raises:
        BadRequest: one is unknown, missing, given twice, or not what it must be.
    """
    schemas = described(kind)
    for name, values in query.lists():
        if name not in schemas or name in path:
            raise BadRequest(f"There is no parameter {one_line(name, 100)!r}.{hint(name, schemas)}")
        if len(values) > 1:
            raise BadRequest(f"The parameter {name} is there {len(values)} times: give it once.")
    given = {**query.to_dict(), **path}
    for name in sorted(required(kind) - given.keys()):
        raise BadRequest(f"The parameter {name} is missing: {schemas[name]['description']}.")
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        name = str(error).rpartition("$.")[2].strip("`")
        wanted = schemas[name]["description"]
        raise BadRequest(f"{name} is {wanted}; it is not {one_line(given[name], 100)!r}.") from None


def next_page(path: str, asked: Question, after: str | None) -> str | None:
    """Return the address of the next page.

    Args:
        path: of the list.
        asked: the parameters of this page.
        after: the cursor of the next page; ``None`` if there is none.
    """
    fields = msgspec.structs.fields(asked)
    given = {field.name: value for field in fields if (value := getattr(asked, field.name)) != field.default}
    words = {name: json.dumps(value) if isinstance(value, bool) else value for name, value in given.items()}
    return here(path, **words | {"after": after}) if after else None


def cursor(*values: str | int) -> str:
    """Return where the next page begins, as a parameter.

    >>> position(cursor("hdx", "a/b"), tuple[str, str])
    ('hdx', 'a/b')
    """
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")


def position(after: str, kind: type[Values]) -> Values:
    """Return the values of a cursor.

    Args:
        after: the cursor.
        kind: the values' types: ``tuple[str, str]``.

    Raises:
        BadRequest: it is none.
    """
    try:
        found = json.loads(base64.urlsafe_b64decode(after + "=" * (-len(after) % 4)))
        return msgspec.convert(found, kind)  # type: ignore[no-any-return]  # it is of that type
    except (ValueError, RecursionError):  # those of base64, JSON and msgspec
        raise BadRequest("after is none of this list: take it from `next` of the page before.") from None
