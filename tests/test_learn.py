"""Rules learned from pages: measured on pages that were not shown, and each way of finding a value by itself."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from time import process_time

import pytest

from crawlers.exceptions import CrawlersError
from crawlers.kinds.html.mapping.document import document
from crawlers.kinds.html.rules import loads
from crawlers.kinds.html.totals import total as total_of
from crawlers.operate.learn import LearnError, ListingError, Sample, confirmed, learn, listing, turned
from crawlers.operate.learn.candidates import Learned
from crawlers.operate.learn.report import options_of, report
from crawlers.operate.learn.selectors import stability
from crawlers.operate.learn.toml import toml
from crawlers.records.html_page import Page
from tests.layouts.further import FURTHER
from tests.layouts.held_out import HELD_OUT
from tests.layouts.layouts import LAYOUTS
from tests.layouts.measure import ALSO_SHOWN, measured, table
from tests.layouts.records import UNSEEN, record

HERE = "https://data.example.org/datasets/one"
LIST = "https://data.example.org/datasets"


def sample(body: str, address: str = HERE, language: str = "en") -> Sample:
    return Sample(Page(f'<html lang="{language}"><body>{body}</body></html>', address))


def rule(body: str, *more: str, name: str = "license", language: str = "en", label: str | None = None, **seen):
    """The rule learned for one field, as a rules file has it."""
    values = {key: value if isinstance(value, list) else [value] for key, value in seen.items()}
    pages = [sample(body, language=language), *(sample(one, language=language) for one in more)]
    [found] = [one for one in learn(pages, values, {name: label} if label else {}).fields if one.name in (name, *seen)]
    return found.value


def ruled(license_: str):
    """Rules with that line in ``[fields]``."""
    return loads(f"start = 'https://a.org/'\n[links]\ncss = 'a'\n[fields]\n{license_}")


# The labelled set: layouts of a sample, a further page (shown with --more) and ten that are not shown. The learner was
# made with `layouts`; `further` were held out when they were written and showed what it lacked (94, 65 and 93 % at
# first, in batches of 4, 3 and 3); `held_out` came last, and nothing was changed for it.

EVERY = (*LAYOUTS, *FURTHER, *HELD_OUT)


def test_the_set_is_what_it_says():
    names = [layout.name for layout in EVERY]
    assert len(set(names)) == len(names) == 27
    assert len(HELD_OUT) >= 3
    assert len(UNSEEN) >= 8
    assert {0, ALSO_SHOWN}.isdisjoint(UNSEEN)
    for layout in EVERY:
        pages = [layout.render(record(number, layout.language)) for number in (0, ALSO_SHOWN, *UNSEEN)]
        assert len(set(pages)) == len(pages)


@pytest.mark.slow
@pytest.mark.parametrize("layouts", [LAYOUTS, FURTHER, HELD_OUT], ids=["first", "further", "held out"])
@pytest.mark.parametrize("further", [False, True], ids=["one page", "with --more"])
def test_fields_on_pages_that_were_not_shown(layouts, further):
    found = [measured(layout, further=further) for layout in layouts]
    print("\n" + table(found))
    right, wrong = sum(one.right for one in found), sum(len(one.wrong) for one in found)
    assert right / (right + wrong) >= 0.95, table(found)
    assert min(one.share for one in found) >= 0.8, table(found)


@pytest.mark.slow
@pytest.mark.parametrize("further", [False, True], ids=["one page", "with --more"])
def test_fields_on_pages_that_show_labels_with_nothing_beside_them(further):
    """96.7 % before an empty place was taken as a value's, 88.5 % in the worst layout; then 99.7 % and 96.2 %."""
    found = [measured(layout, further=further, shows_empty=True) for layout in EVERY]
    print("\n" + table(found))
    right, wrong = sum(one.right for one in found), sum(len(one.wrong) for one in found)
    assert right / (right + wrong) >= 0.98, table(found)
    assert min(one.share for one in found) >= 0.9, table(found)


@pytest.mark.parametrize("layout", EVERY, ids=lambda layout: layout.name)
def test_a_learned_file_is_short(layout):
    shown = record(0, layout.language)
    text = toml(learn([sample_of(layout)], layout.seen(shown), {}))
    meaningful = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    assert len(meaningful) <= 24
    assert max(map(len, text.splitlines())) <= 320


def sample_of(layout) -> Sample:
    one = record(0, layout.language)
    return Sample(Page(layout.render(one), layout.address(one)))


# One field


def test_a_label_goes_before_all_else():
    body = '<dl class="meta"><dt>Licence</dt><dd class="license" id="l">MIT</dd></dl>'
    assert rule(body, license="MIT") == {"label": "Licence"}


def test_the_users_label():
    body = "<table><tr><th>Datenbereitsteller</th><td>Amt</td></tr></table>"
    assert rule(body, name="publisher", label="datenbereitsteller") == {"label": "datenbereitsteller"}


