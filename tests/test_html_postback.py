"""ASP.NET's pagers: which control turns the page, and what its form posts, byte for byte."""

from __future__ import annotations

import html as markup
from time import process_time
from urllib.parse import parse_qsl

import pytest

from crawlers.kinds.html.forms import postback, posted_pages, pressed
from crawlers.kinds.html.rules import loads
from crawlers.records.html_page import Page

URL = "https://example.org/sub/list.aspx?q=1"
STATE = '<input type="hidden" name="__VIEWSTATE" value="/wEP+A=="><input type=hidden name=__EVENTVALIDATION value="b/">'


def paging(text: str = "postback = true"):
    browser = 'browser = "listing"\n' if text.startswith("button") else ""
    return loads(f'start = "{URL}"\n{browser}[links]\ncss = "a"\n[paging]\n{text}\n[fields]\ntitle = "h1"\n').paging


def form(pager: str, number: int = 2, rules: str = "postback = true"):
    page = Page(f'<form method="post" action="./list.aspx?q=1" id="aspnetForm">{STATE}{pager}</form>', URL)
    return postback(page, paging(rules), number)


def posted(pager: str, number: int = 2, rules: str = "postback = true") -> tuple[str, str] | None:
    """Target and argument."""
    found = form(pager, number, rules)
    fields = dict(parse_qsl(found.body.decode(), keep_blank_values=True)) if found else {}
    return (fields["__EVENTTARGET"], fields["__EVENTARGUMENT"]) if found else None


def link(text: str, target: str = "ctl00$Grid", argument: str = "", more: str = "") -> str:
    return f"<a {more} href=\"javascript:__doPostBack('{target}','{argument}')\">{text}</a>"


def grid_view(*numbers: str) -> str:
    """A GridView's pager: ``Page$3`` in a table of its own; ``<3`` is a ``...`` that leads there, ``3*`` bare text."""
    cells = []
    for one in numbers:
        bare = one.strip("<*")
        text = "..." if one.startswith("<") else bare
        cells.append(
            f"<td><span>{bare}</span></td>" if one.endswith("*") else f"<td>{link(text, argument=f'Page${bare}')}</td>"
        )
    rows = '<tr><td><a href="/set/7">7</a></td><td>8</td></tr>'
    return f'<table>{rows}<tr class="pager"><td colspan="2"><table><tr>{"".join(cells)}</tr></table></td></tr></table>'


def data_grid(*numbers: str) -> str:
    """A DataGrid's pager: names of controls, which tell no page."""
    parts = (
        f"<span>{one[:-1]}</span>" if one.endswith("*") else link(one, f"ctl00$Grid$ctl14$ctl{at:02}")
        for at, one in enumerate(numbers)
    )
    return f"<table><tr><td>&nbsp;{'&nbsp;'.join(parts)}</td></tr></table>"


def ten(first: int) -> list[str]:
    return [str(number) for number in range(first, first + 10)]


