"""Declarations of JSON APIs: a mistake is named with its key and its line, and no record breaks the mapping."""

from __future__ import annotations

import json
import random
import re
from dataclasses import fields, is_dataclass, replace
from functools import partial
from importlib import resources

import jmespath
import orjson
import pytest
from jmespath.visitor import TreeInterpreter

from crawlers.exceptions import RulesError
from crawlers.items import Dataset, Resource
from crawlers.kinds.api import declaration, detection, file, mapping, query
from crawlers.kinds.api.declaration import Header
from crawlers.kinds.api.expressions import NAMES, Expression, Functions, compiled, expression
from crawlers.kinds.api.mapping import Reading
from crawlers.kinds.api.query import Ask, Query
from crawlers.listing.walk import Walk

TEXT = """
title = "Rivers"
[list]
url = "{portal}/api/datasets"
records = "items"
total = "total"
[list.paging]
kind = "offset"
param = "start"
size = { param = "rows", max = 50 }
[dataset]
id = "id"
title = "title || name"
landing_page = "{portal}/d/{id}"
[[resource]]
each = "files"
url = "href"
"""
PORTAL = "https://data.example.org"


def read(text=TEXT):
    return file.loads(text, "rivers")


def test_a_record_becomes_an_item():
    record = {"id": 7, "title": "  ", "name": " Elbe ", "files": [{"href": "https://a.org/x.csv"}]}
    item = Reading(record, read()).dataset(PORTAL, "s")
    assert (item.id, item.title, item.landing_page) == ("7", "Elbe", f"{PORTAL}/d/7")
    assert [(one.url, one.format) for one in item.resources] == [("https://a.org/x.csv", "CSV")]
    assert item.document is record
    assert Reading(record, read()).lazily(PORTAL, "s").title == "Elbe"