def test_a_label_of_another_field_is_not_trusted():
    body = '<p><b>Updated:</b> <i class="often">monthly</i></p>'
    [found] = learn([sample(body)], {"frequency": ["monthly"]}, {}).fields
    assert found.table == {"css": ".often"}


@pytest.mark.parametrize(
    ("element", "css"),
    [
        ('<p id="license">MIT</p>', "#license"),
        ('<p itemprop="license">MIT</p>', '[itemprop="license"]'),
        ('<p property="dct:license">MIT</p>', '[property="dct:license"]'),
        ('<p data-testid="license">MIT</p>', '[data-testid="license"]'),
        ('<p class="col-md-6 css-1a2b3c d-flex license">MIT</p>', ".license"),
        ('<p class="Meta__license__3xK2a">MIT</p>', '[class*="Meta__license__"]'),
        ('<div id="license-box"><p class="c1a2b3">MIT</p><p>x</p></div>', "#license-box .c1a2b3"),
        ('<span id="ctl00_ctl05_lblLicense">MIT</span>', '[id$="_lblLicense"]'),
    ],
)
def test_what_is_stable_goes_before_positions(element, css):
    found = rule(f"<p>one</p><p>two</p>{element}<p>three</p>", license="MIT")
    assert found == css or "c1a2b3" in css


def test_a_position_is_the_last_resort():
    body = "<div><p>one</p><p>MIT</p><p>three</p></div>"
    [found] = learn([sample(body)], {"license": ["MIT"]}, {}).fields
    assert "nth-of-type(2)" in found.value
    assert found.sure < 0.4
    assert found.why == ("it is found by its position, which moves when another field is missing",)


def test_a_further_page_corrects_what_one_page_suggests():
    body = '<p id="promotion">{}</p><div class="facts"><p class="terms">{}</p></div><div class="imprint">{}</div>'
    one, two, three = (
        body.format(*words) for words in (("MIT",) * 3, ("News!", "GPL", "GPL"), ("Sale!", "CC0", "CC0"))
    )
    assert rule(one, license="MIT") == "#promotion"
    assert rule(one, two, three, license="MIT") in (".terms", ".facts", ".imprint")


def test_a_title_differs_from_page_to_page():
    pages = [f'<h1>Portal</h1><h2 class="name">{name}</h2>' for name in ("Trees", "Roads")]
    same = ['<h1>Trees</h1><h2 class="name">Trees</h2>', '<h1>Trees</h1><h2 class="name">Roads</h2>']
    assert rule(*pages, title="Trees") == ".name"
    assert rule(*same, title="Trees") == ".name"


@pytest.mark.parametrize(
    ("body", "xpath"),
    [
        ("<h1>Portal</h1><h2>Trees</h2><h2>Files</h2>", "(//h2)[1]"),
        ("<h2>News</h2><main><h2>Trees</h2><p>x</p><h2>Files</h2></main>", "(//main//h2)[1]"),
    ],
)
def test_a_title_that_is_the_first_of_its_kind(body, xpath):
    [found] = learn([sample(body)], {"title": ["Trees"]}, {}).fields
    assert found.table == {"xpath": xpath}
    assert found.why == ("it is the first of several that are alike",)


ROW = "<div><div>{}</div><div>{}</div></div>"


def test_the_users_label_may_be_any_text_with_a_value():
    assert rule(ROW.format("Amt 7", "A"), name="publisher", label="Amt 7") == {"label": "Amt 7"}


def test_a_value_that_begins_with_the_next_label_is_told():
    body = ROW.format("License", "<b>{}</b>") + ROW.format("Amt", "X")
    stray = "<div><div>License</div><div><i>Amt</i> X</div></div>"
    [found] = learn([sample(body.format("MIT")), sample(stray)], {}, {"license": "License"}).fields
    assert found.given == [["MIT"], ["Amt X"]]
    assert found.why == ("on page 2 it takes 'Amt', which looks like another field's label",)
    assert found.sure < 0.5
    [found] = learn([sample(body.format("MIT")), sample(body.format("Amt X"))], {}, {"license": "License"}).fields
    assert (found.why, found.sure > 0.9) == ((), True)


def test_an_empty_value_beside_a_label_in_plain_boxes():
    pages = [sample(ROW.format("Terms", value) + ROW.format("Amt", "X")) for value in ("MIT", "")]
    [found] = learn(pages, {"license": ["MIT"]}, {}).fields
    assert found.given == [["MIT"], []]


def test_a_label_that_stands_elsewhere_too_is_sought_in_its_place():
    decoy = '<div class="similar"><dl><dt>License</dt><dd>{}</dd></dl></div>'
    main = '<div class="dataset"><dl><dt>Size</dt><dd>1</dd>{}</dl></div>'
    one = decoy.format("GPL") + main.format("<dt>License</dt><dd>MIT</dd>")
    found = rule(one, license="MIT")
    rules = ruled(f"license = {{ xpath = '''{found['xpath']}''' }}")
    empty = sample(decoy.format("GPL") + main.format("")).page
    assert "license" not in document(empty, rules)["fields"]


