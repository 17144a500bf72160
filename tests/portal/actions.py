"""CKAN's action API and HDX's exports: what the portal answers when nothing is wrong."""

import json
import re
from collections.abc import Callable
from html import escape
from typing import Any

from tests.portal import data
from tests.portal.catalogue import DEFAULT_SORT, Catalogue, Dataset, Search
from tests.portal.faults import Faults, Result
from tests.portal.message import JSON, Answer, BadBodyError, Request, json_answer, page
from tests.portal.search import QuerySyntaxError

VERSION = "2.10.4"
ROWS = 10
ORGANIZATIONS_MAX = 25
QUERY_PARAMETERS = {"q", "fq", "fq_list", "fl", "sort", "start", "rows", "extras"}
SOLR_PARAMETERS = {"wt", "qf", "bf", "boost", "tie", "defType", "mm", "df"}
FACET_PARAMETERS = {"facet", "facet.field", "facet.limit", "facet.mincount"}
CKAN_PARAMETERS = {"include_private", "include_drafts", "include_deleted", "use_default_schema"}
SEARCH_PARAMETERS = QUERY_PARAMETERS | SOLR_PARAMETERS | FACET_PARAMETERS | CKAN_PARAMETERS

TOKEN = "a-token-that-is-accepted"  # any other is taken for none, as CKAN does

Action = Callable[["Portal", Request], Answer]
ACTIONS: dict[str, Action] = {}


class InvalidParameterError(ValueError):
    """The parameter, and what is wrong with it."""


class NotFoundError(LookupError):
    """No such dataset or resource."""

    answer = (404, "Not Found Error", "Not found")


class NotAuthorizedError(Exception):
    """Who asks may not see it: it is deleted, a draft or private."""

    answer = (403, "Authorization Error", "Access denied: User not authorized to read package")


class Portal:
    """A catalogue, its faults and its settings."""

    def __init__(self, catalogue: Catalogue, faults: Faults, *, rows_max: int = 1000) -> None:
        self.catalogue = catalogue
        self.faults = faults
        self.rows_max = rows_max
        self.schemas: dict[str, list[str]] = {}  # the fields of a type, where ckanext-scheming declares it
        self.tables: dict[str, Any] = {}  # of the datastore, by resource


def action(function: Action) -> Action:
    ACTIONS[function.__name__] = function
    return function


def perform(portal: Portal, name: str, request: Request) -> Answer:
    if name not in ACTIONS:
        return json_answer(f"Bad request - Action name not known: {name}", 400)
    try:
        return ACTIONS[name](portal, request)
    except BadBodyError as bad:
        return json_answer(f"Bad request - JSON Error: Error decoding JSON data. Error: {bad}", 400)
    except QuerySyntaxError as bad:
        return failure(request, name, 400, {"__type": "Search Query Error", "message": str(bad)})
    except InvalidParameterError as bad:
        return failure(request, name, 409, {"__type": "Validation Error", bad.args[0]: [bad.args[1]]})
    except (NotFoundError, NotAuthorizedError) as hidden:
        status, kind, message = hidden.answer
        return failure(request, name, status, {"__type": kind, "message": message})


def help_address(request: Request, name: str) -> str:
    return f"http://{request.host}/api/3/action/help_show?name={name}"


def failure(request: Request, name: str, status: int, details: dict[str, Any]) -> Answer:
    return json_answer({"help": help_address(request, name), "success": False, "error": details}, status)


def success(request: Request, name: str, result: bytes, rows: int = 0) -> Answer:
    envelope = f'{{"help": {json.dumps(help_address(request, name))}, "success": true, "result": '.encode()
    return Answer(200, b"".join((envelope, result, b"}")), JSON, rows=rows)


@action
def package_search(portal: Portal, request: Request) -> Answer:
    search = portal.faults.search(_search(portal, request))
    found = portal.catalogue.find(search)
    portal.faults.page(found)
    fields = portal.faults.fields(_fields(request))
    left_out = portal.catalogue.left_out(search, has_fields=bool(fields))
    given = [one for one in found.datasets if one.id not in left_out]
    records = [_projected(one, fields) if fields else portal.faults.record(one) for one in given]
    result = Result(found, records, found.count)
    portal.faults.result(result)
    return success(request, "package_search", _listing(result, search), rows=search.rows)


def _search(portal: Portal, request: Request) -> Search:
    unknown = sorted(name for name in request.parameters if name not in SEARCH_PARAMETERS and name[:4] != "ext_")
    if unknown:
        raise QuerySyntaxError(f"Invalid search parameters: {unknown}")
    return Search(
        q=request.text("q").strip(),
        fq=f"{_visible(request)} {request.text('fq')} {request.text('fq_list')} +state:active".strip(),
        sort=" ".join(request.text("sort").split()) or DEFAULT_SORT,
        start=_natural(request, "start", 0),
        rows=min(_natural(request, "rows", ROWS), portal.rows_max),
    )


def _visible(request: Request) -> str:
    """The clause that CKAN puts before those of whoever asks."""
    private = _has_token(request) and request.text("include_private").lower() in {"true", "1"}
    return "" if private else "+capacity:public"


def _has_token(request: Request) -> bool:
    return request.token == TOKEN


def _natural(request: Request, name: str, default: int) -> int:
    text = request.text(name)
    if not re.fullmatch(r"[+-]?\d{1,18}|", text):
        raise InvalidParameterError(name, "Invalid integer")
    number = int(text or default)
    if number < 0:
        raise InvalidParameterError(name, "Must be a natural number")
    return number