def test_a_page_says_what_it_holds():
    listing = read().list
    page = {"items": [{"id": 1}], "total": "12"}
    assert query.records(page, listing) == [{"id": 1}]
    assert query.total(page, listing.total) == 12
    assert query.records({"items": None}, listing) is None


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('records = "items"', 'record = "items"', "line 3: list.records is missing."),
        ('total = "total"', 'totl = "total"', "line 6: list.totl is unknown. Did you mean total?"),
        ('"title || name"', '"title |"', "line 13: dataset.title is not JMESPath"),
        ('"title || name"', '"a | b || c"', "line 13: dataset.title: `a | b || c` is `a | (b || c)`"),
        ('"title || name"', '"titel(x)"', "dataset.title calls titel(), which is unknown"),
        ("{portal}/d/{id}", "{portal}/d/{slug}", "line 14: dataset.landing_page: nobody fills {slug}"),
        ('param = "start"\n', "", "line 7: list.paging.param is missing, which paging of kind offset needs"),
    ],
)
def test_a_mistake_is_named(old, new, says):
    assert old in TEXT
    with pytest.raises(RulesError) as found:
        read(TEXT.replace(old, new))
    assert says in str(found.value)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('headers = { Authorization = "Bearer 123" }', "list.headers.Authorization may be a secret"),
        ('headers = { X-App-Token = "123" }', "list.headers.X-App-Token may be a secret"),
        ('headers = { Ocp-Apim-Subscription-Key = "123" }', "list.headers.Ocp-Apim-Subscription-Key may be a secret"),
        (
            'headers = { X-Token = { env = "MY TOKEN" } }',
            "list.headers.X-Token.env is 'MY TOKEN', and must be the name",
        ),
        ('headers = { Accept = "a\\nb" }', "list.headers.Accept is not a header"),
        ('params = { api_key = "123" }', "list.params.api_key may be a secret"),
        ('params = { subscription-key = "123" }', "list.params.subscription-key may be a secret"),
        ('count = { url = "{portal}/n?token=123", total = "t" }', "list.count.url may have a secret, which never"),
        ('since = { params = { q = "recent" } }', "list.since.params lacks {since}: the moment after which"),
        ('since = { params = { start = "{since}" } }', "list.paging: start is filled twice"),
        ('hosts = ["a.org", "https://b.org"]', "list.hosts has 'https://b.org', and must have hosts: data.example.org"),
        ('params = { q = { env = "TOKEN" } }', "list.params.q is neither a text nor a number"),
        ('params = { q = "{id}" }', "list.params.q: nobody fills {id}"),
        ("body = { day = 2026-01-01 }", "list.body.day is a date, which JSON has not"),
        ('body = { token = "123" }', "list.body.token may be a secret"),
        (
            'since = { params = { q = "{since}" } }\nparams = { q = "b" }',
            "list.join is missing: q takes several conditions",
        ),
        ('window = { restart = { param = "q", value = "x", seen = "d" } }', "list.window.restart.value lacks {seen}"),
        ('walk = "graph"', "list.walk is 'graph', and must be one of stac-static"),
        ('method = "PUT"', "list.method is 'PUT', and must be one of GET, POST"),
        ('method = ""', "list.method is empty: write a value, or leave it out"),
        ('next = "n"', "list.next is for paging of kind next, and not of offset"),
        ('next = ""', "list.next is empty: write a value, or leave it out"),
        ('count = { url = "x", total = "t" }', "list.count.url is 'x', and must begin with {portal}/, https://"),
        ('walk = "stac-static"', "list.total means nothing beside walk"),
        ('ok = "length(a, b)"', "list.ok: length() takes 1 values, not 2"),
        (f'ok = "{"a." * 3000}a"', "list.ok has 6001 characters, and may have 4000"),
        (f'ok = "{"(" * 900}a{")" * 900}"', "list.ok is not JMESPath"),
    ],
)
def test_what_a_listing_may_not_say(line, says):
    with pytest.raises(RulesError) as found:
        read(TEXT.replace("[list.paging]", f"{line}\n[list.paging]"))
    assert says in str(found.value)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ('check = "mine"', "check is 'mine', and must be one of arcgis-scope"),
        ('check = ""', "check is empty: write a value, or leave it out"),
        ('follow = ""', "follow is not a table: write [[follow]]"),
        ('language = "foo(a)"', "language is 'foo(a)', and must be the code of a language: en, de-AT"),
        ('metadata_url = "nope"', "metadata_url is 'nope', and must begin with {portal}/, https:// or http://"),
        ("[recognise]\nprobe = '{host}/x'", "recognise.probe is '{host}/x', and must begin with {portal}/"),
        ("[recognise]\ndoors = ['/oai']", "recognise.doors is '/oai', and must begin with {portal}/"),
        ('metadata_url = "https://example.org/{id}"', "metadata_url begins neither with {portal} nor with"),
        ("[names]\nid = 'x'", "names.id: that name has another meaning"),
        ("[[follow]]\ninto = 'a'\nurl = '{portal}/{nr}'\nrecords = '@'", "follow[0].url: nobody fills {nr}"),
        ("[[resource]]\neach = 'x'\nsiez = 'y'", "resource[1].siez is unknown. Did you mean size?"),
        ("[recognise]\nprobe = '{portal}/{x}'", "recognise.probe: nobody fills {x}"),
        ("resource = 3", "is neither TOML"),
    ],
)
def test_what_the_rest_may_not_say(more, says):
    text = f"{more}\n{TEXT}" if "[" not in more else f"{TEXT}\n{more}"
    with pytest.raises(RulesError) as found:
        read(text)
    assert says in str(found.value) or ("TOML" in says and "not TOML" in str(found.value))


@pytest.mark.parametrize("address", ["x", "/list", "ftp://x/{portal}", "{portal}list", "{host}/list", "https://[a/"])
def test_an_address_that_could_not_be_requested(address):
    with pytest.raises(
        RulesError, match=r"^line 4: list\.url is .* and must begin with {portal}/, https:// or http://"
    ):
        read(TEXT.replace("{portal}/api/datasets", address))