# Values of every kind


@pytest.mark.parametrize(
    ("shown", "seen", "language", "order"),
    [
        ("12. März 2020", "12. März 2020", "de", True),
        ("2020-03-12", "2020-03-12", "en", True),
        ("12.03.2020", "12.03.2020", "de", True),
        ("31.03.2020", "31.03.2020", "de", "dmy"),
        ("03/31/2020", "03/31/2020", "en", "mdy"),
        ("03/04/2020", "2020-03-04", "en", "mdy"),
        ("12. März 2020", "2020-03-12", "de", True),
        ("12.03.20", "2020-03-12", "de", "dmy"),
        ("12.03.20", "12.03.20", "de", "dmy"),
        ("12.03.20", "2012-03-20", "de", "ymd"),
        ("03/12/20", "03/12/20", "en-US", "mdy"),
        ("03/31/20", "03/31/20", "en", "mdy"),
    ],
)
def test_dates(shown, seen, language, order):
    body = f"<dl><dt>Released</dt><dd>x</dd></dl><p id='date'>{shown}</p>"
    assert rule(body, issued=seen, language=language) == {"css": "#date", "date": order}


def test_all_dates_of_a_page_are_in_one_order():
    body = "<p id='first'>03/04/2020</p><p id='last'>05/31/2020</p>"
    found = learn([sample(body)], {"issued": ["03/04/2020"], "modified": ["05/31/2020"]}, {}).fields
    assert [one.table["date"] for one in found] == ["mdy", "mdy"]


def test_an_order_that_is_a_guess_is_told_unless_another_date_proves_it():
    body = "<dl><dt>Issued</dt><dd>12.03.20</dd><dt>Modified</dt><dd>{}</dd></dl>"
    guess, sure = (
        learn([sample(body.format(other))], {"issued": ["12.03.20"]}, {"modified": "Modified"}).fields
        for other in ("12.04.20", "31.03.2020")
    )
    assert guess[0].why == ("'12.03.20' is taken for 2020-03-12",)
    assert (sure[0].why, sure[0].table["date"]) == ((), "dmy")
    assert guess[0].sure < sure[0].sure


def test_a_date_that_a_crawl_can_not_read_is_told():
    [found] = learn([sample("<dl><dt>Issued</dt><dd>yesterday</dd></dl>")], {"issued": ["yesterday"]}, {}).fields
    assert found.why == ("'yesterday' is no date that can be read",)
    assert found.sure < 0.5


def test_a_date_in_an_attribute():
    body = '<time class="published" datetime="2020-03-12T10:00:00Z">last week</time>'
    assert rule(body, issued="12 March 2020") == {"css": ".published", "attr": "datetime", "date": True}


@pytest.mark.parametrize(
    ("element", "seen", "attr"),
    [
        ('<a class="lic" href="https://a.org/by/4.0/"><img src="x"></a>', "https://a.org/by/4.0/", "href"),
        ('<abbr class="lic" title="Creative Commons">CC</abbr>', "Creative Commons", "title"),
        ('<meta name="dc.rights" content="Creative Commons">', "Creative Commons", "content"),
    ],
)
def test_attributes(element, seen, attr):
    assert rule(f"<p>x</p>{element}", license=seen)["attr"] == attr


@pytest.mark.parametrize(
    ("name", "body", "seen", "expected"),
    [
        (
            "license",
            "<dl><dt>License</dt><dd><a href='https://a.org/by/4.0/'><img alt='CC BY' src='x'></a></dd></dl>",
            "https://a.org/by/4.0/",
            {"label": "License", "attr": "href"},
        ),
        (
            "license",
            "<table><tr><th>License</th><td><img alt='CC BY' src='x'></td></tr></table>",
            "CC BY",
            {"label": "License", "attr": "alt"},
        ),
        (
            "contact_email",
            "<p>Contact: <a href='mailto:a@example.org'>Office</a></p>",
            "a@example.org",
            {"label": "Contact", "attr": "href", "regex": r"mailto:\s*([\w.+-]+@[\w-]+(?:\.[\w-]+)+)"},
        ),
    ],
)
def test_an_attribute_beside_a_known_label(name, body, seen, expected):
    result = learn([sample(f"<p><a href='/x'>x</a><img alt='y'></p>{body}")], {name: [seen]}, {}, ["contact"])
    [found] = result.fields
    assert found.table == expected
    assert found.sure > 0.6