NUMBERS = [
    (grid_view("1*", "2", "3"), 2, ("ctl00$Grid", "Page$2")),
    (grid_view("1", "2", "3*"), 4, None),
    (grid_view("1", "2*"), 3, None),
    (grid_view(*ten(1)[:-1], "10*", "<11"), 11, ("ctl00$Grid", "Page$11")),
    (grid_view("<10", "11*", *ten(12)[:-1], "<21"), 12, ("ctl00$Grid", "Page$12")),
    (grid_view("<10", *ten(11)[:-1], "20*", "<21"), 21, ("ctl00$Grid", "Page$21")),
    (grid_view("<10", "11*"), 12, None),
    (grid_view("1*"), 2, None),
    (data_grid("1*", "2", "3"), 2, ("ctl00$Grid$ctl14$ctl01", "")),
    (data_grid(*ten(1)[:-1], "10*", "..."), 11, ("ctl00$Grid$ctl14$ctl10", "")),
    (data_grid("...", *ten(11)[:-1], "20*", "..."), 21, ("ctl00$Grid$ctl14$ctl11", "")),
    (data_grid("...", *ten(11)[:-1], "20*", "…"), 21, ("ctl00$Grid$ctl14$ctl11", "")),
    (data_grid("...", "11", "12*"), 13, None),
    (data_grid("...", "11*"), 12, None),
    (data_grid("1", "2*", "..."), 3, ("ctl00$Grid$ctl14$ctl02", "")),
    (data_grid("2*", "..."), 3, ("ctl00$Grid$ctl14$ctl01", "")),
    (data_grid(*ten(1)[:-1], "10*", "...") * 2, 11, ("ctl00$Grid$ctl14$ctl10", "")),
    (f"<ul><li>{link('1')}</li><li><b>2</b></li><li>{link('3', 'x')}</li></ul>", 3, ("x", "")),
    (f"<p>{link('...', 'back')} [2] {link('...', 'on')}</p>", 3, ("on", "")),
    (f"<p>{link('1')} 2 {link('20', 'last')} {link('›', 'on')}</p>", 3, ("on", "")),
    (f"<p>1 {link('2', 'x', more='class=aspNetDisabled')} {link('3')}</p>", 2, None),
    # of the list and not of its pager: commands, sorting, numbers in a row
    (f"<td>{link('2', argument='Select$1')}</td><td>3</td>", 2, None),
    (f"<p>{link('2', argument='Sort$2')} 1 3</p>", 2, None),
    (f"<tr><td>{link('4', 'row')}</td><td>5</td></tr>" + data_grid("1", "2", "3*"), 4, None),
    (f"<tr><td>{link('2', 'row')}</td><td>7</td></tr>" + data_grid("1*", "2", "3"), 2, ("ctl00$Grid$ctl14$ctl01", "")),
    ("".join(f"<tr><td>{link('>', f'row{at}')}</td></tr>" for at in range(5)), 2, None),
    ("<p>nothing</p>", 2, None),
]


@pytest.mark.parametrize(("pager", "number", "expected"), NUMBERS)
def test_the_control_of_a_page(pager, number, expected):
    assert posted(pager, number) == expected


NEXT = [
    (f"{link('Previous', 'p')} {link('Next', 'n')}", "postback = true", ("n", "")),
    (f"{link('Anterior', 'p')} {link('Siguiente', 'n')}", "postback = true", ("n", "")),
    (f"{link('&lt;', 'p')} {link('&gt;', 'n')} {link('&gt;&gt;', 'l')}", "postback = true", ("n", "")),
    (f"{link('«', 'p')} {link('»', 'n')}", "postback = true", ("n", "")),
    (f"{link('x', 'p', 'Page$Prev')} {link('y', 'n', 'Page$Next')}", "postback = true", ("n", "Page$Next")),
    (f"{link('Previous', 'p')} {link('Last', 'l')}", "postback = true", None),
    (link("Next", "n", more='disabled="disabled"'), "postback = true", None),
    (link("Next", "n", more='class="aspNetDisabled"'), "postback = true", None),
    (f"{link('Next', 'n')} {link('Mehr Sätze', 'm')}", 'postback = "mehr sätze"', ("m", "")),
    (link("Next", "n"), 'postback = "mehr sätze"', None),
    (f"{link('Next', 'n')} <i class=x>{link('Mehr', 'm')}</i>", "postback = { css = '.x a' }", ("m", "")),
    (f"{link('Next', 'n')} <i class=x>{link('Zurück', 'm')}</i>", "postback = { css = '.x a' }", None),
    (
        data_grid("1*", "2") + f"<div id=p>{data_grid('1*', 'x', '2')}</div>",
        "postback = { css = '#p' }",
        ("ctl00$Grid$ctl14$ctl02", ""),
    ),
    (
        data_grid("1*", "2") + f"<div id=p>{data_grid('1*', 'x', '2')}</div>",
        "postback = { css = '#p a' }",
        ("ctl00$Grid$ctl14$ctl02", ""),
    ),
    (link("Next", "n"), "postback = { css = '#p' }", None),
    (data_grid("...", "2*", "..."), 'postback = "..."', None),
    (data_grid("...", "1*", "..."), 'postback = "..."', ("ctl00$Grid$ctl14$ctl02", "")),
]