def _fields(request: Request) -> list[str]:
    names = re.findall(r"[\w.*]+", request.text("fl"))
    return [] if "*" in names else names


def _projected(dataset: Dataset, fields: list[str]) -> bytes:
    if fields == ["id"]:
        return json.dumps({"id": dataset.id}).encode()
    package = dataset.package
    found = {name: package[name] for name in fields if name in package}
    if "metadata_modified" in found:
        found["metadata_modified"] = _in_solr(found["metadata_modified"])
    return json.dumps(found).encode()


def _in_solr(stamp: str) -> str:
    """As the search index has it: milliseconds, if there are any, and a Z.

    >>> _in_solr("2026-11-01T06:00:00.925376"), _in_solr("2026-11-01T06:00:00")
    ('2026-11-01T06:00:00.925Z', '2026-11-01T06:00:00Z')
    """
    time, _, fraction = stamp.partition(".")
    return f"{time}.{fraction[:3]}Z" if fraction.rstrip("0") else f"{time}Z"


def _listing(result: Result, search: Search) -> bytes:
    count = b"" if result.count is None else b'"count": %d, ' % result.count
    head = b'{%s"sort": %s, "facets": {}, "results": [' % (count, json.dumps(search.sort).encode())
    return b"".join((head, b", ".join(result.records), b'], "search_facets": {}}'))


@action
def package_show(portal: Portal, request: Request) -> Answer:
    dataset = _shown(portal, request, asked(request, "name_or_id", "id", "name_or_id"))
    return success(request, "package_show", portal.faults.record(dataset))


def _shown(portal: Portal, request: Request, key: str) -> Dataset:
    dataset = portal.catalogue.get(key) or portal.catalogue.deleted.get(key)
    if not dataset or dataset.id in portal.catalogue.ghosts:
        raise NotFoundError
    if not dataset.is_public and not _has_token(request):
        raise NotAuthorizedError
    return dataset


@action
def am_following_dataset(portal: Portal, request: Request) -> Answer:
    _shown(portal, request, asked(request, "id", "id"))
    if not _has_token(request):
        raise NotAuthorizedError
    return success(request, "am_following_dataset", b"false")


@action
def resource_show(portal: Portal, request: Request) -> Answer:
    found = portal.catalogue.resource(asked(request, "id", "id"))
    if not found:
        raise NotFoundError
    _shown(portal, request, found[0]["id"])
    return success(request, "resource_show", json.dumps(found[1]).encode())


def asked(request: Request, missing: str, *names: str) -> str:
    for name in names:
        if request.text(name):
            return request.text(name)
    raise InvalidParameterError(missing, "Missing value")


@action
def package_list(portal: Portal, request: Request) -> Answer:
    names = [dataset.term("name") for dataset in portal.catalogue.ordered("name asc")]
    return _part(request, "package_list", names, len(names))


@action
def organization_list(portal: Portal, request: Request) -> Answer:
    """All fields of a few, or the names of all."""
    found = portal.catalogue.organizations()
    if request.text("all_fields").lower() in {"true", "1"}:
        return _part(request, "organization_list", list(found.values()), ORGANIZATIONS_MAX)
    return _part(request, "organization_list", list(found), len(found))


def _part(request: Request, name: str, everything: list[Any], limit: int) -> Answer:
    offset = _natural(request, "offset", 0)
    part = everything[offset : offset + _natural(request, "limit", limit)]
    return success(request, name, json.dumps(part).encode())


@action
def status_show(_portal: Portal, request: Request) -> Answer:
    status = {
        "site_title": "A portal for tests",
        "site_description": "",
        "site_url": f"http://{request.host}",
        "ckan_version": VERSION,
        "error_emails_to": None,
        "locale_default": "en",
        "extensions": ["activity", "hdx_package"],
    }
    return success(request, "status_show", json.dumps(status).encode())


def dataset_export(portal: Portal, request: Request, key: str) -> Answer:
    dataset = portal.catalogue.get(key)
    dataset = dataset if dataset and (dataset.is_public or _has_token(request)) else None
    if not dataset or "json" not in request.text("format"):
        return page(404, "Dataset not found" if not dataset else "Invalid file format")
    body = json.dumps(data.export_dataset(dataset.package), indent=4).encode()
    return _attachment(body, dataset.term("name"))


def resource_export(portal: Portal, request: Request, resource_id: str) -> Answer:
    """The dataset's id in the address is not looked at, as at HDX."""
    found = portal.catalogue.resource(resource_id)
    if not found or "json" not in request.text("format"):
        return page(404, "Resource not found" if not found else "Invalid file format")
    return _attachment(_indented(data.export_resource(*found)), str(found[1]["name"]))


def _indented(values: dict[str, Any]) -> bytes:
    """As json.dumps(values, indent=4), five times faster: no value is a list or a dict."""
    flat = json.dumps(values, separators=(",\n    ", ": "))
    return f"{{\n    {flat[1:-1]}\n}}".encode()


def _attachment(body: bytes, name: str) -> Answer:
    munged = re.sub(r"[^A-Za-z0-9_.-]+", "-", name)
    return Answer(
        200, body, "application/json", {"Content-Disposition": f'attachment; filename="metadata-{munged}.json"'}
    )


def dataset_page(portal: Portal, key: str) -> Answer:
    dataset = portal.catalogue.get(key)
    return page(200, escape(dataset.term("title_string"))) if dataset else page(404)
