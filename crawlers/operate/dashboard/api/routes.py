"""The paths of the JSON API, and their description; both are made from the same functions."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, NoReturn, get_type_hints

import msgspec
from flask import Response, abort, request

from crawlers.operate.dashboard.api import datasets, questions, runs, sources
from crawlers.operate.dashboard.api.answers import Answer, Error
from crawlers.safety import strict_json

if TYPE_CHECKING:
    from flask import Flask

    from crawlers.operate.dashboard.site import Site

VERSION = "1.0.0"  # of the API: the first number changes if a field or a path goes away
ROOT = "/api/"
DESCRIPTION = "/api/openapi.json"
PATHS: dict[str, Callable[..., Answer]] = {
    "/api/sources": sources.sources,
    "/api/sources/{source}": sources.source,
    "/api/runs": runs.runs,
    "/api/runs/{source}/{run}": runs.run,
    "/api/datasets": datasets.datasets,
    "/api/datasets/{source}": datasets.dataset,
    "/api/datasets/{source}/{id}": datasets.dataset,
    "/api/search": datasets.search,
}
"""Which function answers a path. Its parameters are the fields of what it takes, its answer is what it returns."""

_ERRORS = {
    400: "A parameter is unknown, missing or not what it must be.",
    404: "There is no such source, run or dataset.",
    503: "The index or sources.toml can't be read.",
}
_NAMED = re.compile(r"{(\w+)}")


def add_to(app: Flask, site: Site) -> None:
    """Add the JSON API to the dashboard."""
    for path, answer in PATHS.items():
        rule = _NAMED.sub(lambda name: f"<path:{name[1]}>" if name[1] == "id" else f"<{name[1]}>", path)
        _add(app, rule, partial(_answered, site, answer))
    _add(app, DESCRIPTION, lambda: as_json(description()))
    for rule in (ROOT, f"{ROOT}<path:_>"):
        _add(app, rule, _unknown)


def as_json(value: Any, status: int = 200) -> Response:
    """Return an answer of the API."""
    return Response(strict_json.dumps(msgspec.to_builtins(value)), status, mimetype="application/json")


def is_of_api(path: str) -> bool:
    """Return whether the errors of an address are JSON."""
    return path.startswith(ROOT)


def description() -> dict[str, Any]:
    """Return the description of the API: https://spec.openapis.org/oas/v3.1.0.html."""
    types = [Error, *dict.fromkeys(_answer(function) for function in PATHS.values())]
    _, schemas = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    return {
        "openapi": "3.1.0",
        "info": {"title": "Catalogues", "version": VERSION, "description": "What the catalogues hold; read-only."},
        "servers": [{"url": "/"}],
        "paths": {path: {"get": _operation(path, function)} for path, function in PATHS.items()},
        "components": {"schemas": schemas},
    }


def _add(app: Flask, rule: str, view: Callable[..., Response]) -> None:
    app.add_url_rule(rule, rule, view, methods=["GET"], provide_automatic_options=False)


def _answered(site: Site, answer: Callable[..., Answer], **named: str) -> Response:
    return as_json(answer(site, questions.read(_question(answer), named, request.args)))


def _unknown(_: str = "") -> NoReturn:
    abort(404, f"There is no such address: {DESCRIPTION} describes those there are.")


def _question(function: Callable[..., Answer]) -> type[questions.Question]:
    return get_type_hints(function)["asked"]  # type: ignore[no-any-return]


def _answer(function: Callable[..., Answer]) -> type[Answer]:
    return get_type_hints(function)["return"]  # type: ignore[no-any-return]


def _operation(path: str, function: Callable[..., Answer]) -> dict[str, Any]:
    named = _NAMED.findall(path)
    errors = {str(status): _content(meaning, Error) for status, meaning in _ERRORS.items()}
    return {
        "operationId": function.__name__ + ("_by_path" if "id" in named else ""),
        "summary": cleandoc(function.__doc__ or ""),
        "parameters": list(_parameters(_question(function), named)),
        "responses": {"200": _content(_answer(function).__doc__ or "", _answer(function)), **errors},
    }


def _parameters(kind: type[questions.Question], named: list[str]) -> Any:
    required = questions.required(kind)
    for name, schema in questions.described(kind).items():
        is_in_path = name in named
        yield {
            "name": name,
            "in": "path" if is_in_path else "query",
            "required": is_in_path or name in required,
            "description": schema.pop("description"),
            "schema": schema,
        }


def _content(meaning: str, kind: type[Answer]) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{kind.__name__}"}
    return {"description": meaning, "content": {"application/json": {"schema": schema}}}
