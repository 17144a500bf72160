"""The links of a page that lead to data, and the forms that stand before files."""

from __future__ import annotations

import os
from time import process_time

import pytest
from scrapy.http import HtmlResponse

from crawlers.archive.forms import Forms
from crawlers.archive.links import data_links
from crawlers.exceptions import AnswerError, RulesError

URL = "https://data.example.org/sets/wells"


def found(html: str, limit: int | None = None, url: str = URL) -> list[str]:
    return [link.url.removeprefix("https://data.example.org") for link in data_links(html.encode(), url, None, limit)]


TAKEN = [
    '<a href="/f/wells.csv">Wells</a>',
    '<a href="/f/wells.CSV?v=1#top">Wells</a>',
    '<a href="/f/wells.tar.gz">all</a>',
    '<a href="/f/roads.shp.zip">all</a>',
    '<a href="/f/report.pdf">Report</a>',
    '<a href="/f/wells.parquet">x</a>',
    '<a href="/wells/exports/csv">x</a>',
    '<a href="/register?format=csv">x</a>',
    '<a href="/f/register.csv">x</a>',
    '<a href="https://files.netflix.com/download">Download CSV</a>',
    '<a href="/wells?format=xlsx">x</a>',
    '<a href="/ows?request=GetFeature&outputFormat=application/json">x</a>',
    '<a href="/7" download>x</a>',
    '<a href="/7.png" download="map.png">x</a>',
    '<a href="/7" type="text/csv">x</a>',
    '<a href="/download/7">Download</a>'.replace("Download", "Download CSV"),
    '<a href="/7">Als Excel herunterladen</a>',
    '<a href="/7" title="CSV"><i></i>ダウンロード</a>',
    '<area href="/f/wells.zip">',
    '<link rel="alternate" type="text/csv" href="/7">',
    '<iframe src="/f/report.pdf"></iframe>',
    '<object data="/f/report.pdf"></object>',
    '<meta http-equiv="refresh" content="3; URL=/get/7">',
]
LEFT = [
    '<a href="/sets/other">Other</a>',
    '<a href="/login">Download</a>',
    '<a href="/user/login/;jsessionid=1?next=/f/wells.csv">Download CSV</a>',
    '<a href="/Account/Register.aspx" class="download">Register to download the CSV</a>',
    '<a href="https://www.facebook.com/sharer.php?u=wells.csv&format=csv">Download CSV</a>',
    '<a href="https://twitter.com/share?url=https://data.example.org/wells.csv">Download CSV</a>',
    '<a href="/news">Export of wheat</a>',
    '<a href="/a.html">CSV</a>',
    '<a href="/logo.png">Download</a>',
    '<a href="mailto:wells.csv@example.org">x</a>',
    "<a href=\"javascript:go('wells.csv')\">x</a>",
    '<a href="ftp://example.org/wells.csv">x</a>',
    '<a href="#wells.csv">x</a>',
    '<a href="">Download CSV</a>',
    '<a href="http://[bad/wells.csv">x</a>',
    '<a name="wells.csv">x</a>',
    f'<a href="/{"a" * 10_000}.csv">x</a>',
    '<link rel="stylesheet" type="text/css" href="/style.css">',
    "",
]


@pytest.mark.parametrize("html", TAKEN)
def test_links_to_data(html):
    assert len(found(f"<p>{html}</p>")) == 1


@pytest.mark.parametrize("html", LEFT)
def test_other_links(html):
    assert found(f"<p>{html}</p>") == []


def test_the_most_likely_come_first_and_no_address_twice():
    html = """<base href="https://data.example.org/files/">
        <header><a href="guide.pdf">How to use this portal</a></header>
        <div class="footer-links"><a href="/privacy.pdf">Privacy</a></div>
        <main><a href="https://elsewhere.org/wells.csv" download>CSV</a> <a href="https://files.example.org/w.csv">w</a>
        <a href="report.pdf">Report</a><a href="wells.csv">wells</a> <a href="wells.csv#a" download>Download CSV</a>
        <a href="/sets/wells?jsessionid=1">this page</a><a href="wells.xlsx;jsessionid=3">x</a></main>"""
    found = data_links(html.encode(), URL)
    assert [link.url for link in found] == [
        "https://data.example.org/files/wells.csv",
        "https://files.example.org/w.csv",
        "https://data.example.org/files/wells.xlsx;jsessionid=3",
        "https://data.example.org/files/report.pdf",
        "https://data.example.org/files/guide.pdf",
        "https://data.example.org/privacy.pdf",
        "https://elsewhere.org/wells.csv",
    ]
    assert found[0].text == "Download CSV"
    assert data_links(html.encode(), URL, limit=2) == found[:2]