@pytest.mark.parametrize(
    ("body", "seen", "expected"),
    [
        ("<p><b>Tags:</b> a, b, c</p>", "a, b, c", {"label": "Tags", "split": ","}),
        ("<p><b>Tags:</b> a | b | c</p>", ["a", "b", "c"], {"label": "Tags", "split": "|"}),
        ('<p id="subjects">a; b; c</p>', ["a", "b", "c"], {"css": "#subjects", "split": ";"}),
        ("<dl><dt>Tags</dt><dd>a</dd><dd>b</dd></dl>", ["a", "b"], {"label": "Tags"}),
        ('<p class="words"><a>a</a> <a>b</a></p><a>x</a>', ["a", "b"], ".words a"),
        ('<i class="tag">a</i><p>x</p><i class="tag">b</i>', "a, b", ".tag"),
        ('<ul class="tags"><li>a</li><li>b</li></ul><li>x</li>', "b", ".tags li"),
    ],
)
def test_keywords(body, seen, expected):
    assert rule(body, keywords=seen) == expected


def test_two_values_are_many():
    body = '<p class="who">Ann</p><p class="who">Bob</p><p>x</p>'
    assert rule(body, creator=["Ann", "Bob"]) == {"css": ".who", "many": True}


@pytest.mark.parametrize(
    ("first", "second", "seen", "given"),
    [
        ("Under MIT since 2019", "Under GPL since 2020", "MIT", "GPL"),
        ("3 files, 20 KB, MIT (more)", "12 files, 1 MB, GPL (more)", "MIT", "GPL"),
        ("Open data [MIT]", "Open data [GPL]", "MIT", "GPL"),
    ],
)
def test_part_of_a_text(first, second, seen, given):
    found = rule(f'<p class="l">{first}</p>', f'<p class="l">{second}</p>', license=seen)
    assert seen not in found["regex"]
    rules = ruled(f"license = {{ css = '.l', regex = '''{found['regex']}''' }}")
    assert document(sample(f'<p class="l">{second}</p>').page, rules)["fields"]["license"]["value"] == given


def test_an_address_within_a_text():
    found = rule("<p class='c'>Write to <b>a.b@example.org</b> or call</p>", contact_email="a.b@example.org")
    assert found in (".c b", "b") or "regex" in found


def test_markup_is_kept_where_there_is_some():
    assert rule('<div class="text"><p>One.</p><p>Two.</p></div>', description="One. Two.") == {
        "css": ".text",
        "html": True,
    }
    assert rule('<div class="text">One.</div><p>x</p>', description="One.") == ".text"


def test_the_beginning_of_a_long_text_will_do():
    words = "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore"
    assert rule(f'<div class="text"><p>{words}</p></div><p>x</p>', description=words[:60] + " …")["css"] == ".text"


# Files


def test_files_whatever_their_number():
    rows = '<tr><th>Name</th><th>Format</th></tr><tr><td><a href="/1.csv">One</a></td><td>CSV</td></tr>'
    more = '<tr><td><a href="/2.pdf">Two</a></td><td>PDF</td></tr>'
    shown = sample(f'<h1>T</h1><table class="files">{rows}{more}</table><table><tr><td>x</td></tr></table>')
    values = {"resource.url": ["https://data.example.org/1.csv"], "resource.format": ["CSV"]}
    found = learn([shown], values, {}).files
    assert found.table == {"css": ".files tr:has(td)"}
    assert (found.tables, found.counts) == (
        {"url": {"css": "a"}, "title": {"css": "a"}, "format": {"css": "td:nth-of-type(2)"}},
        [2],
    )


HEADED = "<h1>T</h1><h2>Topics</h2><ul><li><a href='/x'>x</a></li></ul><h2>Files</h2>{}<h2>More</h2><ul><li>x</li></ul>"


@pytest.mark.parametrize(
    ("box", "xpath"),
    [
        ("<ul>{}{}</ul>", '//h2[normalize-space()="Files"]/following-sibling::*[1][self::ul]/li'),
        ("<div><ul>{}{}</ul></div>", '//h2[normalize-space()="Files"]/following-sibling::*[1][self::div]/ul/li'),
    ],
)
def test_files_that_only_their_heading_tells(box, xpath):
    body = HEADED.format(box.format(*(f"<li><a href='/{number}.csv'>No. {number}</a> (CSV)</li>" for number in (1, 2))))
    url = "https://data.example.org/1.csv"
    result = learn([sample(body)], {"title": ["T"], "resource.url": [url], "resource.format": ["CSV"]}, {})
    assert (result.files.table, result.files.counts) == ({"xpath": xpath}, [2])
    rules = loads(toml(result))
    assert [one["format"]["value"] for one in document(sample(body).page, rules)["resources"]] == ["CSV", "CSV"]


def test_what_is_learned_is_written_though_files_are_not():
    body = "<h1>T</h1><p><a href='/1.csv'>One</a></p><p><a href='/x'>x</a></p><div><p><a href='/y'>y</a></p></div>"
    values = {"title": ["T"], "resource.url": ["https://data.example.org/1.csv"]}
    result = learn([sample(body)], values, {})
    assert (len(result.fields), result.files) == (1, None)
    assert "# The files were not learned" in toml(result)