@pytest.mark.parametrize(("pager", "rules", "expected"), NEXT)
def test_next_by_word_selector_and_sign(pager, rules, expected):
    assert posted(pager, 2, rules) == expected


OPTIONS = "WebForm_DoPostBackWithOptions(new WebForm_PostBackOptions({}))"
SCRIPTS = [
    "javascript:__doPostBack('a$b','Page$2')",
    'javascript:__doPostBack("a$b", "Page$2")',
    "javascript: __doPostBack ( 'a$b' , 'Page$2' ) ; return false;",
    r"javascript:__doPostBack('a\x24b','Page\u00242')",
    r"if(x) { __doPostBack('a\$b','Page$2'); }",
    "javascript:" + OPTIONS.format('"a$b", "Page$2", true, "", "", false, true'),
    "javascript:" + OPTIONS.format("'a$b', 'Page$2', false, '', '', false, true"),
]


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("element", ['<a href="{}">x</a>', '<a href="#" onclick="{}">x</a>', '<td onclick="{}">x</td>'])
@pytest.mark.parametrize("quoted", [markup.escape, lambda text: text.replace('"', "&#34;").replace("'", "&#39;")])
def test_scripts(script, element, quoted):
    assert posted(element.format(quoted(script))) == ("a$b", "Page$2")


@pytest.mark.parametrize(
    "script", ["__doPostBack()", "__doPostBack('')", "__doPostBack(a", "__doPostBack('a", "doPostBack('a','')"]
)
def test_scripts_that_post_nothing(script):
    assert posted(f'<a href="javascript:{script}">2</a> 1') is None


def test_a_script_in_an_address_is_encoded_as_such():
    assert posted('<a href="javascript:__doPostBack(%27a$b%27,%27Page%242%27)">x</a>') == ("a$b", "Page$2")


def test_a_script_that_posts_to_another_page():
    script = markup.escape("javascript:" + OPTIONS.format('"a", "", false, "", "/next.aspx", false, true'))
    assert form(f'<a href="{script}">Next</a>').url == "https://example.org/next.aspx"


BUTTONS = [
    ('1 <input type="submit" name="p" value="2"> <input type="submit" name="p" value="3">', 2, ("p", "2")),
    ('1 <button name="p" value="x2">2</button> <button type="submit" name="p" value="x3">3</button>', 3, ("p", "x3")),
    ('<input type="submit" name="go" value="Next"><input type="submit" name="find" value="Search">', 2, ("go", "Next")),
    ('<input type="image" name="go" alt="Next page" src="n.gif">', 2, ("go.x", "0")),
    ('1 <input type="submit" name="p" value="2" disabled>', 2, None),
    ('1 <input type="submit" value="2">', 2, None),
    ('1 <button type="button" name="p">2</button>', 2, None),
]


@pytest.mark.parametrize(("pager", "number", "expected"), BUTTONS)
def test_pagers_of_buttons(pager, number, expected):
    found = form(pager, number)
    fields = parse_qsl(found.body.decode(), keep_blank_values=True) if found else []
    assert [pair for pair in fields if not pair[0].startswith("__")][:1] == ([expected] if expected else [])
    assert "__EVENTTARGET" not in dict(fields)


LIST = "https://example.org/list"
NUMBERS = "".join(f"<button name={{0}} value={number}>{number}</button>" for number in (1, 3, 2, 4, 5))
SIZES = "<select name=size><option>5<option selected>10</select>"
PAGED = "<input type=hidden name=currentPage value=2>"


