"""Pages and forms that come instead of files, in crawls of an archive: what is looked for, how far, and what is not."""

from __future__ import annotations

import pytest

from tests.archives import Archives
from tests.portal.files import CSV, Files, Reply

HTML = [("Content-Type", "text/html; charset=utf-8")]


@pytest.fixture
def files():
    with Files(hosts=2) as hosts:
        yield hosts


@pytest.fixture
def archives(tmp_path, files):
    return Archives(tmp_path, files)


def page(*links: str) -> Reply:
    items = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    return Reply(f"<!DOCTYPE html><html><body><ul>{items}</ul></body></html>".encode(), headers=HTML)


# Pages


def test_no_more_links_of_a_page_than_the_setting_says(archives, files):
    files.answers["/many"] = lambda _: page("/ok.pdf", "/ok.csv", "/ok.zip", "/plain.csv")
    archives.list(["/many"])
    archives.crawl({"ARCHIVE_LINKS_PER_PAGE": "2"})
    assert sorted(one.path for one in archives.asked()) == ["/many", "/ok.csv", "/plain.csv"], "the best ones"
    assert archives.last()["/many"]["reason"] == "an HTML page came instead of a file; it links 2 data files"
    files.reset()
    archives.crawl({"ARCHIVE_LINKS_PER_PAGE": "0"})
    assert [one.path for one in archives.asked()] == ["/many"]


def test_a_link_is_followed_without_its_login(archives, files):
    """Nor is one in the catalogue or in a header kept."""
    address = files.url("/%s").replace("://", "://me:hunter22@")
    files.answers["/page"] = lambda _: page(address % "ok.csv")
    extra = [("Content-Type", "text/csv"), ("Link", f"<{address % 'x'}>; rel=describedby")]
    files.answers["/headed.csv"] = lambda _: Reply(b"a,b\n1,2\n", headers=extra)
    archives.list(["/page", address % "headed.csv"])
    for _ in range(2):
        archives.crawl()
    assert sorted({one.path for one in archives.asked()}) == ["/headed.csv", "/ok.csv", "/page"]
    last = archives.last()
    assert {path: last[path]["state"] for path in ("/ok.csv", "/headed.csv")} == dict.fromkeys(
        ("/ok.csv", "/headed.csv"), "unchanged"
    )
    assert ["Link", f"<{files.url('/x')}>; rel=describedby"] in last["/headed.csv"]["headers"]
    kept = b"".join(path.read_bytes() for path in archives.output.rglob("*") if path.is_file())
    assert b"hunter22" not in kept


def test_a_host_that_none_can_be_is_not_asked_for_whatever_names_it(archives, files):
    """A page's link, a header Refresh, a redirect: the resolver took a minute for the last."""
    odd = f"http://{'x' * 70}.org/a.csv"
    files.answers["/page"] = lambda _: page(odd, "/ok.csv")
    files.answers["/refresh"] = lambda _: Reply(b"<html>", headers=[*HTML, ("Refresh", f"0; url={odd}")])
    files.answers["/redirect"] = lambda _: Reply(b"", 302, headers=[("Location", odd)])
    archives.list(["/page", "/refresh", "/redirect"])
    ran = archives.crawl({"ROBOTSTXT_OBEY": "True"})
    last = archives.last()
    found = {path: (last[path]["state"], last[path]["error"]) for path in ("/page", "/refresh", "/redirect", odd)}
    assert found == {
        "/page": ("not_taken", "page"),
        "/refresh": ("broken", "invalid_address"),
        "/redirect": ("broken", "http"),
        odd: ("broken", "invalid_address"),
    }
    assert "its host has an empty part, or one that is too long" in last[odd]["reason"]
    assert (last["/ok.csv"]["state"], "Traceback" in ran.log) == ("kept", False)


