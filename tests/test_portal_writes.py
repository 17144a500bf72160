"""The tests' portal takes writes as CKAN does: whoever publishes is tried against it."""

from __future__ import annotations

import http.client
import json
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

import pytest

from tests.portal import records
from tests.portal.writes import WRITE_TOKEN

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.portal.portal import Portal

SITE = records.site(1)
ROW = {"day": "2026-11-15", "subject": "a", "value": "7"}
FIELDS = [{"id": "day", "type": "date"}, {"id": "subject", "type": "text"}, {"id": "value", "type": "text"}]


def ask(portal: Portal, action: str, token: str = WRITE_TOKEN, **parameters: Any) -> tuple[int, Any]:
    """Return the status, and the result or the error; a write is never sent twice."""
    body = json.dumps(parameters).encode()
    request = Request(f"{portal.url}/api/3/action/{action}", body, {"Authorization": token})
    try:
        with build_opener(ProxyHandler({})).open(request, timeout=60) as answer:
            return answer.status, json.load(answer)["result"]
    except HTTPError as error:
        with error:
            is_json = "json" in error.headers["Content-Type"]
            return error.code, json.load(error)["error"] if is_json else error.read()


@pytest.fixture
def catalogue(portal: Callable[..., Portal]) -> Portal:
    started = portal(datasets=0)
    started.change(put=[SITE, records.site(2, extras=True)], schemas={"site": records.SITE_FIELDS})
    return started


def test_a_write_needs_the_token_that_may(catalogue: Portal) -> None:
    before = catalogue.packages()
    for action in ("package_patch", "package_update", "package_delete", "package_create", "resource_patch"):
        status, error = ask(catalogue, action, token="another", id=SITE["id"])
        assert (status, error["__type"]) == (403, "Authorization Error")
    assert catalogue.packages() == before


def test_a_patch_replaces_the_given_fields_and_all_extras(catalogue: Portal) -> None:
    extras = [{"key": "zone", "value": 5}]
    status, patched = ask(catalogue, "package_patch", id="site-1", num_datasets=9, unknown="x", extras=extras)
    assert status == 200
    assert {**SITE, **patched} == patched
    assert patched["metadata_modified"] > SITE["metadata_modified"]
    assert (patched["num_datasets"], patched["extras"]) == (9, [{"key": "zone", "value": "5"}])
    assert "unknown" not in patched


def test_what_does_not_change_keeps_its_stamp(catalogue: Portal) -> None:
    assert (
        ask(catalogue, "package_patch", id="site-1", title=SITE["title"])[1]["metadata_modified"]
        == (SITE["metadata_modified"])
    )


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"num_datasets": "many"}, "num_datasets"),
        ({"name": "site-2"}, "name"),
        ({"extras": [{"key": "num_datasets", "value": "1"}]}, "extras"),
        ({"owner_org": "nobody"}, "owner_org"),
    ],
)
def test_a_write_is_validated(catalogue: Portal, given: dict[str, Any], field: str) -> None:
    status, error = ask(catalogue, "package_patch", id=SITE["id"], **given)
    assert (status, error["__type"]) == (409, "Validation Error")
    assert field in error


def test_a_deleted_package_keeps_its_name_and_can_be_restored(catalogue: Portal) -> None:
    assert ask(catalogue, "package_delete", id="site-1") == (200, None)
    assert ask(catalogue, "package_show", token="", id=SITE["id"])[0] == 403
    taken = {**SITE, "title": "Another"}
    del taken["id"]
    assert "name" in ask(catalogue, "package_create", **taken)[1]
    ask(catalogue, "package_patch", id=SITE["id"], state="active")
    assert ask(catalogue, "package_show", token="", id="site-1")[0] == 200


def test_the_datastore_upserts_by_its_key(catalogue: Portal) -> None:
    resource = {"package_id": "site-1", "name": "Figures"}
    made = ask(catalogue, "datastore_create", resource=resource, fields=FIELDS, primary_key=["day", "subject"])[1]
    table = {"resource_id": made["resource_id"]}
    for value in ("7", "8"):
        ask(catalogue, "datastore_upsert", **table, records=[{**ROW, "value": value}, {**ROW, "subject": "b"}])
    found = ask(catalogue, "datastore_search", token="", **table, filters={"subject": ["a"], "day": ROW["day"]})[1]
    assert found["records"] == [{"_id": 1, **ROW, "value": "8"}]
    assert ask(catalogue, "datastore_upsert", **table, records=[{**ROW, "other": 1}])[0] == 409
    assert ask(catalogue, "datastore_upsert", **table, records=[{**ROW, "day": "soon"}])[0] == 409
    ask(catalogue, "datastore_delete", **table, filters={"subject": "a"})
    assert [row["subject"] for row in catalogue.tables()[made["resource_id"]]["rows"]] == ["b"]


def test_writes_can_fail_before_and_after_they_are_done(catalogue: Portal) -> None:
    catalogue.fault(write_fails="1:502", write_lost="2", write_refused="3")
    assert ask(catalogue, "package_patch", id="site-1", num_datasets=1)[0] == 502
    assert catalogue.packages()[SITE["id"]] == SITE
    with pytest.raises(http.client.RemoteDisconnected):
        ask(catalogue, "package_patch", id="site-1", num_datasets=2)
    assert catalogue.packages()[SITE["id"]]["num_datasets"] == 2
    assert ask(catalogue, "package_patch", id="site-1", num_datasets=3)[0] == 409
    assert len(catalogue.writes()) == 3