def test_a_file_that_is_not_there():
    with pytest.raises(
        LearnError, match=r"resource.url: '1.csv' is not on .* Nearest: https://data.example.org/1.csv."
    ):
        learn([sample('<a href="/1.csv">One</a>')], {"resource.url": ["1.csv"]}, {})
    with pytest.raises(LearnError, match=r"resource.url: 'https://a.org/9.csv' is not on"):
        learn([sample('<a href="/1.csv">One</a>')], {"resource.url": ["https://a.org/9.csv"]}, {})


# A conversation: what the page says by itself, corrected

TOWN = """<title>Rivers | Town</title><nav><a href="/about">Rivers</a></nav><h1>{}</h1><div class="notes">All that
flows through the town, day by day.</div><dl><dt>Licence</dt><dd>MIT</dd><dt>Contact</dt><dd>Ann</dd>{}</dl>
<ul class="files"><li><b>One</b> <a href="/1.csv" download>CSV</a></li><li><b>Two</b> <a href="/2.csv" download>CSV</a>
</li></ul>"""


def town(*rows: str, title: str = "Rivers") -> Sample:
    return sample(
        TOWN.format(title, "".join(f"<dt>{row.split('=')[0]}</dt><dd>{row.split('=')[1]}</dd>" for row in rows))
    )


def tables(*pages: Sample, values=None, labels=None, without=()) -> dict:
    result = learn(list(pages), values or {}, labels or {}, without)
    files = {f"resource.{name}": table for name, table in (result.files.tables if result.files else {}).items()}
    return {one.name: one.value for one in result.fields} | files


ALONE = {
    "title": "h1",
    "description": ".notes",
    "contact": {"label": "Contact"},
    "license": {"label": "Licence"},
    "resource.url": {"css": "a"},
    "resource.title": {"css": "b"},
    "resource.format": {"css": "a"},
}


@pytest.mark.parametrize(
    ("said", "changed"),
    [
        ({}, {}),
        ({"values": {"publisher": ["Ann"]}}, {"publisher": {"label": "Contact"}, "contact": None}),
        ({"labels": {"rights": "Licence"}}, {"rights": {"label": "Licence"}, "license": None}),
        ({"values": {"resource.title": ["CSV"]}}, {"resource.title": {"css": "a"}}),
        ({"values": {"resource.url": ["/2.csv"]}}, {}),
        ({"without": ["license", "resource.format"]}, {"license": None, "resource.format": None}),
        ({"without": ["resources"]}, dict.fromkeys(("resource.url", "resource.title", "resource.format"))),
    ],
)
def test_what_is_said_corrects_and_adds(said, changed):
    expected = {name: table for name, table in (ALONE | changed).items() if table is not None}
    assert tables(town(), **said) == expected


def test_a_field_that_other_pages_lack_is_left_out_and_named():
    pages = [town("Version=1"), town("Version=2", title="Roads"), town(title="Trees")]
    result = learn(pages, {}, {})
    [left_out] = result.left_out
    assert (left_out.name, left_out.found) == ("version", (2,))
    assert "version" not in {one.name for one in result.fields}
    assert [one.found for one in result.fields] == [(2, 3)] * len(result.fields)
    lines = report(result, pages, loads(toml(result)))
    at = next(number for number, line in enumerate(lines) if line.startswith("version "))
    assert lines[at].split(None, 1)[1] == "-    left out: label Version; found on 1 of 2 other pages, not on 3"
    assert lines[at + 2].split(None, 1)[1] == "--label version=Version keeps it"
    assert "version" in tables(*pages, values={"version": ["1"]})


def test_the_report_says_what_corrects_a_field():
    page = sample(
        "<title>Rivers | Town</title><h1>Rivers</h1><h2>Rivers of Town</h2><p>Licence: MIT</p><p>Terms of use: A B</p>"
    )
    result = learn([page], {}, {})
    lines = report(result, [page], loads(toml(result)))
    assert [line.partition(">")[2].strip() for line in lines if line.strip().startswith(">")] == [
        "if wrong: --value title=TEXT or --without title",
        "if wrong: --label license='Terms of use' or --without license",
        "--value FIELD=TEXT adds what the page shows, --label FIELD=LABEL what is beside a label",
    ]


@pytest.mark.parametrize(
    ("name", "given", "options"),
    [
        ("title", ["a b"], "--value title='a b'"),
        ("themes", ["A", "B"], "--value themes=A --value themes=B"),
        ("description", ["ab " * 50], f"--value description='{('ab ' * 50)[:69]}…'"),
        ("themes", ["A", "ab " * 50], "--value themes=TEXT"),
    ],
)
def test_options_that_give_a_rule(name, given, options):
    assert options_of(Learned(name, {"css": "p"}, "tag", [given], 0.9)) == options