@pytest.mark.parametrize(
    ("form", "way", "sent"),
    [
        (f"<form method=post>{NUMBERS.format('vote')}</form>", "true", None),
        (f"<form>{NUMBERS.format('size')}</form>", "true", None),
        (f"<form method=post>{PAGED}{NUMBERS.format('vote')}</form>", "true", None),
        (f"<form method=post>{NUMBERS.format('vote')}</form><form><b>1</b>{NUMBERS.format('x')}</form>", "true", "x=2"),
        (f"<form method=post>{NUMBERS.format('page')}</form>", "true", "page=2"),
        (f"<form method=post><b>1</b>{NUMBERS.format('vote')}</form>", "true", None),
        ("<form method=post><input type=hidden name=slide value=2><button>Next</button></form>", "true", None),
        (f"<form method=post>{PAGED}<button>Next</button></form>", "true", "currentPage=2"),
        ("<form method=post action='?page=2'><button>Next</button></form>", "true", ""),
        (f"<form>{SIZES}<button name=page value=2>Next</button></form>", "true", "size=10&page=2"),
        ("".join(link(str(one), f"r{one}") for one in range(1, 6)), "true", None),
        ("<form method=post action=/news><input name=mail><button>On</button></form>", '"On"', None),
        ("<form action=/find><input name=q><button>On</button></form>", '"On"', "q="),
        (
            f"<form action=/find><button>On</button></form><form>{PAGED}<button>On</button></form>",
            '"On"',
            "currentPage=2",
        ),
        ("<form method=post></form><button>On</button>", '"On"', None),
    ],
)
def test_what_is_pressed_turns_the_page(form, way, sent):
    """What votes, subscribes, or sets the length of a page is not sent."""
    found = pressed(Page(form, LIST), paging(f"next = {way}"), 2)
    assert (found and (found.body.decode() if found.method == "POST" else found.url.partition("?")[2])) == sent
    if "/find" in form and "currentPage" not in form:
        assert pressed(Page(form, LIST), paging(f"next = {way}"), 3, is_any=False) is None, "links turned the pages"


# The form


def test_the_body_byte_for_byte():
    page = Page(
        f"""<form method="POST" action="list.aspx?a=1&amp;b=2" id="f">
        <input type="hidden" name="__EVENTTARGET" value="old"><input type="hidden" name="__EVENTARGUMENT">{STATE}
        <input name="q" value="é €&amp;=+ *"><input type="checkbox" name="on" checked><input type=checkbox name=off>
        <input type="radio" name="r" value="1"><input type="RADIO" name="r" value="2" checked>
        <select name="s">
        <option value="a" selected>A<option selected> B  c <option value="d" disabled selected></select>
        <select name="first"><option disabled value=no><option value=yes><option value=later></select>
        <select name="m" multiple><option selected>1<option>2<option selected>3</select>
        <select name="list" size="4"><option>1</select><select name="none"></select>
        <textarea name="t">\na\nb</textarea>
        <input type="submit" name="find" value="Search"><input type="image" name="i"><input type="reset" name="z">
        <input type="button" name="b" value="b"><button name="c">c</button><input type="file" name="upload">
        <input name="off1" value="1" disabled><fieldset disabled><input name="off2" value="1"></fieldset>
        <input value="nameless"><input name="other" form="g" value="1">{grid_view("1*", "2")}</form>
        <input name="outside" form="f" value="1"><form id="g"><input name="not" value="1"></form>""",
        URL,
    )
    found = postback(page, paging(), 2)
    assert found.url == "https://example.org/sub/list.aspx?a=1&b=2"
    assert found.body == (
        b"__EVENTTARGET=ctl00%24Grid&__EVENTARGUMENT=Page%242&__VIEWSTATE=%2FwEP%2BA%3D%3D&__EVENTVALIDATION=b%2F"
        b"&q=%C3%A9+%E2%82%AC%26%3D%2B+*&on=on&r=2&s=B+c&first=yes&m=1&m=3&t=a%0D%0Ab&upload=&outside=1"
    )
    assert postback(page, paging(), 2) == found