@pytest.mark.parametrize("obeys", [False, True])
def test_robots_txt_counts_for_what_is_found_and_for_the_search(archives, files, obeys):
    """The catalogue's own link is archived nevertheless, unless ARCHIVE_ROBOTSTXT_OBEY is set."""
    files.answers["/private/page.html"] = lambda _: page("/ok.csv", "/private/b.csv")
    archives.list(["/private/a.csv", "/private/page.html", "/page.html"])
    archives.crawl({"ARCHIVE_ROBOTSTXT_OBEY": str(obeys)})
    last = archives.last()
    asked = [one.path for one in archives.asked("/private/")]
    assert sorted(asked) == ([] if obeys else ["/private/a.csv", "/private/page.html"])
    assert last["/private/a.csv"]["state"] == ("not_taken" if obeys else "kept")
    secret = last["/private/secret.csv"]
    assert (secret["state"], secret["error"], secret["origin"]) == ("not_taken", "robots", files.url("/page.html"))
    assert "/private/b.csv" not in last
    searched = last["/private/page.html"]
    assert (searched["state"], searched["error"]) == ("not_taken", "robots" if obeys else "page")
    assert obeys or "it is not searched for links: " in searched["reason"]
    assert "robots.txt" in searched["reason"]


def test_a_page_that_a_page_links_is_not_searched(archives, files):
    files.answers["/first.csv"] = lambda _: page("/second.csv", "/ok.csv")
    files.answers["/second.csv"] = lambda _: page("/third.csv", "/first.csv")
    archives.list(["/first.csv"])
    archives.crawl()
    assert sorted(one.path for one in archives.asked()) == ["/first.csv", "/ok.csv", "/second.csv"]
    second = archives.last()["/second.csv"]
    assert (second["state"], second["request_type"]) == ("not_taken", "page")
    assert second["reason"] == "an HTML page came instead of the file that another page links"
    assert archives.last()["/ok.csv"]["state"] == "kept"


def test_the_next_run_asks_for_a_page_s_files_only_if_they_changed(archives, files):
    archives.list(["/page.html"])
    archives.crawl()
    files.reset()
    again = archives.crawl()
    assert [one.headers.get("if-none-match") for one in archives.asked("/ok.csv")] == ['"1"']
    linked = {url: line for url, line in archives.last().items() if line["origin"] and line["error"] is None}
    assert {"/ok.csv", "/ok.json", "/ok.zip?download=1", files.url("/ok.geojson", 1)} == set(linked)
    assert {line["state"] for line in linked.values()} == {"unchanged"}
    assert "if-none-match" not in archives.asked("/page.html")[0].headers, "the page itself is not held"
    assert (again.code, len(again.manifest)) == (0, 4)


def test_resources_that_link_one_page_have_a_capture_each_of_every_file(archives, files):
    archives.list(["/page.html", "/page.html?", "/ok.csv"])
    ran = archives.crawl()
    captures = [line for line in archives.captures if line["origin"] and line["url"] == files.url("/ok.csv")]
    assert sorted(line["dataset_id"] for line in captures) == ["d0", "d1"]
    assert len({line["resource_id"] for line in captures}) == 2
    assert {line["state"] for line in captures} == {"kept"}
    assert len(archives.asked("/page.html")) == 1
    assert len(archives.asked("/ok.csv")) <= 2, "the catalogue's own link, and the page's"
    assert list(archives.blobs().values()).count(CSV) == 1
    assert len(ran.manifest) == 4


def test_two_pages_that_link_one_file_each_have_it(archives, files):
    files.answers["/a"] = files.answers["/b"] = lambda _: page("/ok.csv")
    archives.list(["/a", "/b"])
    archives.crawl()
    captures = [line for line in archives.captures if line["url"] == files.url("/ok.csv")]
    assert sorted((line["dataset_id"], line["origin"], line["state"]) for line in captures) == [
        ("d0", files.url("/a"), "kept"),
        ("d1", files.url("/b"), "kept"),
    ]


def test_a_page_whose_base_is_on_another_host(archives, files):
    text = f'<!DOCTYPE html><html><base href="{files.sites[1]}/status/"><a href="../ok.csv#rows">Towns</a></html>'
    files.answers["/base"] = lambda _: Reply(text.encode(), headers=HTML)
    archives.list(["/base"])
    archives.crawl()
    assert [line["url"] for line in archives.captures if line["origin"]] == [files.url("/ok.csv", 1)]
    assert [one.host for one in archives.asked("/ok.csv")] == ["127.0.0.2"]