COLUMNS = "<table><tr><th>Field</th><th>{}</th></tr><tr><th>When</th><td>12.03.2020</td></tr></table>"


@pytest.mark.parametrize("heading", ["Value", "Issued"])
def test_the_head_of_a_column_is_no_label(heading):
    page = sample("<h1>T</h1>" + COLUMNS.format(heading))
    assert "issued" not in {one.name for one in learn([page], {}, {}).fields}
    assert rule(COLUMNS.format(heading), issued="12.03.2020") == {"label": "When", "date": True}


def test_a_row_of_labels_over_one_row_of_values_is_a_record():
    body = "<table><tr><th>Issued</th><th>Licence</th></tr><tr><td>12.03.2020</td><td>MIT</td></tr></table>"
    assert rule(body, license="MIT") == {"label": "Licence"}


def test_a_value_is_learned_where_it_was_seen_only():
    """The same words in a menu with an id, and as the first word of a list, are not the title."""
    page = sample('<title>Rivers | Town</title><p id="crumb">Rivers</p><div class="x"><h1 class="y">Rivers</h1></div>')
    [title] = learn([page], {}, {}).fields
    assert page.css(title.table["css"])[0].tag == "h1"


# What can't be learned


@pytest.mark.parametrize(
    ("values", "labels", "message"),
    [
        ({"titel": ["x"]}, {}, "There is no field 'titel'. Did you mean title?"),
        ({"resource.link": ["x"]}, {}, "There is no field 'resource.link'."),
        ({"license": ["Creative Commons BY 3"]}, {}, "The nearest texts there: Creative Commons BY 4"),
        ({"license": ["MIT"]}, {}, "'MIT' is not on .* The nearest texts there: Creative Commons BY 4"),
        ({}, {"license": "Lizens"}, "has no label 'Lizens' with a value. The nearest labels there: License"),
        ({"license": ["Trees"]}, {"license": "License"}, "the label 'License' does not give 'Trees'"),
    ],
)
def test_what_is_not_there_is_said_with_what_is_near(values, labels, message):
    page = sample("<h1>Trees</h1><p>License: Creative Commons BY 4</p>")
    with pytest.raises(LearnError, match=message):
        learn([page], values, labels)


def test_a_page_that_scripts_fill():
    page = sample('<div id="app"></div><script>render()</script>')
    with pytest.raises(LearnError, match='it may need browser = "datasets"'):
        learn([page], {"title": ["Trees"]}, {})


def test_structured_data_is_said_and_left_on():
    script = (
        '<script type="application/ld+json">{"@context":"https://schema.org","@type":"Dataset","name":"Trees"}</script>'
    )
    alternate = '<link rel="alternate" type="text/turtle" href="/one.ttl">'
    result = learn([sample(f"<h1>Trees</h1>{script}{alternate}")], {"title": ["Trees"]}, {})
    assert result.structured == ("schema.org", "RDF (text/turtle)")
    assert loads(toml(result)).structured


# Names


@pytest.mark.parametrize("name", ["license", "dataset-title", "fieldLicense", "field-name-field-tags"])
def test_names_that_mean_something(name):
    assert stability(name) >= 0.6


@pytest.mark.parametrize(
    "name", ["css-1a2b3c", "sc-a1b2c3", "x3xK2aQ", "node-4711", "c12345", "_ngcontent-abc-12", "a b", ""]
)
def test_names_that_programs_made(name):
    assert not stability(name)


@pytest.mark.parametrize("name", ["col-md-6", "d-flex", "mt-3", "clearfix", "odd", "pull-right"])
def test_names_of_a_grid_are_poor(name):
    assert stability(name) < 0.55


# Listings


def rows(*paths: str, start: int = 1) -> str:
    found = (
        f'<li class="hit"><h3><a href="{path}">Dataset number {number}</a></h3><a href="{path}">more</a></li>'
        for number, path in enumerate(paths, start)
    )
    return f'<nav><a href="/">Home</a><a href="/about">About</a></nav><ul class="hits">{"".join(found)}</ul>'


@pytest.mark.parametrize(
    ("paths", "ids"),
    [
        (["/dataset/a", "/dataset/b", "/dataset/c"], ["a", "b", "c"]),
        (["/dataset/a/", "/dataset/b/", "/dataset/c/"], ["a", "b", "c"]),
        (["/view.aspx?id=7", "/view.aspx?id=8", "/view.aspx?id=9"], ["7", "8", "9"]),
        (["/view.php?lang=de&id=7&x=1", "/view.php?lang=de&id=8&x=1", "/view.php?lang=de&id=9&x=1"], ["7", "8", "9"]),
        (["/d/12-roads", "/d/13-rivers", "/d/14-trees"], ["12", "13", "14"]),
        (["/d/roads.html", "/d/rivers.html", "/d/trees.html"], ["roads", "rivers", "trees"]),
        (["/a", "/b", "/c"], ["a", "b", "c"]),
        (["/?p=1", "/?p=2", "/?p=3"], ["1", "2", "3"]),
        (["/c/env/roads", "/c/env/rivers", "/c/edu/trees"], ["env/roads", "env/rivers", "edu/trees"]),
    ],
)
@pytest.mark.parametrize("known", [True, False])
def test_links_and_ids(paths, ids, known):
    found = listing(sample(rows(*paths), LIST), [f"https://data.example.org{paths[1]}"] if known else [])
    assert (found.ids, found.count) == (ids, 3)
    assert bool(found.links.why) is not known


