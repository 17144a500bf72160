"""Pages, forms and APIs in a crawl of an archive."""

from __future__ import annotations

import pytest

from tests.archives import Archives
from tests.portal.files import Files


@pytest.fixture
def files():
    with Files(hosts=2) as hosts:
        yield hosts


@pytest.fixture
def archives(tmp_path, files):
    return Archives(tmp_path, files)


def test_the_data_that_a_page_links_is_archived_with_its_origin(archives, files):
    archives.list(["/page.html", "/wfs", "/wms-exception", "/arcgis/rest/services/Towns/MapServer"])
    ran = archives.crawl()
    last = archives.last()
    page = last["/page.html"]
    assert (page["state"], page["request_type"], page["finding"]) == ("not_taken", "page", "says CSV, is HTML")
    linked = {url: line for url, line in last.items() if line["origin"]}
    assert {line["origin"] for line in linked.values()} == {files.url("/page.html")}
    assert {"/ok.csv", "/ok.json", files.url("/ok.geojson", 1)} <= set(linked)
    assert not files.requests("/private/"), "robots.txt counts for what a page links"
    services = {path: last[path]["request_type"] for path in ("/wfs", "/arcgis/rest/services/Towns/MapServer")}
    assert services == {"/wfs": "wfs", "/arcgis/rest/services/Towns/MapServer": "arcgis"}
    assert len(archives.asked("/wfs")) == 1
    assert last["/wms-exception"]["error"] == "exception"
    assert "Traceback" not in ran.log


def test_a_file_behind_a_form(archives, files, tmp_path):
    (tmp_path / "forms.toml").write_text(
        f'[[forms]]\naddress = "{files.url("/form/*")}"\nform = "form#licence"\nsubmit = "button[value=download]"\n'
        'fields = { accept = true, format = "csv" }\n'
    )
    archives.list(["/form/file.csv"])
    archives.crawl()
    found = archives.last()["/form/file.csv"]
    assert (found["state"], found["request_type"], found["name"], found["extension"]) == ("kept", "form", "t", "csv")