def test_a_page_is_read_in_the_encoding_that_its_header_says(archives, files):
    headers = [("Content-Type", "text/html; charset=windows-1251")]
    text = '<!DOCTYPE html><html><a href="/made/7">Скачать CSV</a></html>'
    files.answers["/cyrillic"] = lambda _: Reply(text.encode("cp1251"), headers=headers)
    archives.list(["/cyrillic"])
    archives.crawl()
    assert [one.path for one in archives.asked()] == ["/cyrillic", "/made/7"]


# Forms


def rule(files, **changes: str) -> str:
    given = {
        "address": f'"{files.url("/form/*")}"',
        "form": '"form#licence"',
        "submit": '"button[value=download]"',
        "fields": '{ accept = true, format = "csv" }',
    }
    return "[[forms]]\n" + "".join(f"{key} = {value}\n" for key, value in (given | changes).items())


def test_a_form_on_another_page_gives_the_file(archives, files, tmp_path):
    (tmp_path / "forms.toml").write_text(rule(files, page=f'"{files.url("/form/search")}"'))
    archives.list(["/form/file.csv", "/ok.csv"])
    ran = archives.crawl()
    found = archives.last()["/form/file.csv"]
    assert (found["state"], found["request_type"], found["origin"]) == ("kept", "form", None)
    assert [one.headers.get("cookie") for one in archives.asked("/form/")] == [None, "session=t0ken"]
    assert archives.blobs()[found["sha256"]] == CSV
    asked = [(one.method, one.path) for one in archives.asked("/form/")]
    assert asked == [("GET", "/form/search"), ("POST", "/form/accept")]
    assert archives.asked("/form/accept")[0].body == b"token=t0ken&format=csv&do=download&accept=yes"
    assert ran.code == 0


def test_a_form_is_not_sent_without_a_rule(archives, files):
    archives.list(["/form/file.csv"])
    archives.crawl()
    found = archives.last()["/form/file.csv"]
    assert (found["state"], found["request_type"]) == ("not_taken", "page")
    assert [one.path for one in archives.asked()] == ["/form/file.csv"]


def test_a_form_that_is_not_there_is_a_failure_of_ours_and_of_no_other_file(archives, files, tmp_path):
    (tmp_path / "forms.toml").write_text(rule(files, form='"form#terms"'))
    archives.list(["/form/file.csv", "/ok.csv"])
    ran = archives.crawl()
    found, other = archives.last()["/form/file.csv"], archives.last()["/ok.csv"]
    assert (found["state"], found["error"], found["is_broken"]) == ("failed_here", "form", None)
    assert ran.report["errors"] == {"refused": 1}
    assert found["reason"] == f"'form#terms' finds no elements on {files.url('/form/file.csv')} instead of one."
    assert other["state"] == "kept"
    assert not archives.asked("/form/accept")
    assert "Traceback" not in ran.log


def test_a_form_that_refuses_what_it_is_given_leaves_a_page(archives, files, tmp_path):
    (tmp_path / "forms.toml").write_text(rule(files, fields='{ accept = false, format = "csv" }'))
    archives.list(["/form/file.csv"])
    archives.crawl()
    found = archives.last()["/form/file.csv"]
    assert (found["state"], found["sha256"]) == ("not_taken", None)
    assert len(archives.asked("/form/accept")) == 1


def test_a_wrong_forms_file_ends_the_crawl_in_one_sentence(archives, files, tmp_path):
    (tmp_path / "forms.toml").write_text(rule(files).replace("fields", "feilds"))
    archives.list(["/form/file.csv"])
    ran = archives.crawl()
    assert ran.code == 1
    assert "forms[0].feilds is unknown. Did you mean fields?" in ran.log
    assert "Traceback" not in ran.log
    assert not archives.asked()