@pytest.mark.parametrize("address", ["{portal}/list?api_key=123", "https://me:123@example.org/list"])
def test_an_address_has_no_secret(address):
    with pytest.raises(RulesError, match=r"^line 4: list\.url may have a secret, which never stands in a file"):
        read(TEXT.replace("{portal}/api/datasets", address))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('param = "start"', 'param = "rows"', "line 7: list.paging: rows is filled twice"),
        ("/api/datasets", "/list?start=0", "line 4: list.url has start in its query, which is filled otherwise"),
    ],
)
def test_a_parameter_is_filled_once(old, new, says):
    with pytest.raises(RulesError, match=re.escape(says)):
        read(TEXT.replace(old, new))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('last = "id"', "list.paging.last is for paging of kind last-id or search-after, and not of offset"),
        ('token = "next"', "list.paging.token is for paging of kind token, and not of offset"),
        ('url = "{portal}/more"', "list.paging.url is for paging of kind token, and not of offset"),
    ],
)
def test_a_key_of_another_kind_of_paging(line, says):
    with pytest.raises(RulesError, match=re.escape(says)):
        read(TEXT.replace('param = "start"', f'param = "start"\n{line}'))


NUMBERED = TEXT.replace("/api/datasets", "/datasets/{page}").replace('"offset"\nparam = "start"', '"page"')


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            TEXT.replace('"total"', '{ header = "X Total" }'),
            "list.total.header is 'X Total', and must be the name of a",
        ),
        (TEXT.replace('"total"', '{ headers = "X-Total" }'), "list.total.header is missing"),
        (TEXT.replace('"total"', '{ header = "X-Total", text = "x" }'), "list.total.text is unknown"),
        (TEXT.replace("/api/datasets", "/{page}"), "list.url: {page} is for paging of kind page, and not of offset"),
        (TEXT.replace("/api/datasets", "/{offset}"), "list.paging.param and {offset} in list.url say the same"),
        (NUMBERED.replace("{page}", "1"), "list.paging.param is missing, which paging of kind page needs"),
        (TEXT.replace("/d/{id}", "/d/{page}"), "dataset.landing_page: nobody fills {page}"),
    ],
)
def test_what_headers_and_paths_may_not_say(text, says):
    with pytest.raises(RulesError, match=re.escape(says)):
        read(text)


def test_a_place_in_the_path():
    numbered = read(NUMBERED)
    asked = [Query(numbered, PORTAL).request(Walk(ask=Ask(at=at)), "").url for at in (None, 0, 2)]
    assert asked == [f"{PORTAL}/datasets/{number}?rows=50" for number in (1, 1, 3)]
    assert numbered.metadata_url.text == "{portal}/datasets"
    assert Query(numbered, PORTAL).address(numbered.list.url) == f"{PORTAL}/datasets/1"


def test_what_an_answer_says_in_its_headers():
    wanted = read(TEXT.replace('"total"', '{ header = "X-Total-Count" }')).list.total
    assert query.total({}, wanted, {"x-total-count": " 12"}) == 12
    assert query.total({"total": 12}, wanted) is None
    assert query.text({}, Header(header="Link"), {"link": '<b?p=1>; rel="prev", <b?p=3>; rel="next"'}) == "b?p=3"
    assert query.text({}, Header(header="Link"), {"link": "<b?p=1>; rel=prev"}) is None


def test_each_field_that_a_declaration_may_fill_has_a_reader_and_each_that_an_item_has_may_be_filled():
    """So a field that is new can't be accepted and then break each record."""
    ours = {"document", "document_id", "id", "source", "stored", "aliases", "resources", "retrieved", "flaws", "torn"}
    ours |= {"metadata_source", "metadata_url", "set_by_operator", "dataset_id"}
    of = {Dataset: declaration.DATASET_FIELDS, Resource: declaration.RESOURCE_FIELDS}
    assert {item: {one.name for one in fields(item)} - ours for item in of} == {item: set(of[item]) for item in of}
    more = {item: "".join(f"{name} = 'x'\n" for name in of[item] if f"{name} =" not in TEXT) for item in of}
    text = TEXT.replace("[[resource]]", f"{more[Dataset]}[[resource]]") + more[Resource]
    item = Reading({"id": 1, "files": [{}, {"href": "https://a.org/x"}]}, read(text)).dataset(PORTAL, "s")
    assert (item.id, len(item.resources)) == ("1", 1)
    with pytest.raises(RulesError, match=r"dataset\.doi is unknown"):
        read(TEXT.replace("title =", "doi = 'doi'\ntitle ="))


