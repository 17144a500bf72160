"""The rules file: what each key becomes, and the sentence for each mistake."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import tomllib
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

import pytest

from crawlers.exceptions import RulesError
from crawlers.kinds.dcat.rules import _EXAMPLES
from crawlers.kinds.html.mapping import Page
from crawlers.kinds.html.pages import rdf_link
from crawlers.kinds.html.rules import FIELDS, MANY, RESOURCE_FIELDS, Paging, Rules, from_css, load, loads
from tests.conftest import ROOT

EXAMPLE = Path(__file__).parent.parent / "catalogues" / "example.toml"
START = 'start = "https://example.org/datasets"\n'
LINKS = '[links]\ncss = "h2 a"\n'
FIELD = '[fields]\ntitle = "h1"\n'
LEAST = START + LINKS + FIELD


def said(raised: pytest.ExceptionInfo[RulesError]) -> str:
    """Return a mistake without the line that it is in."""
    return re.sub(r"^line \d+: ", "", str(raised.value))


def top(line: str) -> Rules:
    return loads(f"{START}{line}\n{LINKS}{FIELD}")


def links(line: str) -> Rules:
    return loads(f"{START}{LINKS}{line}\n{FIELD}")


def paging(line: str, browser: str = "") -> Paging:
    return loads(f"{START}{browser}\n{LINKS}[paging]\n{line}\n{FIELD}").paging


def field(line: str) -> Rules:
    return loads(f"{LEAST}{line}\n")


def resources(line: str) -> Rules:
    return loads(f"{LEAST}[resources]\n{line}\n")


# What is read


def test_the_least():
    rules = loads(LEAST)
    assert (rules.start, rules.hosts) == (("https://example.org/datasets",), ("example.org",))
    assert (rules.source, rules.language, rules.rdf, rules.resources, rules.extras) == (None, None, None, None, ())
    assert (rules.browser, rules.cookies, rules.structured) == (frozenset(), False, True)
    assert rules.paging == Paging()
    assert (rules.paging.kind, rules.paging.first, rules.paging.step) == ("next", 1, 1)
    assert (rules.paging.max_pages, rules.paging.patience, rules.paging.wait) == (10_000, 2, 10.0)
    assert (rules.links.css, rules.links.pattern, rules.links.id, rules.links.depth) == ("h2 a", None, None, 3)
    (title,) = rules.fields
    assert (title.name, title.css, title.by, title.required, title.many) == ("title", "h1", "css h1", True, False)
    assert rules.text == LEAST


def test_without_fields_there_is_structured_data():
    assert loads(START + LINKS).fields == ()


def test_several_starts_and_hosts():
    rules = loads(f'start = ["https://a.org/x", "http://b.org:81"]\nhosts = ["c.org", "a.org"]\n{LINKS}')
    assert rules.start == ("https://a.org/x", "http://b.org:81")
    assert rules.hosts == ("a.org", "b.org", "c.org")
    assert [rules.follows(f"https://{host}/y") for host in ("a.org", "c.org", "d.org", "x.a.org")] == [
        *(True, True, False, False)
    ]


def test_other_rules_have_another_digest():
    assert loads(LEAST).digest == loads(LEAST).digest != field('version = "b"').digest


@pytest.mark.parametrize(
    ("value", "wanted"),
    [("true", {"listing", "datasets"}), ("false", set()), ('"listing"', {"listing"}), ('"datasets"', {"datasets"})],
)
def test_browser(value, wanted):
    assert top(f"browser = {value}").browser == wanted


@pytest.mark.parametrize(
    ("line", "name", "wanted"),
    [
        ('source = "county"', "source", "county"),
        ('source = " "', "source", None),
        ('language = "de"', "language", "de"),
        ("cookies = true", "cookies", True),
        ("structured = false", "structured", False),
    ],
)
def test_top(line, name, wanted):
    assert getattr(top(line), name) == wanted


OWN = """[rdf]
class = "ex:Chart"
prefixes = { ex = "https://a.org/ns#" }
[rdf.fields]
title = "ex:name"
"""


@pytest.mark.parametrize(
    ("text", "css", "link"),
    [
        ('rdf = "a.rdf"', "a.rdf", None),
        ('rdf = ["a.rdf"]', "a.rdf", None),
        ('rdf = { css = "a.rdf", attr = "data-href" }', "a.rdf", None),
        (OWN, None, None),
        (OWN.replace("class", 'css = "a.rdf"\nclass'), "a.rdf", None),
        (OWN.replace("class", 'link = "RDF"\nclass'), None, "RDF"),
        ('[rdf]\nlink = "/d/{id}.rdf"', None, "/d/{id}.rdf"),
    ],
)
def test_rdf(text, css, link):
    rdf = loads(f'{START}links = {{ css = "h2 a" }}\n{text}').rdf
    assert rdf is not None
    assert (rdf.way and rdf.way.css, rdf.link) == (css, link)
    assert (rdf.taught and rdf.taught.classes) == ({"https://a.org/ns#Chart"} if "class" in text else None)


@pytest.mark.parametrize(
    ("link", "address"),
    [
        ("/rdf?u={url}", "https://example.org/rdf?u=https%3A%2F%2Fexample.org%2Fd%3Fid%3D1%26l%3Den"),
        ("{url}&f=rdf", "https://example.org/d?id=1&l=en&f=rdf"),
    ],
)
def test_the_address_of_a_page_in_that_of_its_rdf(link, address):
    rules = loads(f'{START}links = {{ css = "h2 a" }}\nrdf = {{ link = "{link}" }}')
    assert rdf_link(Page("<p>A</p>", "https://example.org/d?id=1&l=en"), rules, "1") == address


@pytest.mark.parametrize(
    ("line", "name", "wanted"),
    [
        ("pattern = '/d/[0-9]+'", "pattern", "/d/[0-9]+"),
        ("id = '/d/([0-9]+)'", "id", "/d/([0-9]+)"),
        ('drop = "view"', "drop", ("view",)),
        ('drop = ["view", "tab"]', "drop", ("view", "tab")),
        ('follow = "ul a"', "follow", "descendant-or-self::ul/descendant::a"),
        ("depth = 1", "depth", 1),
    ],
)
def test_links(line, name, wanted):
    assert getattr(links(line).links, name) == wanted


def test_total():
    total = links("total = { css = '.n', regex = '[0-9]+' }").links.total
    assert total is not None
    assert (total.name, total.css, total.regex) == ("total", ".n", "[0-9]+")


def test_links_by_xpath_or_pattern_alone():
    assert loads(f"{START}[links]\nxpath = '//a[1]'\n").links.xpath == "//a[1]"
    found = loads(f"{START}[links]\npattern = '/d/'\n").links
    assert (found.css, found.xpath, found.pattern) == (None, None, "/d/")


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("", Paging()),
        ("next = true", Paging(kind="next")),
        ("next = false", Paging(kind="none")),
        ('next = "Siguiente"', Paging(kind="next", text="Siguiente")),
        ('next = { xpath = "//a[2]" }', Paging(kind="next", xpath="//a[2]")),
        ('next = { css = "b" }', Paging(kind="next", css="b", xpath="descendant-or-self::b")),
        ("numbers = true", Paging(kind="numbers")),
        ('query = "page"\nfirst = 0\nstep = 20', Paging(kind="query", query="page", first=0, step=20)),
        ('path = "/p/{page}"', Paging(kind="path", address="/p/{page}")),
        ("sitemap = true", Paging(kind="sitemap")),
        ('sitemap = "/map.xml"', Paging(kind="sitemap", address="/map.xml")),
        ("postback = true", Paging(kind="postback")),
        ('postback = "Siguiente"', Paging(kind="postback", text="Siguiente")),
        ("max_pages = 7\npatience = 5\nwait = 2", Paging(max_pages=7, patience=5, wait=2.0)),
        ("wait = 0.5", Paging(wait=0.5)),
    ],
)
def test_paging(line, wanted):
    assert paging(line) == wanted


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("button = true", Paging(kind="button")),
        ('button = "Mehr laden"', Paging(kind="button", text="Mehr laden")),
        ('button = { css = "b" }', Paging(kind="button", css="b", xpath="descendant-or-self::b")),
        ("buttons = true", Paging(kind="buttons")),
        ("scroll = true", Paging(kind="scroll")),
        ('script = "app.next()"', Paging(kind="script", script="app.next()")),
    ],
)
def test_paging_in_a_browser(line, wanted):
    assert paging(line, 'browser = "listing"') == wanted


@pytest.mark.parametrize(
    ("line", "wanted", "by"),
    [
        ('license = ".x"', {"css": ".x", "many": False, "required": False, "threshold": 85.0}, "css .x"),
        ("license = { xpath = '//b' }", {"css": None, "xpath": "//b"}, "xpath //b"),
        ('license = { label = "Lizenz" }', {"labels": ("Lizenz",), "by_label": True}, "label Lizenz"),
        ('license = { label = ["A", "B"], threshold = 60 }', {"labels": ("A", "B"), "threshold": 60.0}, "label A | B"),
        ("license = { label = true }", {"labels": (), "by_label": True}, "label license"),
        ('license = { constant = "CC0" }', {"constant": ("CC0",), "by_label": False}, "constant"),
        ('keywords = { constant = ["a", "b"] }', {"constant": ("a", "b"), "many": True}, "constant"),
        ('license = { css = "a", attr = "href" }', {"attr": "href"}, "css a"),
        ("license = { css = 'a', regex = '\\w+' }", {"regex": "\\w+"}, "css a"),
        ('license = { css = "a", many = true, split = ";" }', {"many": True, "split": ";"}, "css a"),
        ('issued = { css = "a", date = true }', {"date": "auto"}, "css a"),
        ('issued = { css = "a", date = false }', {"date": None}, "css a"),
        ('issued = { css = "a", date = "dmy" }', {"date": "dmy"}, "css a"),
        ('description = { css = "a", html = true }', {"html": True}, "css a"),
        ('license = { css = "a", required = true }', {"required": True}, "css a"),
    ],
)
def test_field(line, wanted, by):
    _, rule = field(line).fields
    assert {name: getattr(rule, name) for name in wanted} == wanted
    assert rule.by == by


def test_the_title_need_not_be_required():
    assert not loads(f'{START}{LINKS}[fields]\ntitle = {{ css = "h1", required = false }}').fields[0].required


@pytest.mark.parametrize("name", FIELDS)
def test_every_field(name):
    rules = loads(f'{START}{LINKS}[fields]\n{name} = "b"')
    assert [(rule.name, rule.many) for rule in rules.fields] == [(name, name in MANY)]


@pytest.mark.parametrize("name", RESOURCE_FIELDS)
def test_every_field_of_a_resource(name):
    found = resources(f'css = "li"\n{name} = "b"').resources
    assert found is not None
    assert [(rule.name, rule.attr) for rule in found.fields] == [(name, "href" if name == "url" else None)]


@pytest.mark.parametrize("xpath", [".//a/@href", "a/text()"])
def test_the_address_of_a_file_by_an_xpath_of_its_own(xpath):
    found = resources(f"css = 'li'\nurl = {{ xpath = '{xpath}' }}").resources
    assert found is not None
    assert found.fields[0].attr is None


def test_extras_have_any_name():
    assert [rule.name for rule in loads(f'{LEAST}[extras]\n"Größe des Gebiets" = "i"').extras] == ["Größe des Gebiets"]


def test_resources_by_xpath():
    found = resources("xpath = '//li'").resources
    assert found is not None
    assert (found.css, found.xpath, found.fields) == (None, "//li", ())


# The mistakes

TELLS_LINKS = "what tells the links to datasets from others"
NOTHING_ELSE = "without structured data nothing else describes a page"
ONE_FINDS = "one of them finds the element"
NO_WAY = "needs one of css, xpath, label and constant"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("start = ", "this is not TOML: Invalid value (at end of document)."),
        (f"start = {'9' * 5000}", "this has a number with too many digits."),
        (LINKS, 'start is missing: the address of the listing, start = "https://example.org/datasets".'),
        ("start = 3\n" + LINKS, "start is neither a text nor a list of texts."),
        ('start = ["https://a.org", ""]\n' + LINKS, "start is neither a text nor a list of texts."),
        *(
            (f'start = "{wrong}"\n{LINKS}', f"start: '{wrong}' is not an http(s) address without user or password.")
            for wrong in ("data.example.org", "ftp://example.org", "https://", "https://me:x@a.org", "http://[a", "http://a:x")
        ),
        (START, '[links] is missing: which links lead to datasets, css = "h2 a" or pattern = "/dataset/".'),
        (START + "links = 3", "links is not a table."),
        (START + "[links]\ndepth = 2", f"links needs css, xpath or pattern: {TELLS_LINKS}."),
        (f"structured = false\n{START}{LINKS}", f"[fields] is missing, and {NOTHING_ELSE}."),
    ],
)  # fmt: skip
def test_a_file_that_is_wrong(text, told):
    with pytest.raises(RulesError) as raised:
        loads(text)
    assert said(raised) == told


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("source = 1", "source is not a text."),
        ("language = true", "language is not a text."),
        ('cookies = "yes"', "cookies is not true or false."),
        ("structured = 1", "structured is not true or false."),
        ("hosts = [1]", "hosts is neither a text nor a list of texts."),
        ('browser = "all"', 'browser is neither true, "listing" nor "datasets".'),
        ("rdf = true", 'rdf is neither a CSS selector nor a table such as { label = "Lizenz" }.'),
        ("rdf = {}", "rdf needs one of css, xpath, label and constant, and has 0."),
        ('rdf = { label = "RDF" }', 'rdf is found by css or xpath, rdf = "a.rdf": it is a link.'),
        ('rdf = { css = "a", link = "RDF" }', 'rdf is found by css or xpath, rdf = "a.rdf": it is a link.'),
        ('rdf = { attr = "href" }', 'rdf.attr needs css or xpath: rdf = { css = "a.rdf", attr = "href" }.'),
        ("rdf = { link = 1 }", "rdf.link is neither what the link says nor an address with {id} or {url}."),
        ("rdf = { class = [] }", "rdf says no class, no field and no resource: leave it out, or write [rdf.fields]."),
        ('rdf = { class = "x" }', f"rdf.class is 'x', and must be a property or a path of them: {_EXAMPLES}."),
        ("paging = true", "paging is not a table."),
        ("extras = []", "extras is not a table."),
    ],
)  # fmt: skip
def test_a_wrong_key(line, told):
    with pytest.raises(RulesError, match=exactly(told)):
        top(line)


def exactly(told: str) -> str:
    return rf"^(?:line \d+: )?{re.escape(told)}$"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('xpath = "//a"', "links has both css and xpath: one of them finds the element."),
        ("pattern = '('", "links.pattern is not a regular expression of RE2: missing ): (."),
        (r"id = '(?=a)'", "links.id is not a regular expression of RE2: invalid perl operator: (?=."),
        (f"id = '{'a' * 2_001}'", "links.id is longer than 2000 characters."),
        ("pattern = 1", "links.pattern is not a text."),
        ('follow = "a["', "links.follow is not a CSS selector: Expected ident or '*', got <EOF at 2>."),
        ("depth = 0", "links.depth is 0, and must be 1 or more."),
        ('depth = "2"', "links.depth is not a whole number."),
        ("depth = true", "links.depth is not a whole number."),
        ("drop = 1", "links.drop is neither a text nor a list of texts."),
        ("total = 1", 'links.total is neither a CSS selector nor a table such as { label = "Lizenz" }.'),
    ],
)  # fmt: skip
def test_wrong_links(line, told):
    with pytest.raises(RulesError) as raised:
        links(line)
    assert said(raised) == told


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('next = true\nquery = "p"', "paging goes on in one way, not in next and query."),
        ('path = "/page/"', "paging.path is '/page/', and has no {page} where the number goes."),
        ('query = ""', "paging.query is empty."),
        ('path = " "', "paging.path is empty."),
        ("query = true", "paging.query is not a text."),
        ("next = 1", "paging.next is not a text."),
        ("next = {}", "paging.next needs css or xpath."),
        ("sitemap = false", "paging.sitemap is not a text."),
        ("first = -1", "paging.first is -1, and must be 0 or more."),
        ("step = 0", "paging.step is 0, and must be 1 or more."),
        ("max_pages = 0", "paging.max_pages is 0, and must be 1 or more."),
        ("patience = 0", "paging.patience is 0, and must be 1 or more."),
        ('wait = "1"', "paging.wait is not a number."),
        ("button = true", 'paging.button is done by a browser: it needs browser = "listing".'),
        ("buttons = true", 'paging.buttons is done by a browser: it needs browser = "listing".'),
        ("scroll = true", 'paging.scroll is done by a browser: it needs browser = "listing".'),
        ('script = "a()"', 'paging.script is done by a browser: it needs browser = "listing".'),
        ('script = ""', "paging.script is empty."),
    ],
)  # fmt: skip
def test_wrong_paging(line, told):
    with pytest.raises(RulesError) as raised:
        paging(line)
    assert said(raised) == told


@pytest.mark.parametrize("way", ["postback = true", "sitemap = true"])
def test_ways_that_need_no_browser(way):
    told = f'paging.{way.partition(" ")[0]} needs no browser: say browser = "datasets", or none.'
    with pytest.raises(RulesError, match=exactly(told)):
        paging(way, "browser = true")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("license = 1", 'fields.license is neither a CSS selector nor a table such as { label = "Lizenz" }.'),
        ("license = {}", f"fields.license {NO_WAY}, and has 0."),
        ('license = ""', f"fields.license {NO_WAY}, and has 0."),
        ('license = { css = "a", label = "b" }', f"fields.license {NO_WAY}, and has 2."),
        ('license = { css = "a", xpath = "b" }', f"fields.license has both css and xpath: {ONE_FINDS}."),
        ("license = { label = 3 }", "fields.license.label is neither a text nor a list of texts."),
        ('license = "a["', "fields.license.css is not a CSS selector: Expected ident or '*', got <EOF at 2>."),
        ('license = { xpath = "//[" }', "fields.license.xpath is not an XPath: Invalid expression."),
        (
            "license = { css = 'a', regex = '[' }",
            "fields.license.regex is not a regular expression of RE2: missing ]: [.",
        ),
        ('license = { css = "a", many = 1 }', "fields.license.many is not true or false."),
        ('license = { css = "a", html = "x" }', "fields.license.html is not true or false."),
        ('license = { css = "a", split = 1 }', "fields.license.split is not a text."),
        ('license = { css = "a", attr = 1 }', "fields.license.attr is not a text."),
        ('license = { css = "a", required = "x" }', "fields.license.required is not true or false."),
        ('license = { css = "a", date = "german" }', "fields.license.date is neither true nor one of dmy, mdy, ymd."),
        ('license = { css = "a", date = 1 }', "fields.license.date is neither true nor one of dmy, mdy, ymd."),
        ('license = { label = "a", threshold = 40 }', "fields.license.threshold is 40, and must be from 50 to 100."),
        ('license = { label = "a", threshold = 101 }', "fields.license.threshold is 101, and must be from 50 to 100."),
        ('license = { label = "a", threshold = "9" }', "fields.license.threshold is not a number."),
    ],
)  # fmt: skip
def test_a_wrong_field(line, told):
    with pytest.raises(RulesError) as raised:
        field(line)
    assert said(raised) == told


def test_a_title_that_is_wrong():
    with pytest.raises(RulesError, match=r"^line 5: fields\.title is neither a CSS selector nor a table"):
        loads(f"{START}{LINKS}[fields]\ntitle = true")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('url = "a"', 'resources needs css or xpath: the element of each file, css = "ul.files li".'),
        ('css = "a"\nxpath = "b"', "resources has both css and xpath: one of them finds the element."),
        ('css = "a"\nurl = {}', "resources.url needs one of css, xpath, label and constant, and has 0."),
        ('css = "a"\ntitle = 1', 'resources.title is neither a CSS selector nor a table such as { label = "Lizenz" }.'),
    ],
)  # fmt: skip
def test_wrong_resources(line, told):
    with pytest.raises(RulesError) as raised:
        resources(line)
    assert said(raised) == told


KEYS = """browser cookies encoding extras fields form hosts language links paging
rdf resources source start structured"""


@pytest.mark.parametrize(
    ("text", "told", "there"),
    [
        (
            f"starts = 1\n{LEAST}",
            "starts is unknown. Did you mean start?",
            KEYS,
        ),
        (f"xyz = 1\n{LEAST}", "xyz is unknown.", None),
        (
            f'{START}{LINKS}patern = "a"',
            "links.patern is unknown. Did you mean pattern?",
            "css depth drop follow id pattern total xpath",
        ),
        (
            f"{LEAST}[paging]\nbuton = true",
            "paging.buton is unknown. Did you mean button?",
            "button buttons first max_pages next numbers path patience postback query script scroll sitemap step wait",
        ),
        (f'{LEAST}[paging]\nnext = {{ text = "x" }}', "paging.next.text is unknown.", "css xpath"),
        (
            f'{LEAST}[rdf]\nklass = "a"',
            "rdf.klass is unknown. Did you mean class?",
            "attr class css fields link prefixes resources xpath",
        ),
        (f'{LEAST}[rdf.fields]\nclass = "a"', "rdf.fields.class is unknown.", None),
        (f'{LEAST}licence = "a"', "fields.licence is unknown. Did you mean license?", " ".join(sorted(FIELDS))),
        (
            f'{LEAST}license = {{ css = "a", regexp = "b" }}',
            "fields.license.regexp is unknown. Did you mean regex?",
            "attr constant css date decode default html label many regex required split threshold xpath",
        ),
        (
            f'{LEAST}[resources]\ncss = "a"\nlink = "b"',
            "resources.link is unknown.",
            " ".join(sorted((*RESOURCE_FIELDS, "css", "xpath"))),
        ),
        (
            f'{LEAST}[resources]\ncss = "a"\nurl = {{ css = "a", regexp = "b" }}',
            "resources.url.regexp is unknown. Did you mean regex?",
            None,
        ),
    ],
)
def test_an_unknown_key(text, told, there):
    with pytest.raises(RulesError) as raised:
        loads(text)
    sentence, _, names = said(raised).partition(" There are: ")
    assert sentence == told
    assert names.endswith(".")
    assert there is None or names == ", ".join(there.split()) + "."


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"{LEAST}[paging]\nquery = 1", 7),
        (f'{LEAST}[resources]\ncss = "a"\nurl = {{ regexp = "b" }}', 8),
        (f"{START}hosts = [1]\n{LINKS}", 2),
    ],
)
def test_a_mistake_names_its_line(text, line):
    with pytest.raises(RulesError, match=f"^line {line}: "):
        loads(text)


# The file itself


def test_a_mistake_names_the_file(tmp_path):
    path = tmp_path / "county.toml"
    path.write_text(LINKS, encoding="utf-8")
    with pytest.raises(RulesError, match=f"^The rules {re.escape(str(path))}: start is missing"):
        load(path)


def test_a_file_that_is_not_there(tmp_path):
    path = tmp_path / "county.toml"
    told = f"The rules {path} can't be read: No such file or directory."
    with pytest.raises(RulesError, match=f"^{re.escape(told)}$"):
        load(path)
    with pytest.raises(RulesError, match=r"can't be read: Is a directory\.$"):
        load(tmp_path)


def test_a_file_in_another_encoding(tmp_path):
    path = tmp_path / "county.toml"
    path.write_bytes(f"# für Köln\n{LEAST}".encode("latin-1"))
    told = f"The rules {path} can't be read: the file is not UTF-8."
    with pytest.raises(RulesError, match=f"^{re.escape(told)}$"):
        load(path)


# The example


def test_the_example_is_read():
    rules = load(EXAMPLE)
    assert rules.hosts == ("data.example.org", "files.example.org")
    assert (rules.paging.kind, rules.paging.text) == ("button", "Mehr laden")


def keys(content: dict, path: str = "") -> set[str]:
    found = set()
    for name, value in content.items():
        found |= {f"{path}{name}"} | (keys(value, f"{path}{name}.") if isinstance(value, dict) else set())
    return found


@pytest.mark.parametrize("key", "start hosts source language browser cookies structured rdf".split())
def test_the_example_has_every_key(key):
    assert key in tomllib.loads(EXAMPLE.read_text(encoding="utf-8"))


def test_the_example_has_every_key_of_every_table():
    """What a mistake says there is, in the file itself or as the commented way beside it."""
    text = EXAMPLE.read_text(encoding="utf-8")
    written = {name.rpartition(".")[2] for name in keys(tomllib.loads(text))}
    tables = (links, paging, resources, field)
    for table in tables:
        with pytest.raises(RulesError) as raised:
            table('css = "li"\nzzz = 1' if table is resources else "zzz = 1")
        there = said(raised).partition("There are: ")[2].rstrip(".").split(", ")
        assert there
        lacking = [name for name in there if name not in written and not re.search(rf"# .*\b{name}\b", text)]
        assert lacking == [], table.__name__


def test_the_example_has_every_key_of_a_field():
    text = EXAMPLE.read_text(encoding="utf-8")
    with pytest.raises(RulesError) as raised:
        field("license = { css = 'a', zzz = 1 }")
    for name in said(raised).partition("There are: ")[2].rstrip(".").split(", "):
        assert re.search(rf"\b{name} = ", text), name


def test_the_commented_ways_of_the_example_are_ways():
    text = EXAMPLE.read_text(encoding="utf-8")
    ways = re.findall(r"^# (\w+ = .*?)  +#", text, re.MULTILINE)
    assert len(ways) == 9
    for way in ways:
        browser = way.split()[0] in ("buttons", "scroll", "script")
        assert paging(way, 'browser = "listing"' if browser else "").kind == way.split()[0]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ('browser = ["listing"]', 'browser is neither true, "listing" nor "datasets".'),
        ("hosts = false", "hosts is neither a text nor a list of texts."),
        ('hosts = ["a.org:8080"]', "hosts: 'a.org:8080' is not the name of a host such as data.example.org."),
        ('hosts = ["https://a.org"]', "hosts: 'https://a.org' is not the name of a host such as data.example.org."),
        ("paging = { wait = -1 }", "paging.wait is -1, and must be more than 0 and at most 600 seconds."),
        ("paging = { wait = inf }", "paging.wait is inf, and must be more than 0 and at most 600 seconds."),
        ('paging = { path = "mailto:{page}" }', "paging.path is 'mailto:{page}', which is not an address."),
        ('paging = { sitemap = "http://[bad" }', "paging.sitemap is 'http://[bad', which is not an address."),
        ('rdf = { label = "RDF" }', 'rdf is found by css or xpath, rdf = "a.rdf": it is a link.'),
        ('rdf = { xpath = "//a[matches(.)]" }', "rdf.xpath is not XPath 1.0: there is no function matches()."),
        ('fields.title = "h1\\u0000"', "fields.title.css has a character that can't be seen: 'h1\\x00'."),
    ],
)  # fmt: skip
def test_mistakes_that_only_a_crawl_would_show(lines, told):
    with pytest.raises(RulesError) as raised:
        loads(f'{lines}\nstart = "https://a.org/"\nlinks = {{ css = "a" }}\n')
    assert said(raised) == (told.replace("{page}", "1") if "mailto" in told else told)


# An XPath's time

BOMB = """
import sys
from crawlers.exceptions import AnswerError
from crawlers.records.html_page import Page
from crawlers.safety import xpath
xpath.XPATH_SECONDS = 0.5
page = Page("<p><a href=x>x</a></p>" * 20_000, "https://example.org/")
bomb = "//*[count(//*[count(//*) > 1]) > 1]"
for _ in range(2):
    try:
        page.find(bomb)
    except AnswerError as error:
        print(error.kind)