def test_the_encoding_of_a_page():
    page = '<meta charset="iso-8859-1"><a href="/a.csv">Höhe</a>'.encode("latin-1")
    assert data_links(page, URL)[0].text == "Höhe"
    assert data_links('<a href="/a.csv">Списък</a>'.encode("cp1251"), URL, "windows-1251")[0].text == "Списък"


@pytest.mark.slow
def test_hostile_pages_cost_seconds_at_most():
    begun = process_time()
    assert data_links(b"<div>" * 100_000 + b'<a href="/a.csv">x</a>', URL) == []
    many = "".join(f'<a href="/{number}.csv">{"x" * 50}</a>' for number in range(20_000))
    assert len(data_links(many.encode(), URL, None, 20)) == 20
    assert found("<a href='/a.csv'>" * 5_000, 20) == ["/a.csv"]
    assert len(found(f"<a {'x=1 ' * 100}href='/a.csv'>" + "<b>" * 5_000 + "x" * 9_000_000)) <= 1
    assert found("<nav>" * 200 + '<a href="/a.csv">x</a>' * 5_000) == ["/a.csv"]
    data_links(b"\x00\xff" * 1_000_000, URL)
    assert process_time() - begun < 30


# Forms

FILE = """
[[forms]]
address = "https://data.example.org/files/*"
form = "form#licence"
fields = { agree = true, purpose = "research", email = { env = "FORM_EMAIL" } }
submit = "button[name=go]"
"""
FORM = """<form id="search"><input name="q"></form>
<form id="licence" method="post" action="/accept?x=1"><input type="hidden" name="token" value="a&amp;b">
<input type="checkbox" name="agree" value="yes"><input name="email">
<select name="purpose"><option value="none"><option value="research">Research</select>
<input type="checkbox" name="news" checked><button name="go" value="1">OK</button><button name="no">x</button></form>"""


def page(html: str, url: str = URL) -> HtmlResponse:
    return HtmlResponse(url, body=html.encode(), encoding="utf-8")


@pytest.fixture
def forms(monkeypatch):
    monkeypatch.setenv("FORM_EMAIL", "ada@example.org")
    return lambda **changes: Forms.loads(FILE.replace("XX", "") if not changes else _changed(**changes)).rules[0]


def _changed(**changes: str) -> str:
    lines = [line for line in FILE.strip().splitlines() if line.partition(" ")[0] not in changes]
    return "\n".join([*lines, *(f"{name} = {value}" for name, value in changes.items() if value)])


def test_a_form_is_filled_as_its_rule_says(forms):
    made = forms().request(page(FORM, "https://data.example.org/files/1"))
    assert made.method == "POST"
    assert made.url == "https://data.example.org/accept?x=1"
    assert made.body == b"token=a%26b&email=ada%40example.org&purpose=research&news=on&go=1&agree=yes"
    assert made.content_type == "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("url", "action"), [("https://data.example.org/f", "https://evil.org/take"), ("https://evil.org/f", "/take")]
)
def test_a_secret_stays_at_its_host(forms, url, action):
    form = page(FORM.replace("/accept?x=1", action), url)
    with pytest.raises(AnswerError, match="would send what is secret to evil"):
        forms().request(form)
    assert forms(fields="{ agree = true }").request(form).url.startswith("https://evil.org/take")


def test_a_form_with_a_part_for_each_field_and_one_that_asks_by_get(forms):
    form = page(FORM.replace('method="post"', 'method="post" enctype="multipart/form-data"'), URL)
    made = forms(fields='{ agree = true, news = false, "email" = "a\\nb" }').request(form)
    boundary = made.content_type.partition("boundary=")[2]
    assert made.content_type.startswith("multipart/form-data; ")
    assert made.body.startswith(
        f'--{boundary}\r\nContent-Disposition: form-data; name="token"\r\n\r\na&b\r\n--'.encode()
    )
    assert b'name="email"\r\n\r\na\r\nb\r\n' in made.body
    assert b"news" not in made.body
    assert made.body.endswith(f"--{boundary}--\r\n".encode())
    by_get = forms().request(page(FORM.replace('method="post"', ""), URL))
    assert (by_get.method, by_get.body, by_get.content_type) == ("GET", b"", None)
    assert by_get.url.startswith("https://data.example.org/accept?token=a%26b&")


def test_without_a_button_none_is_sent_and_an_unnamed_one_sends_nothing(forms):
    assert b"go=" not in forms(submit="").request(page(FORM, URL)).body
    form = page("<form id=licence method=post><input name=agree type=checkbox><button class=ok>OK</button></form>", URL)
    assert forms(submit='"button.ok"', fields="{ agree = true }").request(form).body == b"agree=on"
    image = page("<form id=licence method=post><input type=image class=ok></form>", URL)
    assert forms(submit='".ok"', fields="{}").request(image).body == b"x=0&y=0"