def test_what_a_walk_would_pass_over_is_refused():
    text = resources.files("crawlers.kinds.api").joinpath("stac-static.toml").read_text(encoding="utf-8")
    follow = "[[follow]]\ninto = 'a'\nurl = '{portal}/x'\nrecords = '@'"
    with pytest.raises(RulesError, match="line 45: follow means nothing beside"):
        file.loads(f"{text}\n{follow}", "tree")


def test_a_post_without_a_body_is_a_post():
    declaration = read(TEXT.replace("[list.paging]", 'method = "POST"\n[list.paging]'))
    request = Query(declaration, PORTAL).request(Walk(ask=Ask()), "")
    assert (request.method, json.loads(request.body)) == ("POST", {"start": 0, "rows": 50})


def test_the_name_of_other_records_is_taken():
    with pytest.raises(RulesError, match="'rdf' is that of records of another kind"):
        file.loads(TEXT, "rdf")
    with pytest.raises(RulesError, match="is not of small letters"):
        file.loads(TEXT, "My API")


# Where declarations are found


def test_ones_own_declaration_overrides_the_projects(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert file.load("opendatasoft").title.startswith("Opendatasoft")
    folder = tmp_path / "catalogues" / "kinds"
    folder.mkdir(parents=True)
    (folder / "opendatasoft.toml").write_text(TEXT, encoding="utf-8")
    assert file.load("opendatasoft").title == "Rivers"
    (folder / "mine.toml").write_text(TEXT, encoding="utf-8")
    assert file.load("mine").name == file.load("catalogues/kinds/mine.toml").name == "mine"
    item = mapping.reader("opendatasoft")({"id": "7", "title": "Elbe"}, "s", "7", f"{PORTAL}/api/datasets")
    assert item.title == "Elbe", "what is on disk is read by the file that gave it"


def test_a_mistake_in_a_declaration_on_disk_is_told_once(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "catalogues" / "kinds"
    folder.mkdir(parents=True)
    (folder / "broken.toml").write_text(TEXT.replace("records", "recordz"), encoding="utf-8")
    assert [mapping.reader(name) for name in ("broken", "broken", "nothing")] == [None] * 3
    assert [line.partition(": ")[2] for line in caplog.messages] == ["line 3: list.records is missing."]


def test_what_sources_add_recognises_by(tmp_path, monkeypatch, caplog):
    """Declarations of the working directory and of CRAWLERS_HOME; a mistake in one is logged, and hides no other."""
    monkeypatch.setenv("CRAWLERS_HOME", str(tmp_path / "home"))
    for place in ("here", "home"):
        (tmp_path / place / "catalogues" / "kinds").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    known = "[recognise]\nprobe = '{portal}/x'\nproof = 'x'\n"
    for name, text in (("here/{}/here", TEXT + known), ("home/{}/home", TEXT + known), ("home/{}/Rivers", TEXT)):
        (tmp_path / f"{name.format('catalogues/kinds')}.toml").write_text(text, encoding="utf-8")
    (tmp_path / "here/catalogues/kinds/broken.toml").write_text(TEXT.replace("records", "recordz"), encoding="utf-8")
    assert {"here", "home", "udata"} <= detection._declarations.__wrapped__().keys()
    assert "line 3: list.records is missing" in caplog.messages[0]
    assert "'Rivers': names are of small letters, digits and hyphens" in caplog.messages[1]


def test_a_crawl_needs_a_file_that_its_name_finds_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "catalogues" / "kinds").mkdir(parents=True)
    for place in ("mine.toml", "udata.toml", "catalogues/kinds/mine.toml"):
        (tmp_path / place).write_text(TEXT, encoding="utf-8")
    assert file.lasting("catalogues/kinds/mine.toml").name == "mine"
    assert file.lasting("udata").title.startswith("udata")
    for place in ("mine.toml", "udata.toml"):
        with pytest.raises(RulesError, match=r"Put the file into catalogues/kinds/, and say -a kind="):
            file.lasting(str(tmp_path / place))


@pytest.mark.parametrize("name", ["opendatasofd", "../x", "", "a/b", "x" * 300])
def test_a_declaration_that_is_missing(name):
    with pytest.raises(RulesError, match=r"There is no declaration .*There are: arcgis-hub, ") as found:
        file.load(name)
    assert ("Did you mean opendatasoft?" in str(found.value)) == (name == "opendatasofd")
    with pytest.raises(RulesError, match="can't be read: there is no such file in"):
        file.load("catalogues/kinds/none.toml")


def test_a_mistake_names_its_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(TEXT.replace("records", "recordz"), encoding="utf-8")
    with pytest.raises(RulesError, match=f"^The declaration {re.escape(str(path))}: line 3: list.records is missing"):
        file.load(str(path))


# Functions


def call(text, value):
    return expression(text, "here")(value)


@pytest.mark.parametrize(
    ("text", "value", "found"),
    [
        ("lang(@)", {"fr": "Eau", "en": "Water"}, "Water"),
        ("lang(@)", {"fr": "Eau", "en": "  "}, "Eau"),
        ("lang(@)", [{"@language": "fr", "@value": "Eau"}, {"@language": "en", "@value": "Water"}], "Water"),
        ("lang(@)", {"default": "Wasser", "langger": "Wasser", "langeng": "Water"}, "Water"),
        ("lang(@)", "Eau", "Eau"),
        ("lang(@)", 7, None),
        ("html(@)", "<p>a <b>b</b></p>", "a **b**"),
        ("items(@)", {"a": 1}, [{"key": "a", "value": 1}]),
        ("items(@)", None, []),
        ("epoch_ms(@)", 1773480413000, "2026-03-14T09:26:53Z"),
        ("epoch_s(@)", "1503676584", "2017-08-25T15:56:24Z"),
        ("epoch_ms(@)", None, None),
        ("epoch_ms(@)", True, None),
        ("checksum(@)", f"md5:{'0' * 32}", {"algorithm": "md5", "value": "0" * 32}),
        ("checksum(@)", {"type": "sha1", "value": "A" * 40}, {"algorithm": "sha1", "value": "a" * 40}),
        ("checksum(@)", {"type": ["x"], "value": 3}, None),
        ("period(@)", ["2015-06-27T00:00:00Z", None], {"start": "2015-06-27T00:00:00Z", "end": None}),
        ("period(@)", {"start": "2020", "end": ""}, {"start": "2020", "end": None}),
        ("period(@)", "2019/..", {"start": "2019", "end": None}),
        ("period(@)", [[None, None]], None),
        ("place(@).name", "Graz", "Graz"),
        ("place(@).geometry.type", '{"type": "Point", "coordinates": [1, 2]}', "Point"),
        ("place(@).geometry.type", "POINT (1 2)", "Point"),
        ("place(@)", 3, None),
        ("bbox(@).coordinates[0][2]", [1, 2, 3, 4], [3.0, 4.0]),
        ("bbox(@).coordinates[0][2]", [1, 2, 0, 3, 4, 9], [3.0, 4.0]),
        ("bbox(@)", ["a", 2, 3, 4], None),
        ("zip(n, v)", {"n": ["a", "b"], "v": [1, 2]}, {"a": 1, "b": 2}),
        ("zip(n, v)", {"n": ["a"], "v": [[1], [2]]}, [{"a": 1}, {"a": 2}]),
        ("zip(n, v)", {"n": "a", "v": None}, None),
        ("split(@, ',')", " a, b,,", ["a", "b"]),
        ("split(@, ',')", 3, []),
    ],
)
def test_a_function(text, value, found):
    assert call(text, value) == found


def test_the_language_that_is_wanted():
    value = {"fr": "Eau", "en": "Water", "de-AT": "Wasser"}
    assert expression("lang(@)", "here", "de")(value) == "Wasser"
    assert expression("lang(@)", "here", "it")(value) == "Water"


def test_the_functions_are_those_that_are_documented():
    assert (
        sorted(("lang", "html", "items", "epoch_ms", "epoch_s", "checksum", "period", "place", "bbox", "zip", "split"))
        == NAMES
    )


# Traps of JMESPath


def test_other_ids_of_a_dataset_are_its_aliases():
    record = {"id": "a1", "title": "Elbe", "harvest": {"remote_id": "x-7", "uri": "a1"}}
    item = Reading(record, file.load("udata")).dataset("https://data.example.org", "s")
    assert (item.id, item.aliases) == ("a1", ["x-7"])
    assert Reading({"id": "a2"}, file.load("udata")).dataset("https://a.org", "s").aliases == []


def test_blanks_are_no_value():
    record = {"id": "1", "title": " \n", "name": "Elbe"}
    assert Reading(record, read()).dataset(PORTAL, "s").title == "Elbe"
    assert Reading({"id": "  "}, read()).id is None


def test_an_expression_that_fails_empties_its_field_alone():
    declaration = read(TEXT.replace('"title || name"', "\"join(' ', title)\""))
    item = Reading({"id": "1", "title": 3}, declaration).dataset(PORTAL, "s")
    assert (item.id, item.title, item.landing_page) == ("1", None, f"{PORTAL}/d/1")
    assert item.flaws[0].startswith("title can't be read: JMESPathTypeError: ")


def test_a_template_without_its_value_is_no_address():
    declaration = read(TEXT.replace("{portal}/d/{id}", "{portal}/d/{slug}") + "\n[names]\nslug = 'slug'")
    assert Reading({"id": "1"}, declaration).dataset(PORTAL, "s").landing_page is None
    item = Reading({"id": "1", "slug": "a/ü"}, declaration).dataset(PORTAL, "s")
    assert item.landing_page == f"{PORTAL}/d/a%2F%C3%BC"


def test_a_relative_address_is_the_portals():
    item = Reading({"id": "1", "files": [{"href": "/x.csv"}]}, read()).dataset(PORTAL, "s")
    assert item.resources[0].url == f"{PORTAL}/x.csv"
    tree = file.load("stac-static")
    record = {"id": "1", "assets": {"data": {"href": "data/a.tif"}}}
    item = Reading(record, tree).dataset("https://a.org/c/collection.json", "s")
    assert item.resources[0].url == "https://a.org/c/data/a.tif"
    assert mapping.reader("stac-static")(record, "s", "1", item.metadata_url) == item


def test_ids_of_resources_differ():
    files = [{"href": "https://a.org/x"}, {"href": "https://a.org/x"}, {"href": "n/a"}]
    item = Reading({"id": "1", "files": files}, read()).dataset(PORTAL, "s")
    assert [one.id for one in item.resources] == ["https://a.org/x", "https://a.org/x-2", "1-2"]


def test_the_id_that_a_resource_has_stays_its_own():
    declaration = read(TEXT.replace('url = "href"', 'id = "id"'))
    files = [{"id": "csv"}, {"id": "csv"}, {"id": "csv-2"}, {"id": "csv"}, {"id": "csv-2"}]
    item = Reading({"id": "1", "files": files}, declaration).dataset(PORTAL, "s")
    assert [one.id for one in item.resources] == ["csv", "csv-3", "csv-2", "csv-4", "csv-2-2"]


SQUARE = {"type": "Polygon", "coordinates": [[[1, 2], [3, 2], [3, 4], [1, 4], [1, 2]]]}


@pytest.mark.parametrize(
    ("given", "shapes", "flaws"),
    [
        ("1 2 3 4", [SQUARE], []),
        (["POLYGON((1 2, 3 2, 3 4, 1 4))"], [SQUARE], []),
        ({"geometry": [1, 2, 0, 3, 4, 9]}, [SQUARE], []),
        ({"geometry": None}, [], []),
        ({"geometry": "POINT(500000 2)"}, [], ["spatial.geometry 'POINT(500000 2)' is no place"]),
        ("POINT(500000 2)", [], ["spatial 'POINT(500000 2)' is no place"]),
    ],
)
def test_places_of_a_declaration(given, shapes, flaws):
    declaration = read(TEXT.replace("[[resource]]", 'spatial = "where"\n[[resource]]'))
    item = Reading({"id": "1", "title": "A", "where": given}, declaration).dataset(PORTAL, "s")
    assert ([place.geometry for place in item.spatial], item.flaws) == (shapes, flaws)


def test_places_of_shipped_declarations():
    sides = {"westBoundLongitude": "1", "southBoundLatitude": 2, "eastBoundLongitude": 3, "northBoundLatitude": 4}
    polygon = [{"polygonPoint": {"pointLongitude": x, "pointLatitude": y}} for x, y in ((1, 2), (3, 2), (3, 4), (1, 4))]
    places = [{"geoLocationPlace": "Elbe", "geoLocationBox": sides}, {"geoLocationPolygon": polygon}]
    datacite = {"id": "10.5072/a", "attributes": {"doi": "10.5072/a", "geoLocations": places}}
    item = Reading(datacite, file.load("datacite-rest")).dataset(PORTAL, "s")
    assert [(place.name, place.geometry) for place in item.spatial] == [("Elbe", SQUARE), (None, SQUARE)]
    for boxes in ([[1, 2, 3, 4]], [1, 2, 3, 4], [[1, 2, 0, 3, 4, 9]]):
        stac = {"id": "a", "extent": {"spatial": {"bbox": boxes}}, "links": []}
        item = Reading(stac, file.load("stac")).dataset(PORTAL, "s")
        assert [place.geometry for place in item.spatial] == [SQUARE]


def test_what_is_too_many_is_a_flaw():
    declaration = read(TEXT.replace("[[resource]]", 'contacts = "people"\nspatial = "places"\n[[resource]]'))
    record = {
        "id": "1",
        "files": [{"href": f"https://a.org/{number}"} for number in range(12_000)],
        "people": [f"Person {number}" for number in range(1_001)],
        "places": [f"Place {number}" for number in range(1_002)],
    }
    item = Reading(record, declaration).dataset(PORTAL, "s")
    assert (len(item.resources), len(item.contacts), len(item.spatial)) == (10_000, 1_000, 1_000)
    assert sorted(item.flaws) == [
        "12000 resources, 10000 are read: the document has all",
        "contacts: 1001 agents, 1000 are read: the document has all",
        "spatial: 1002 places, 1000 are read: the document has all",
    ]


@pytest.mark.parametrize(("given", "total"), [("1020", 1020), (20.0, 20), ("1,020", None), (2.5, None), (1e300, None)])
def test_a_total(given, total):
    assert query.total({"total": given}, read().list.total) == total


# Hostile records

HOSTILE = [None, True, 0, -1, 1e308, 10**400, "", "   ", "\ud800", "x" * 100_000, "<b>" * 5_000, "javascript:alert(1)"]
HOSTILE += [[], {}, [[]], [None], [{}], {"": {}}, [1, "a", None, {"id": 1}], ["a"] * 1_000, {"en": 1, "de": ["x"]}]
HOSTILE += ["{portal}/{id}", "9999-99-99", "0000-00-00T00:00:00Z", '{"type": "Point", "coordinates": [NaN, 1]}']


def nested(depth):
    value = "end"
    for _ in range(depth):
        value = {"a": [value]}
    return value


HOSTILE += [nested(400)]


def paths(declaration):
    """The paths of fields that its expressions read."""
    fillers = [declaration.id, *declaration.fields.values()]
    fillers += [one for each in declaration.resources for one in (each.each, *each.fields.values())]
    found = {
        path for one in fillers if isinstance(one, Expression) for path in _paths(jmespath.compile(one.text).parsed)
    }
    return sorted(found)


def _paths(node, above=()):
    """The paths below a node of JMESPath's tree; what stands in brackets and functions begins anew."""
    if node["type"] == "field":
        yield (*above, node["value"])
    elif node["type"] == "subexpression":
        here = above
        for child in node["children"]:
            found = list(_paths(child, here))
            yield from found
            here = found[-1] if found else here
    else:
        for child in node["children"]:
            if isinstance(child, dict) and "type" in child:
                yield from _paths(child, above)


def put(record, path, value):
    for name in path[:-1]:
        inner = record.get(name)
        if not isinstance(inner, dict):
            inner = record[name] = {}
        record = inner
    record[path[-1]] = value


@pytest.mark.slow
@pytest.mark.parametrize("name", file.shipped())
def test_nothing_that_a_record_has_raises(name):
    declaration = file.load(name)
    places = paths(declaration)
    draw = random.Random(name)
    for turn in range(60):
        record = {}
        for path in draw.sample(places, min(len(places), 1 + turn % 40)):
            put(record, path, json.loads(json.dumps(draw.choice(HOSTILE))))
        item = Reading(record, declaration).dataset(PORTAL, "s")
        check(item)
        assert len(item.resources) == Reading(record, declaration).resource_count
        lazy = Reading(record, declaration).lazily(PORTAL, "s")
        assert (lazy.id, lazy.title, lazy.metadata_modified) == (item.id, item.title, item.metadata_modified)
        if item.id:
            assert mapping.read(declaration, record, "s", item.id, item.metadata_url) == item
        assert Reading(record, declaration).is_dataset in (True, False)


def check(item):
    """Fail unless each field has the type that it says."""
    texts = (
        "id",
        "identifier",
        "uri",
        "name",
        "title",
        "description",
        "landing_page",
        "issued",
        "version",
        "provenance",
    )
    assert all(isinstance(getattr(item, name), str | None) for name in texts)
    for name in ("keywords", "themes", "languages", "conforms_to", "flaws"):
        assert all(isinstance(one, str) and one for one in getattr(item, name))
    assert len(item.flaws) <= 22
    for resource in item.resources:
        assert isinstance(resource.id, str)
        assert resource.id
        for name in ("url", "access_url", "download_url"):
            assert (getattr(resource, name) or "http").startswith(("http", "ftp"))
    orjson.dumps(replace(item, document=None))


ODD = """
@; a; a.b; [a, b]; {x: a, y: @}; a || b; a && b; !a; a[]; a[].b; a[*].b; a[0]; a[-2].b; a.*; a[1:]; a[?b]; a[?b == `1`]
a == b; a < b; `0` || a; a | @; [`null`, `[]`][]; a[][]; length(a); join(' ', a); sort_by(a, &b); map(&b, a); a.[b, c]
not_null(a, b, @); lang(a) || items(b); (a || b).c; a.{x: b}[]; a[*].[b]; (a && b) || c; a[0][0]; type(a[0] || b)
a[].{x: b, y: c[0]}[]; {x: `0`} || a; a[?@].b || `false`
""".replace("\n", ";").split(";")
ODD = [text.strip() for text in ODD if text.strip()]


def expressions(declaration):
    """The texts of all expressions of a declaration."""
    waiting, found = [declaration], set()
    while waiting:
        value = waiting.pop()
        if isinstance(value, Expression):
            found.add(value.text)
        elif is_dataclass(value):
            waiting += [getattr(value, one.name) for one in fields(value)]
        elif isinstance(value, dict | tuple):
            waiting += value.values() if isinstance(value, dict) else value
    return sorted(found)


def outcome(find, value):
    try:
        return json.dumps(find(value), default=repr)
    except Exception as error:  # noqa: BLE001 -- the two must fail alike, too
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("name", ["odd", *file.shipped()])
def test_a_compiled_expression_finds_what_jmespath_finds(name):
    texts = ODD if name == "odd" else expressions(file.load(name))
    trees = [jmespath.compile(text).parsed for text in texts]
    functions, draw = Functions("en"), random.Random(name)
    interpreter = TreeInterpreter(jmespath.Options(custom_functions=functions))
    places = sorted({path for tree in trees for path in _paths(tree)} | {("a", "b"), ("c",)})
    values = [*(value for value in HOSTILE if len(repr(value)) < 300), [{"b": 1}, {"b": 2, "c": [3]}], {"c": [[1]]}]
    records = [*values, *(drawn(draw, places, values, 1 + turn) for turn in range(40))]
    for text, tree in zip(texts, trees, strict=True):
        find = compiled(tree, functions)
        for record in records:
            assert outcome(find, record) == outcome(partial(interpreter.visit, tree), record), (text, record)


def drawn(draw, places, values, count):
    """A record with values at some of the places."""
    record = {}
    for path in draw.sample(places, min(len(places), count)):
        put(record, path, json.loads(json.dumps(draw.choice(values))))
    return record


@pytest.mark.parametrize("record", HOSTILE)
def test_a_record_that_is_none(record):
    for name in file.shipped():
        declaration = file.load(name)
        assert Reading(record, declaration).id is None or isinstance(Reading(record, declaration).id, str)
        query.records(record, declaration.list)
        assert query.total(record, declaration.list.total) is None
        query.text(record, declaration.list.next)
        query.refusal(record, declaration.list)