print(len(page.find("//p[.//a]")))
"""


@pytest.mark.slow
def test_an_xpath_that_takes_too_long_is_given_up():
    """It is not evaluated twice, others are, and what is left behind does not hold up the end of the process."""
    before = getrusage(RUSAGE_CHILDREN)
    ran = subprocess.run([sys.executable, "-c", BOMB], capture_output=True, text=True, cwd=ROOT, check=False)
    after = getrusage(RUSAGE_CHILDREN)
    assert (ran.stdout.split(), ran.returncode) == (["xpath", "xpath", "20000"], 0), ran.stderr
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 20


def test_an_xpath_in_a_thread_needs_no_thread_of_its_own():
    """Starting one for each XPath took longer than most XPaths."""
    page = Page("<ul><li><a href=x>x</a></li></ul>", "https://example.org/")
    page.find("//ul//a")
    before = threading.active_count()
    assert [len(page.find("//ul//a")) for _ in range(20)] == [1] * 20
    assert threading.active_count() == before


def test_an_error_in_the_thread_is_an_error_of_the_rule():
    page = Page("<p><a href=x>x</a></p>", "https://example.org/")
    for _ in range(2):
        with pytest.raises(RulesError, match="can't be evaluated"):
            page.find("//p//a[unknown()]")
    assert len(page.find("//p//a")) == 1


def test_a_forked_process_evaluates_in_a_thread_of_its_own():
    page = Page("<p><a href=x>x</a></p>", "https://example.org/")
    assert len(page.find("//p//a")) == 1
    child = os.fork()
    if not child:
        signal.alarm(20)  # without a thread it would wait for ever
        os._exit(len(page.find("//p//a")))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


@pytest.mark.parametrize(
    ("css", "found"),
    [
        (".a", ["1", "2", "4"]), ("p.a", ["1", "4"]), ("#b", ["3"]), ("[data-x='y z']", ["2"]), ("[data-x~=z]", ["2"]),
        (".a.b", ["4"]), (".a i", ["5"]), ("p:not(.a)", ["3"]), (".ab", []), ("[data-x='@data-x']", ["6"]),
    ],
)  # fmt: skip
def test_css_by_one_attribute(css, found):
    """Such selectors are looked up by the attribute; they find the same as the XPath that CSS is translated to."""
    page = Page(
        "<p class=a n=1><b class='x a' data-x='y z' n=2>b</b><p id=b n=3>c<p class='a\tb' n=4><i n=5>d</i>"
        "<s data-x=@data-x n=6>e</s>",
        "https://example.org/",
    )
    xpath = from_css(css, "fields.title")
    assert [each.get("n") for each in page.find(xpath, limit=9)] == found
    assert page.find(xpath, limit=9) == page.find(xpath)
    assert page.find(xpath, limit=1) == page.find(xpath)[:1]