CHANGED = [
    (FORM.replace("licence", "license"), {}, "'form#licence' finds no elements on https://data.example.org/sets/wells"),
    (FORM + FORM, {}, "finds 2 elements"),
    (FORM, {"form": '"button[name=go]"'}, "finds <button> instead of a form"),
    (FORM.replace('name="agree"', 'name="accept"'), {}, "has no field 'agree'"),
    (
        FORM.replace("research", "study"),
        {},
        "'purpose' of the form on https://data.example.org/sets/wells does not offer",
    ),
    (FORM.replace("checkbox", "text"), {}, "'agree' of the form on https://data.example.org/sets/wells is no box"),
    (FORM.replace('name="go"', 'name="ok"'), {}, "finds no elements"),
    (FORM.replace("/accept?x=1", "javascript:x()"), {}, "leads to no web address"),
]


@pytest.mark.parametrize(("html", "changes", "sentence"), CHANGED)
def test_a_form_that_changed_is_not_guessed(forms, html, changes, sentence):
    with pytest.raises(AnswerError) as raised:
        forms(**changes).request(page(html, URL))
    assert sentence in str(raised.value)
    assert "ada" not in str(raised.value)


def test_the_only_form_needs_no_selector(forms):
    only = FORM.partition("\n")[2]
    assert forms(form="").request(page(only)) == forms().request(page(only))
    with pytest.raises(AnswerError, match="'form' finds 2 elements on "):
        forms(form="").request(page(FORM))


def test_the_first_rule_that_matches_counts(monkeypatch):
    rules = Forms.loads(
        '[[forms]]\naddress = "https://a.org/x/*"\nform = "form"\npage = "https://a.org/terms"\n'
        '[[forms]]\naddress = "https://a.org/*?id=*"\nform = "form"\n'
    )
    assert rules.rule("https://a.org/x/1.csv").page_of("https://a.org/x/1.csv") == "https://a.org/terms"
    assert rules.rule("https://a.org/y?id=3").page_of("https://a.org/y?id=3") == "https://a.org/y?id=3"
    assert rules.rule("https://b.org/x/1.csv") is None
    assert rules.rule("https://a.org/" + "x" * 100_000) is None


WRONG = [
    ("form = 1", "form is not a list of tables"),
    ("forms = 1", "forms is not a list of tables: each form begins with [[forms]]."),
    ("[[forms]", "this is not TOML"),
    ("[[forms]]", 'forms[0].address is missing: the files\' addresses, "https://example.org/files/*".'),
    ('[[forms]]\naddress = "*"', "forms[0].address: '*' does not begin with http:// or https://."),
    ('[[forms]]\naddress = "https://a.org/*"\nform = "form["', "forms[0].form is not a CSS selector"),
    ('[[forms]]\naddress = "https://a.org/*"\nform = "f"\nsubmit = 1', "forms[0].submit is not a text."),
    (
        '[[forms]]\naddress = "https://a.org/*"\nform = "f"\npage = "/terms"',
        "forms[0].page: '/terms' is not an http(s) address",
    ),
    (
        '[[forms]]\naddress = "https://a.org/*"\nform = "f"\nfeilds = {}',
        "forms[0].feilds is unknown. Did you mean fields?",
    ),
    (
        '[[forms]]\naddress = "https://a.org/*"\nform = "f"\nfields = { a = 1 }',
        "forms[0].fields.a is neither a text, true, false",
    ),
    (
        '[[forms]]\naddress = "https://a.org/*"\nform = "f"\nfields = { a = {} }',
        "forms[0].fields.a needs the name of an",
    ),
    (
        '[[forms]]\naddress = "https://a.org/*"\nform = "f"\nfields.a.env = "NO_SUCH"',
        "the environment variable NO_SUCH is not set.",
    ),
    ('[[forms]]\naddress = "https://a.org/*"\nform = "f"\nfields.a.env = "EMPTY"', "variable EMPTY is not set."),
    ('[[forms]]\naddress = "https://a.org/*"\nform = "f"\nfields.a.evn = "X"', "forms[0].fields.a.evn is unknown."),
]


@pytest.mark.parametrize(("text", "sentence"), WRONG)
def test_what_is_wrong_with_the_file(tmp_path, text, sentence):
    os.environ["EMPTY"] = ""
    path = tmp_path / "forms.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RulesError) as raised:
        Forms.read(path)
    shown = str(raised.value)
    assert shown.startswith(f"The forms {path}: ")
    assert sentence.replace("form is not a list of tables", "form is unknown") in shown


def test_no_file_has_no_forms(tmp_path):
    assert Forms.read(tmp_path / "forms.toml") == Forms()
    with pytest.raises(RulesError, match="can't be read: Is a directory"):
        Forms.read(tmp_path)
    (tmp_path / "forms.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(RulesError, match="the file is not UTF-8"):
        Forms.read(tmp_path / "forms.toml")


def test_a_secret_is_not_shown(forms):
    assert "ada" not in repr(forms())