def test_a_link_of_another_kind_among_the_rows():
    page = sample(rows("/dataset/a", "/dataset/b", "/dataset/c", "/about/the/portal"), LIST)
    found = listing(page, ["https://data.example.org/dataset/a"])
    assert (found.count, found.links.table["id"]) == (3, "/dataset/([^/?#]+)")


def test_a_listing_without_links():
    with pytest.raises(ListingError, match="has no links that could lead to datasets"):
        listing(sample("<p>nothing</p>", LIST), [])
    with pytest.raises(CrawlersError, match='browser = "listing"'):
        listing(sample("<div></div><script>x()</script>", LIST), [])
    unseen = ["<noscript><iframe src='/a'></iframe></noscript>", "<p hidden><iframe src='/a'></iframe></p>"]
    unseen += [
        f"<iframe src='/a' {size}></iframe>" for size in ("width=0", "style='height: 1px'", "style='display:none'")
    ]
    other = "<iframe></iframe><iframe src='//video.example.org/'></iframe>"
    with pytest.raises(ListingError, match=r"in its frame, try --list https://data\.example\.org/inner"):
        listing(sample(f"{''.join(unseen)}{other}<iframe src='/inner'></iframe>", LIST), [])
    with pytest.raises(ListingError, match="in the shadow root of <town-list>"):
        listing(sample("<town-head>Data</town-head><town-list></town-list>", LIST), [])


NEXT = {"next": True}
POSTED = """<form method=post><input name=__VIEWSTATE value=x type=hidden><span>1</span>
<a href="javascript:__doPostBack('g','Page$2')">2</a> <a href="javascript:__doPostBack('g','Page$3')">3</a></form>"""


@pytest.mark.parametrize(
    ("pager", "table", "following"),
    [
        ('<a rel="next" href="?page=2">2</a>', {"next": True}, "?page=2"),
        ('<a href="?seite=2">Weiter</a>', {"next": True}, "?seite=2"),
        ('<p class="pages"><b>1</b> <a href="?p=2">2</a> <a href="?p=3">3</a></p>', {"numbers": True}, "?p=2"),
        (POSTED, {"postback": True}, None),
        ("<button>Mehr laden</button>", {"button": "Mehr laden"}, None),
        ('<a href="#">Siguiente</a>', {"button": "Siguiente"}, None),
        ('<button aria-label="Next page"><i></i></button>', {"button": "Next page"}, None),
        (
            '<div class="pager"><button>1</button><button>2</button><button>3</button></div>',
            {"buttons": {"css": ".pager"}},
            None,
        ),
        (
            '<select name="page" onchange="location=value"><option value="?p=1">1<option value="?p=2">2</select>',
            NEXT,
            "?p=2",
        ),
        ('<a href="?cursor=x">Weiland</a>', NEXT, "?cursor=x"),
        ("".join(f'<a href="?letter={one}">{one}</a>' for one in "abcdef"), NEXT, "?letter=a"),
        ("", {}, None),
    ],
)
def test_pagers(pager, table, following):
    found = listing(sample(rows("/dataset/a", "/dataset/b") + pager, LIST), []).pager
    assert found.table == table
    assert found.following == (following and LIST + following)
    assert found.in_browser is bool({"button", "buttons"} & set(table))


def test_a_short_listing_is_not_empty():
    page = sample(rows("/dataset/a", "/dataset/b") + "<script>x()</script>", LIST)
    assert not page.looks_empty
    assert sample("<nav><ul><li><a href='/'>Home</a></ul></nav><div id=app></div><script>x()</script>").looks_empty


def test_a_form_is_posted_back_by_its_button_in_a_browser():
    found = listing(sample(rows("/dataset/a", "/dataset/b") + POSTED, LIST), [], in_browser=True)
    assert found.pager.table == {"buttons": {"css": "form"}}
    result = replace(learn([sample("<h1>T</h1>")], {}, {}), listing=found, browser=("listing",))
    assert loads(toml(result)).paging.kind == "buttons"