@pytest.mark.parametrize(
    ("head", "attributes", "encoding", "expected"),
    [
        ("", "", None, b"q=%C3%A9%E2%82%AC%E4%BD%A0"),
        ('<meta charset="iso-8859-1">', "", None, b"q=%E9%80%26%2320320%3B"),
        ("", "", "cp1252", b"q=%E9%80%26%2320320%3B"),
        ('<meta charset="iso-8859-1">', 'accept-charset="utf-8"', None, b"q=%C3%A9%E2%82%AC%E4%BD%A0"),
        ('<meta charset="no-such">', 'accept-charset="rot13 gbk"', None, b"q=%A8%A6%C4%E3"),
    ],
)
def test_encodings(head, attributes, encoding, expected):
    value = "é你" if "gbk" in attributes else "é€你"  # Python's gbk has no euro
    html = f'{head}<form method=post {attributes}><input name=q value="{value}">{link("Next", "n")}</form>'
    found = postback(Page(html, URL, encoding), paging(), 2)
    assert found.body == expected + b"&__EVENTTARGET=n&__EVENTARGUMENT="


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("", URL),
        ("action", URL),
        ('action="?p=2"', "https://example.org/sub/list.aspx?p=2"),
        ('action="/a"', "https://example.org/a"),
        ('action="https://other.example/a"', "https://other.example/a"),
        ('action="javascript:x()"', None),
    ],
)
def test_where_a_form_goes(action, expected):
    found = postback(Page(f"<form method=post {action}>{link('Next')}</form>", URL), paging(), 2)
    assert (found and found.url) == expected


def test_a_form_without_an_action_goes_to_the_page_whatever_its_base():
    html = f'<base href="/other/"><form method=post>{link("Next")}</form>'
    assert postback(Page(html, URL), paging(), 2).url == URL


def test_what_stands_behind_the_call_is_none_of_its_arguments():
    assert form("<a href=\"javascript:go(__doPostBack('a',''),'','','/elsewhere')\">Next</a>").url == URL


def test_a_form_that_asks_by_get_has_no_body():
    html = '<form action="/find?x=1"><input name=q value="a b">1 <input type=submit name=p value=2></form>'
    found = postback(Page(html, URL), paging(), 2)
    assert (found.url, found.body) == ("https://example.org/find?q=a+b&p=2", b"")


def test_a_pager_outside_of_the_form_posts_the_form_that_has_the_state():
    html = f"<form method=post action=/find></form><form method=post action=/list>{STATE}</form>{link('Next', 'n')}"
    assert postback(Page(html, URL), paging(), 2).url == "https://example.org/list"
    assert postback(Page(link("Next"), URL), paging(), 2) is None


# Hostile pages


@pytest.mark.slow
def test_hostile_pages_are_done_with_in_seconds():
    begun = process_time()
    large = form(f'<input type=hidden name=__VIEWSTATE2 value="{"/wEPDwULLTE+" * 250_000}">{data_grid("1*", "2")}')
    assert len(large.body) > 3_000_000
    assert form("".join(link(str(number)) for number in range(30_000)), 30_001) is None
    form("<tr><td>" * 500 + "".join(f"{number} {link('...')}" for number in range(6_000)), 9_000)
    assert form("<fieldset disabled><div>" * 900 + "<input name=x>" * 15_000 + link("Next"))
    assert form(f'<a href="javascript:{"__doPostBack(" * 100_000}">2</a>1') is None
    slashes = "\\" * 100_000
    assert form(f'<a href="javascript:__doPostBack(&#39;{slashes}">2</a>1') is None
    assert process_time() - begun < 90  # 12 where nothing else runs


@pytest.mark.parametrize("rules", ['postback = "2"', 'next = "2"', 'button = "2"', 'numbers = "2"'])
def test_the_number_of_page_2_is_counted_up(rules):
    kind = rules.partition(" ")[0]
    found = paging(rules)
    assert (found.kind, found.text) == ({"next": "numbers", "button": "buttons"}.get(kind, kind), None)


def test_a_pager_of_numbers_goes_on_behind_the_number_that_the_rules_name():
    assert posted(grid_view("1", "2*", "3"), 3, 'postback = "2"') == ("ctl00$Grid", "Page$3")


OFFERED = [
    (grid_view("1", "2*", "3", "4"), [1, 2, 3, 4]),
    (data_grid("1", "2*", "3", "..."), [1, 2, 3]),
    (" ".join(link(one, f"n{one}") for one in "12345"), []),
    (link("Next", "n"), []),
]


@pytest.mark.parametrize(("pager", "numbers"), OFFERED)
def test_pages_that_a_pager_of_forms_offers(pager, numbers):
    page = Page(f"<form method=post>{STATE}{pager}</form>", URL)
    assert sorted(set(posted_pages(page))) == numbers