@pytest.mark.parametrize(
    ("late", "scrolled", "table", "second"),
    [
        ("<button>Load more</button>", None, {"button": "Load more"}, None),
        ("", rows("/dataset/a", "/dataset/b", "/dataset/c"), {"scroll": True}, 1),
        ("", rows("/dataset/a", "/dataset/b"), {}, None),
        (None, None, {}, None),
    ],
)
def test_what_a_browser_shows_of_a_pager_later_and_after_scrolling(late, scrolled, table, second):
    body = rows("/dataset/a", "/dataset/b")
    shown = sample(body, LIST)
    first = listing(shown, [], in_browser=True)
    pages = [None if each is None else sample(each, LIST) for each in (late if late is None else body + late, scrolled)]
    found = turned(first, shown, *pages)
    assert (found.pager.table, found.second) == (table, second)


def test_a_counter_in_the_start_address():
    found = listing(sample(rows("/dataset/a", "/dataset/b"), LIST + "?start=0"), []).pager
    assert (found.table, found.following) == ({"query": "start", "first": 0}, LIST + "?start=1")


def test_a_browser_is_named_where_it_is_needed():
    page = sample(rows("/dataset/a", "/dataset/b") + "<button>Mehr laden</button>", LIST)
    result = replace(learn([sample("<h1>T</h1>")], {"title": ["T"]}, {}), listing=listing(page, []))
    assert loads(toml(result)).browser == {"listing"}


def test_the_second_page_bears_the_pager_out():
    one = sample(rows("/dataset/a", "/dataset/b") + '<a rel="next" href="?page=2">2</a>', LIST)
    two = sample(rows("/dataset/c", "/dataset/d"), LIST + "?page=2")
    first = listing(one, [])
    assert confirmed(first, one, two).second == 2
    again = confirmed(first, one, one)
    assert again.second == 0
    assert again.pager.sure < first.pager.sure / 2


@pytest.mark.parametrize(
    ("shown", "pager", "found"),
    [
        ("<p class='count'>305 datasets found</p>", True, (".count", 305)),
        ("<h2>1.234 Datensätze</h2>", True, ("h2", 1234)),
        ("<div class='found'>Showing <b>1-2</b> of <b>305</b> results</div>", True, (".found", 305)),
        ("<div class='found'><span>Résultats : 1 à 2 sur 305</span></div>", True, (".found span", 305)),
        ("<p id='total'>2件</p>", False, ("#total", 2)),
        ("<p class='count'>2 datasets</p>", True, None),  # on this page
        ("<p class='count'>Page 1 of 16</p>", True, None),
        ("<p class='count'>1,200 downloads</p>", True, None),
        ("<p class='count'>305 datasets</p><p class='also'>98 results</p>", True, None),
        ("<ul><li class='count'>Transport: 12 datasets</li></ul>", True, None),
        ("<footer><p class='count'>99 datasets</p></footer>", True, None),
        ("<p class='count'>1 dataset</p>", False, None),  # two are listed
    ],
)
def test_the_total_is_learned_where_the_listing_prints_it(shown, pager, found):
    body = shown + rows("/dataset/a", "/dataset/b") + ('<a rel="next" href="?page=2">2</a>' if pager else "")
    one = sample(body, LIST)
    learned = listing(one, [])
    assert (learned.total and (learned.total.css, learned.total.count)) == found
    rules = loads(toml(replace(learn([sample("<h1>T</h1>")], {"title": ["T"]}, {}), listing=learned)))
    assert total_of(one.page, rules) == (found and found[1])
    other = sample(body.replace(str(found and found[1]), "7"), f"{LIST}?page=2")
    assert confirmed(learned, one, sample("<p>none</p>")).total == learned.total
    assert found is None or "." in shown or confirmed(learned, one, other).total is None


def test_a_rules_file_has_no_control_characters():
    result = learn(
        [sample("<dl><dt>Li\x9bcen\u202ese x</dt><dd>MIT</dd></dl>", "https://a.org/d/\u202e1")],
        {"license": ["MIT"]},
        {},
    )
    text = toml(result)
    assert all(line.isprintable() for line in text.splitlines())
    assert "\\U0000202e" in text
    assert loads(text).fields[0].labels == ("Li\x9bcen\u202ese x",)


# Hostile pages


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        "<div>" * 20_000 + "MIT",
        "<p>MIT</p>" * 20_000,
        "<p>" + "MIT " * 200_000 + "</p>",
        "".join(f'<p class="c{number} d{number}" id="i">x</p>' for number in range(10_000)) + "<p>MIT</p>",
        "<dl>" + "<dt>License</dt><dd>MIT</dd>" * 5_000 + "</dl>",
        '<p class="' + "a " * 100_000 + '">MIT</p>',
        "<table>" * 300 + "<tr><td>MIT</td></tr>",
        "<p>\x00MIT\ud800</p>",
    ],
    ids=["deep", "wide", "long", "classes", "labels", "tokens", "tables", "surrogate"],
)
def test_time_is_bounded(body):
    began = process_time()
    with suppress(LearnError):
        learn([sample(body), sample(body)], {"license": ["MIT"], "keywords": ["MIT"]}, {})
    assert process_time() - began < 20
