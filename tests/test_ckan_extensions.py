"""Profiles of extensions: whole crawls of a catalogue and of a GitHub that counts, refuses, renames and blocks."""

from __future__ import annotations

import csv
import json
import os
import random
import signal
import subprocess
import sys
from contextlib import nullcontext
from urllib.parse import urlsplit

import pytest
from scrapy.http import TextResponse

from crawlers.ecosystem import ecosystem_file
from crawlers.ecosystem.github import answers
from crawlers.ecosystem.repositories import Repository as Named
from crawlers.ecosystem.repositories import repositories, repository
from tests import forked
from tests.conftest import ROOT, Crawl, options, scrapy
from tests.portal.github import TOKEN, Catalogue, GitHub, Refusal, Repository, made
from tests.site import Answer, Site
from tests.waiting import HANG, until

DCAT = Repository(
    stars=181,
    forks=150,
    issues=58,
    pulls=9,
    releases=(("v2.3.0", "2026-02-25T12:00:00Z"), ("v2.2.0", "2025-11-12T12:00:00Z")),
    contributors=73,
    discussions=4,
    license="AGPL-3.0",
    topics=("ckan", "dcat"),
    language="Python",
    files={"ckan_ecosystem.yaml": "name: ckanext-dcat\nckan_versions: ['2.10', '2.11']\n"},
)
KNOWN = {
    "repository": "ckan/ckanext-dcat",
    "url": "https://github.com/ckan/ckanext-dcat",
    "stars": 181,
    "forks": 150,
    "open_issues": 58,
    "open_pull_requests": 9,
    "releases": 2,
    "latest_release": "v2.3.0",
    "release_date": "2026-02-25T12:00:00Z",
    "contributors": 73,
    "last_commit": "2026-11-01T10:00:00Z",
    "license": "AGPL-3.0",
    "topics": ["ckan", "dcat"],
    "archived": False,
    "language": "Python",
    "default_branch": "master",
    "ckan_ecosystem": {"name": "ckanext-dcat", "ckan_versions": ["2.10", "2.11"]},
}
NOWAIT = {"RETRY_AFTER_MAX": "0"}


@pytest.fixture
def profile(output, tmp_path):
    """Crawls: ``profile({"package": {fields}}, GitHub(...))``, with a token unless it is told otherwise."""

    def run(packages, github, *, token=TOKEN, more=(), **settings) -> Crawl:
        os.environ["GITHUB_TOKEN"] = token
        settings = {"GITHUB_API": github.url, "HTTPCACHE_DIR": str(tmp_path / "cache"), **settings}
        with Catalogue(packages) if isinstance(packages, dict) else nullcontext(packages) as catalogue:
            words = options(output, settings, catalogue=catalogue.url, source="extensions")
            ran = scrapy("crawl", "ckan_extensions", *words, *more)
        assert "Traceback" not in ran.stderr, ran.stderr
        return Crawl(ran.returncode, ran.stderr, output / "extensions")

    return run


def documents(crawl):
    return {document["id"]: document for document in crawl.documents("extensions").values()}


# Which repository a package names

DCAT_AT_GITHUB = [
    "https://github.com/ckan/ckanext-dcat",
    "http://www.GitHub.com/ckan/ckanext-dcat/",
    "https://github.com/ckan/ckanext-dcat.git",
    "git@github.com:ckan/ckanext-dcat.git",
    "ssh://git@github.com/ckan/ckanext-dcat.git",
    "git+https://github.com/ckan/ckanext-dcat.git@v1.0#egg=ckanext-dcat",
    "git://github.com/ckan/ckanext-dcat.git",
    "github.com/ckan/ckanext-dcat",
    "//github.com/ckan/ckanext-dcat",
    "https://github.com//ckan//ckanext-dcat",
    "https://github.com:443/ckan/ckanext-dcat",
    "https://someone:secret@github.com/ckan/ckanext-dcat",
    "https://github.com/ckan/ckanext-dcat/tree/main/docs",
    "https://github.com/ckan/ckanext-dcat/issues",
    "https://github.com/ckan/ckanext-dcat#readme",
    "https://github.com/ckan/ckanext-dcat?tab=readme-ov-file",
    "https%3A%2F%2Fgithub.com%2Fckan%2Fckanext-dcat",
    "https://raw.githubusercontent.com/ckan/ckanext-dcat/master/README.md",
    "https://codeload.github.com/ckan/ckanext-dcat/zip/refs/heads/master",
    "https://api.github.com/repos/ckan/ckanext-dcat",
    "https://web.archive.org/web/2020/https://github.com/ckan/ckanext-dcat",
    "See [the code](https://github.com/ckan/ckanext-dcat).",
    '<a href="https://github.com/ckan/ckanext-dcat">code</a>',
    "**https://github.com/ckan/ckanext-dcat**",
]
NOT_A_REPOSITORY = [
    "",
    "https://github.com",
    "https://github.com/ckan",
    "https://github.com/orgs/ckan/repositories",
    "https://github.com/topics/ckan",
    "https://github.com/sponsors/ckan",
    "https://gist.github.com/ckan/0123456789abcdef",
    "https://docs.github.com/en/rest",
    "https://ckan.github.io/ckanext-dcat/",
    "https://github.com.example.org/ckan/ckanext-dcat",
    "https://notgithub.com/ckan/ckanext-dcat",
    "https://github.com/ckan/..",
    "https://github.com/ckan/.git",
    "someone@github.com",
    "https://gitlab.com/ckan",
]


@pytest.mark.parametrize("text", DCAT_AT_GITHUB)
def test_an_address_of_a_repository(text):
    assert [one.path for one in repositories(text)] == ["ckan/ckanext-dcat"]


@pytest.mark.parametrize("text", NOT_A_REPOSITORY)
def test_an_address_that_is_no_repository(text):
    assert repositories(text) == []


@pytest.mark.parametrize(
    ("text", "forge", "path"),
    [
        ("https://gitlab.com/group/sub/name/-/tree/main", "gitlab.com", "group/sub/name"),
        ("git@gitlab.com:group/name.git", "gitlab.com", "group/name"),
        ("https://bitbucket.org/team/name/src/master/", "bitbucket.org", "team/name"),
        ("https://codeberg.org/someone/name.git", "codeberg.org", "someone/name"),
        ("https://gitlab.example.org/a/b/issues", "gitlab.example.org", "a/b"),
    ],
)
def test_a_repository_at_another_forge(text, forge, path):
    assert repositories(text) == [Named(forge, path)]


def test_the_repository_of_a_package():
    url = {"url": "https://example.org", "notes": "for github.com/ckan/ckan: https://github.com/a/ckanext-b."}
    assert repository({"name": "ckanext-b"} | url) == Named("github.com", "a/ckanext-b")
    assert repository({"name": "other"} | url) == Named("github.com", "ckan/ckan")
    assert repository({"url": "https://gitlab.com/a/b", "notes": "see https://github.com/c/d"}).forge == "gitlab.com"
    assert repository({"extras": [{"key": "code", "value": "https://github.com/a/b"}, None, "x"]}).path == "a/b"
    assert repository({"resources": [{"url": None}, {"url": "https://github.com/a/b/archive/main.zip"}]}).path == "a/b"
    assert repository({"source_code": "https://github.com/a/b", "license_url": "https://github.com/x/y"}).path == "a/b"
    assert repository({"license_url": "https://github.com/x/y", "url": 7, "extras": {"a": 1}}) is None
    ours = repository({"url": "https://git.example.org/a/b"}, "git.example.org")
    assert ours == Named("git.example.org", "a/b")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a: [", "while parsing"),
        ("- a\n- b", "it has no names and values"),
        ("a: &x [1]\nb: [*x, *x]", "it has aliases"),
        ("a: " + "[" * 60 + "]" * 60, "levels"),
        ("a: [" + "1," * 10_001 + "]", "more than 10000 nodes"),
        ("a: 0x" + "f" * 60_000, "too large"),
        ("a: !!python/object/apply:os.system [id]", "could not determine a constructor"),
        ('a: !!int ""', "a value is not of its type"),
        ("a: !!bool perhaps", "a value is not of its type"),
        ("a: !!timestamp soon", "a value is not of its type"),
        ("? !!timestamp {=: {=: y}}\n: 1", "a value is not of its type"),
    ],
)
def test_a_file_that_is_not_read_is_kept_as_it_is(text, error):
    found = ecosystem_file.read(text)
    assert (found["ckan_ecosystem"], found["ckan_ecosystem_text"]) == (None, text)
    assert error in found["ckan_ecosystem_error"]
    assert "\n" not in found["ckan_ecosystem_error"]


def test_what_yaml_has_and_json_has_not():
    text = "1: 2024-05-01\nx: .nan\nb: !!binary aGk=\ns: !!set {a, b}\nn: null\nt: yes\n"
    found = ecosystem_file.read(text)["ckan_ecosystem"]
    assert found == {"1": "2024-05-01", "x": None, "b": "b'hi'", "s": ["a", "b"], "n": None, "t": True}
    assert "65536 characters" in ecosystem_file.read("a" * 65_537)["ckan_ecosystem_error"]


# What is profiled


@pytest.mark.parametrize("token", [TOKEN, ""], ids=["GraphQL", "REST"])
def test_a_repository_is_profiled(profile, token):
    packages = {"dcat": {"url": "https://github.com/CKAN/ckanext-dcat.git", "title": "DCAT"}}
    with GitHub({"ckan/ckanext-dcat": DCAT}) as github:
        done = profile(packages, github, token=token)
    assert (done.code, done.report["verdict"], done.errors) == (0, "complete", []), done.log
    (name,) = done.documents("extensions")
    document = documents(done)["ckan/ckanext-dcat"]
    assert name == "ckan__ckanext-dcat.json"
    assert {fact: document[fact] for fact in KNOWN} == KNOWN
    assert document["discussions"] == (4 if token else None)  # REST does not count them
    assert (document["state"], document["reason"], document["last_known"]) == ("found", None, {})
    assert (document["catalog_ids"], document["name"], document["title"]) == (["id-dcat"], "dcat", "DCAT")
    assert [(line["kind"], line["status"], line["dataset_id"]) for line in done.manifest] == [
        ("extension", "new", "ckan/ckanext-dcat")
    ]
    assert "1 repository: 1 found." in done.log
    assert not [asked for asked in github.asked if (asked.headers.get("Authorization") or "") != token and not token]
    assert {asked.headers.get("Authorization") for asked in github.asked} == {f"Bearer {TOKEN}" if token else None}


def test_what_is_not_there_is_known_and_what_is_unknown_is_not_zero(profile):
    empty = Repository(contributors=0, commits=False, language=None, discussions=None)
    packages = {"a": {"url": "https://github.com/a/empty"}, "b": {"url": "https://github.com/a/huge"}}
    for token in (TOKEN, ""):
        with GitHub({"a/empty": empty, "a/huge": Repository(contributors=None)}) as github:
            done = profile(packages, github, token=token)
        assert (done.code, done.errors) == (0, []), done.log
        found = documents(done)
        assert (found["a/empty"]["contributors"], found["a/huge"]["contributors"]) == (0, None)
        zeros = ("stars", "forks", "open_issues", "open_pull_requests", "releases", "discussions")
        assert [found["a/empty"][fact] for fact in zeros] == [0] * 6
        nulls = ("latest_release", "release_date", "last_commit", "license", "language", "ckan_ecosystem")
        assert [found["a/empty"][fact] for fact in nulls] == [None] * 6


def at(*paths):
    """Packages whose addresses these are, named p0, p1 ..."""
    return {f"p{number}": {"url": f"https://github.com/{path}"} for number, path in enumerate(paths)}


def summary(found):
    return {name: (document["state"], document["catalog_names"]) for name, document in found.items()}


@pytest.mark.parametrize("token", [TOKEN, ""], ids=["GraphQL", "REST"])
def test_each_package_gets_its_state(profile, token):
    packages = {
        **at("a/found", "A/Found.git", "a/old", "a/gone", "a/dmca", "a/tos", "a/hidden"),
        "gitlab": {"url": "https://gitlab.com/a/b"},
        "gitlab2": {"notes": "git@gitlab.com:a/b.git"},
        "none": {"url": "https://example.org"},
    }
    repositories = {
        "a/found": Repository(stars=1),
        "b/new": Repository(stars=2),
        "a/dmca": Repository(status=451),
        "a/tos": Repository(status=403),
        "a/hidden": Repository(stars=3, error="FORBIDDEN"),  # of GraphQL: REST shows it
    }
    with GitHub(repositories, renamed={"a/old": "b/new"}) as github:
        done = profile(packages, github, token=token)
    assert (done.code, done.report["verdict"], done.errors) == (0, "complete", []), done.log
    found = documents(done)
    assert summary(found) == {
        "a/found": ("found", ["p0", "p1"]),
        "b/new": ("moved", ["p2"]),
        "a/gone": ("gone", ["p3"]),
        "a/dmca": ("blocked", ["p4"]),
        "a/tos": ("blocked", ["p5"]),
        "a/hidden": ("found", ["p6"]),
        "gitlab.com/a/b": ("other_forge", ["gitlab", "gitlab2"]),
        "127.0.0.1/id-none": ("unknown", ["none"]),
    }
    assert {name: document["stars"] for name, document in found.items() if document["stars"]} == {
        "a/found": 1,
        "b/new": 2,
        "a/hidden": 3,
    }
    assert (found["b/new"]["former"], found["b/new"]["repository"]) == (["a/old"], "b/new")
    assert found["a/dmca"]["reason"] == "GitHub blocks access (HTTP 451): Repository access blocked (dmca)"
    assert (found["gitlab.com/a/b"]["forge"], found["gitlab.com/a/b"]["repository"]) == ("gitlab.com", "a/b")
    assert found["127.0.0.1/id-none"]["reason"] == "the catalogue names no repository"
    assert min(done.documents("extensions")) == "127.0.0.1__id-none.json"
    assert len(done.manifest) == len(found)
    states = {"found": 2, "moved": 1, "gone": 1, "blocked": 2, "other_forge": 1, "unknown": 1}
    assert done.report["repositories"] == states
    assert "8 repositories: 2 found, 1 moved, 1 gone, 2 blocked, 1 other forge, 1 unknown." in done.log
    assert (done.report["listed"], done.report["expected"], done.report["counts"]["new"]) == (10, 10, 8)


def test_a_package_whose_id_has_a_space_is_one_extension(profile):
    with GitHub({}) as github:
        done = profile({"odd": {"id": "an id", "url": "https://example.org"}}, github)
    assert (done.report["verdict"], done.errors) == ("complete", []), done.log
    assert [document["catalog_ids"] for document in documents(done).values()] == [["an id"]]


@pytest.mark.parametrize("token", [TOKEN, ""], ids=["GraphQL", "REST"])
@pytest.mark.parametrize("packages", [at("a/old", "b/new"), at("b/new", "z/old")], ids=["old first", "new first"])
def test_old_and_new_name_of_a_repository_are_one(profile, token, packages):
    with GitHub({"b/new": DCAT}, renamed={"a/old": "b/new", "z/old": "b/new"}) as github:
        done = profile(packages, github, token=token)
    assert (done.code, done.errors) == (0, []), done.log
    assert summary(documents(done)) == {"b/new": ("moved", ["p0", "p1"])}
    assert documents(done)["b/new"]["contributors"] == 73
    assert done.report["repositories"]["moved"] == 1
    assert len({line["dataset_id"] for line in done.manifest}) == 1
    assert sum("/contributors" in path for path in github.paths()) == 1


def test_a_name_that_leads_to_a_repository_after_its_profile_was_written_is_added(profile):
    others = [f"c/{number}" for number in range(6)]
    repositories = {"b/new": DCAT} | dict.fromkeys(others, Repository())
    with GitHub(repositories, renamed={"z/old": "b/new"}, limits={"core": 1000}) as github:
        done = profile(at("b/new", *others, "z/old"), github, token="")
    assert (done.code, done.errors) == (0, []), done.log
    document = documents(done)["b/new"]
    assert (document["state"], document["catalog_names"], document["former"]) == ("moved", ["p0", "p7"], ["z/old"])
    assert (document["contributors"], document["stars"], document["last_known"]) == (73, 181, {})
    assert done.report["repositories"] | {"found": 6, "moved": 1} == done.report["repositories"]
    assert sum(line["dataset_id"] == "b/new" for line in done.manifest) == 2


def test_a_repository_that_is_renamed_between_two_runs_keeps_what_is_known(profile):
    packages = at("a/old", "c/other")
    with GitHub({"a/old": DCAT, "c/other": Repository()}) as github:
        profile(packages, github)
        github.rename("a/old", "b/new")
        github.repositories["b/new"] = Repository(stars=5, contributors=None)
        renamed = profile(packages, github)
    found = documents(renamed)
    assert (found["b/new"]["state"], found["b/new"]["former"], found["b/new"]["stars"]) == ("moved", ["a/old"], 5)
    assert found["b/new"]["last_known"]["contributors"]["value"] == 73
    assert "license" not in found["b/new"]["last_known"]  # it has none now
    lines = [(line["dataset_id"], line["status"], line.get("reason")) for line in renamed.manifest[2:]]
    assert lines == [("a/old", "withdrawn", "renamed"), ("b/new", "new", None)]
    assert (renamed.code, renamed.report["counts"]["withdrawn"]) == (0, 1)


# How GitHub is asked


@pytest.mark.slow
def test_fifty_repositories_are_one_question(profile):
    packages, repositories = made(120)
    with GitHub(repositories) as github:
        done = profile(packages, github)
        first = github.spent
        github.forget()
        again = profile(packages, github)
    assert (done.code, done.report["repositories"]["found"]) == (0, 120), done.log
    assert (first["graphql"].requests, first["graphql"].points) == (3, 3 + 3 + 1)
    assert (first["core"].requests, first["core"].points) == (120, 120)
    assert (again.code, again.report["counts"]["unchanged"], len(again.manifest)) == (0, 120, 120)
    assert "120 repositories: 120 found." in again.log
    core = github.spent["core"]
    assert (core.requests, core.unchanged, core.points) == (120, 120, 0)  # with a token, a 304 is free
    paths = github.paths()
    assert max(index for index, path in enumerate(paths) if path == "/graphql") < 5  # names come before details


def test_without_a_token_an_unchanged_repository_is_asked_about_and_not_sent_again(profile):
    repositories = {"a/b": DCAT, "a/quiet": Repository()}
    with GitHub(repositories) as github:
        profile(at("a/b", "a/quiet"), github, token="")
        assert github.spent["core"].requests == 7 + 5
        github.forget()
        again = profile(at("a/b", "a/quiet"), github, token="")
    assert again.report["counts"]["unchanged"] == 2
    core = github.spent["core"]
    assert (core.requests, core.unchanged) == (12, 11)  # a file that is not there has no ETag
    assert core.points == 12


@pytest.mark.parametrize("how", ["RESOURCE_LIMITS_EXCEEDED", "502"])
def test_a_question_that_is_too_much_is_halved(profile, how):
    packages, repositories = made(50)
    with GitHub(repositories, too_much=(13, how)) as github:
        done = profile(packages, github)
    assert (done.code, done.report["repositories"]["found"], done.errors) == (0, 50, []), done.log
    sizes = [asked.body.count(b": repository(") for asked in github.asked if asked.method == "POST"]
    assert sorted(set(sizes)) == [12, 13, 25, 50]
    assert sizes.count(12) + sizes.count(13) == 4


def test_what_graphql_does_not_give_is_unknown_or_asked_by_rest(profile):
    some = Repository(releases=(("v1", "2026-01-01T00:00:00Z"),), license="MIT", broken={"latestRelease": "FORBIDDEN"})
    every = Repository(stars=4, broken={"issues": "INTERNAL"})  # it may not be null, so the repository is
    with GitHub({"a/some": some, "a/every": every}) as github:
        done = profile(at("a/some", "a/every"), github)
    assert (done.code, done.errors) == (0, []), done.log
    found = documents(done)
    assert [found["a/some"][name] for name in ("releases", "latest_release", "license")] == [1, None, "MIT"]
    assert (found["a/every"]["stars"], found["a/every"]["discussions"]) == (4, 0)


def test_a_detail_that_fails_is_unknown_and_the_last_known_value_stays(profile):
    with GitHub({"a/b": DCAT}) as github:
        profile(at("a/b"), github)
        github.repositories["a/b"] = Repository(stars=5, status=500)
        github.forget()
        failed = profile(at("a/b"), github, RETRY_TIMES="0")
        again = profile(at("a/b"), github, RETRY_TIMES="0")
    for done in (failed, again):
        document = documents(done)["a/b"]
        assert (done.code, done.report["verdict"]) == (3, "incomplete")
        assert (document["state"], document["stars"], document["license"]) == ("unknown", None, None)
        assert document["last_known"]["stars"]["value"] == 181
        assert document["last_known"]["license"]["day"] == document["checked"][:10]
        assert "HTTP 500" in document["reason"]
    assert again.kinds() == [("fetch", "http")] * 2


def test_a_listing_that_is_not_whole_is_profiled_all_the_same_and_withdraws_nothing(profile, output):
    packages = at("a/b", "a/c", "a/d")
    with GitHub({"a/b": DCAT, "a/c": DCAT, "a/d": DCAT}) as github, Catalogue(packages) as catalogue:
        profile(catalogue, github)
        partial = profile(catalogue, github, more=("-a", "max_datasets=1"))
        assert (partial.code, partial.report["repositories"]["found"]) == (0, 1)
        del packages["p2"]
        for _ in range(2):
            done = profile(catalogue, github, SHRINK_LIMIT="0.5")
    assert done.report["counts"]["withdrawn"] == 1
    last = done.manifest[-1]
    assert (last["kind"], last["dataset_id"], last["status"], last["reason"]) == (
        "extension",
        "a/d",
        "withdrawn",
        "not found",
    )


# Limits and tokens


def test_a_limit_that_is_used_up_is_waited_for(profile):
    packages, repositories = made(12)
    with GitHub(repositories, limits={"core": 7, "graphql": 50}, window=2.0) as github:
        done = profile(packages, github)
    assert (done.code, done.errors, done.report["repositories"]["found"]) == (0, [], 12), done.log
    assert "is paused for" in done.log


@pytest.mark.parametrize("status", [403, 429, 200])
def test_a_secondary_limit_is_waited_for(profile, status):
    with GitHub({"a/b": DCAT}, refusals=[Refusal(status, 1)]) as github:
        done = profile(at("a/b"), github)
    assert (done.code, done.errors, documents(done)["a/b"]["stars"]) == (0, [], 181), done.log
    assert "is paused for 1.0 s" in done.log


def test_a_run_that_cannot_finish_in_its_quota_continues_with_its_jobdir(profile, tmp_path):
    packages, repositories = made(20)
    jobdir = tmp_path / "job"
    more = ("-s", f"JOBDIR={jobdir}")
    with GitHub(repositories, limits={"core": 8, "graphql": 10}) as github, Catalogue(packages) as catalogue:
        runs = [profile(catalogue, github, more=more, RETRY_AFTER_MAX="60")]
        while runs[-1].code == 3 and len(runs) < 9:
            github.forget()
            runs.append(profile(catalogue, github, more=more, RETRY_AFTER_MAX="60"))
    assert [run.code for run in runs] == [3, 3, 0]
    first, last = runs[0], runs[-1]
    assert first.lines[-2].startswith("GitHub's rate limit is used up until "), first.lines
    assert "Run the same command again then" in first.lines[-2]
    assert (last.report["verdict"], last.report["repositories"]["found"], last.errors) == ("complete", 20, [])
    assert last.report["counts"]["new"] == 20
    assert len(last.manifest) == 20
    assert TOKEN.encode() not in b"".join(path.read_bytes() for path in jobdir.iterdir())
    assert all(TOKEN not in run.log for run in runs)


def test_a_token_that_is_not_accepted_ends_the_run_with_one_sentence(profile, tmp_path):
    with GitHub({"a/b": DCAT}) as github, Catalogue(at("a/b")) as catalogue:
        more = ("-s", f"JOBDIR={tmp_path / 'job'}")
        refused = profile(catalogue, github, token="ghp_revoked0123456789", more=more)
        assert (refused.code, refused.report["verdict"], refused.documents("extensions")) == (4, "failed", {})
        assert refused.lines[-2].startswith("GitHub does not accept the token in GITHUB_TOKEN: ")
        assert "ghp_revoked" not in refused.log
        done = profile(catalogue, github, more=more)
    assert (done.code, done.report["verdict"], documents(done)["a/b"]["stars"]) == (0, "complete", 181)


@pytest.mark.parametrize(
    ("token", "settings", "sentence"),
    [
        ("a\nb", {}, "GITHUB_TOKEN has characters in it that no token has."),
        (TOKEN, {"GITHUB_API": "api.github.com"}, "GITHUB_API='api.github.com' is not an http(s) address"),
    ],
)
def test_a_mistake_is_one_sentence(profile, token, settings, sentence):
    with GitHub({}) as github:
        done = profile({}, github, token=token, **settings)
    assert (done.code, github.asked) == (1, [])
    assert sentence in done.lines[-1]


@pytest.mark.slow
def test_a_github_that_cannot_be_reached_ends_the_run(profile, tmp_path):
    packages, repositories = made(60)
    jobdir = ("-s", f"JOBDIR={tmp_path / 'job'}")
    with Catalogue(packages) as catalogue:
        with GitHub(repositories) as github:
            port = github.site.port
        away = profile(catalogue, github, more=jobdir)
        assert (away.code, away.report["verdict"], away.documents("extensions")) == (4, "failed", {})
        assert away.lines[-2].startswith("GitHub can't be reached (")
        with GitHub(repositories, port=port) as github:
            done = profile(catalogue, github, more=jobdir)
    assert (done.code, done.report["verdict"], done.report["repositories"]["found"]) == (0, "complete", 60), done.log


def test_the_token_goes_to_github_and_nowhere_else(profile, output):
    def led_away(asked):
        return Answer(b"", 301, {"Location": f"{elsewhere.url}{asked.path}"})

    os.environ["CKAN_API_TOKEN"] = "the-catalogues-own-token"
    with GitHub({"a/b": DCAT}) as elsewhere, Site(led_away, "127.0.0.3") as github:
        done = profile(at("a/b"), github, ALLOWED_PRIVATE_HOSTS="127.0.0.2")
    assert {asked.headers.get("Authorization") for asked in github.asked} == {f"Bearer {TOKEN}"}
    assert elsewhere.asked
    assert {asked.headers.get("Authorization") for asked in elsewhere.asked} == {None}
    written = b"".join(
        path.read_bytes() for path in [*output.rglob("*"), *output.parent.rglob("cache/*")] if path.is_file()
    )
    assert TOKEN.encode() not in written
    assert TOKEN not in done.log


def test_github_enterprise_has_its_own_addresses(profile):
    packages = {"ours": {"url": "https://github.example.org/a/b"}, "theirs": {"url": "https://github.com/a/b"}}
    with GitHub({"a/b": DCAT}, prefix="/api/v3") as github:
        done = profile(packages, github, GITHUB_HOST="github.example.org")
    assert (done.code, done.errors) == (0, []), done.log
    assert github.paths() == ["/api/graphql", "/repos/a/b/contributors?per_page=1&anon=1"]
    found = documents(done)
    assert summary(found) == {"a/b": ("found", ["ours"]), "github.com/a/b": ("other_forge", ["theirs"])}


def test_what_github_answers_is_not_trusted(profile):
    """Wrong types, another's name, no JSON: nothing breaks, and nothing is made up."""
    answers = {
        "/repos/a/list": b"[]",
        "/repos/a/page": b"<html>",
        "/repos/a/path": json.dumps({"full_name": "../../etc/passwd", "open_issues_count": 0}).encode(),
        "/repos/a/odd": json.dumps(
            {"full_name": "a/odd", "stargazers_count": "many", "topics": {"a": 1}, "open_issues_count": "x", "id": {}}
        ).encode(),
    }

    def answer(asked):
        path = urlsplit(asked.path).path
        body = answers.get(path, b'{"message": 7}')
        status = 200 if path in answers else 404
        return Answer(body, status, {"Content-Type": "application/json"})

    with Site(answer, "127.0.0.2") as github:
        done = profile(at("a/list", "a/page", "a/path", "a/odd"), github, token="", RETRY_TIMES="0")
    found = documents(done)
    states = {name: document["state"] for name, document in found.items()}
    assert states == {"a/list": "unknown", "a/page": "unknown", "a/path": "unknown", "a/odd": "found"}
    assert [found["a/odd"][name] for name in ("stars", "topics", "github_id", "open_issues")] == [None] * 4
    assert (done.code, done.report["verdict"]) == (3, "incomplete")
    assert {kind for _, kind in done.kinds()} == {"http", "not_json", "refused"}


@pytest.mark.parametrize(
    "content",
    [
        {"data": [1]},
        {"data": 3, "errors": 1},
        {"errors": [7, None, {"path": [[1], {"a": 1}], "type": ["x"], "message": {"a": 1}}], "data": {"r0": [1]}},
        {"data": {"r0": {"nameWithOwner": "a/b\n"}}},
    ],
)
def test_an_odd_answer_of_graphql_leaves_the_repository_to_rest(content):
    said = answers(TextResponse("https://a", body=json.dumps(content).encode(), encoding="utf-8"), ["a/b"])
    assert (said.found, said.too_much, said.others) == ({}, [], ["a/b"])


def test_what_is_too_large_is_no_value():
    node = {"nameWithOwner": "a/b", "stargazerCount": 10**30, "forkCount": 3, "url": "x" * 10_000, "isArchived": 1}
    said = answers(
        TextResponse("https://a", body=json.dumps({"data": {"r0": node}}).encode(), encoding="utf-8"), ["a/b"]
    )
    assert said.found == {"a/b": {"repository": "a/b", "forks": 3}}


def test_a_wait_without_end_ends_the_run_with_a_sentence(profile):
    with GitHub({"a/b": DCAT}, refusals=[Refusal(403, 10**25)]) as github:
        done = profile(at("a/b"), github)
    assert (done.code, done.errors[1:], len(github.asked)) == (3, [], 1)
    assert done.report["stopped"].startswith("GitHub's rate limit is used up until 20")


def test_what_is_known_of_a_repository_is_not_that_of_another_which_took_its_name(profile):
    with GitHub({"a/x": DCAT, "a/y": Repository(stars=2)}) as github:
        assert profile(at("a/x"), github).code == 0
        github.rename("a/x", "a/z")
        github.rename("a/y", "a/x")
        github.repositories["a/x"] = Repository(stars=2, broken={"licenseInfo": "SERVICE_UNAVAILABLE"})
        found = documents(profile(at("a/x"), github))["a/x"]
    assert (found["stars"], found["license"], found["last_known"]) == (2, None, {})


def test_feeds_have_the_profiles(profile, tmp_path):
    with GitHub({"a/b": DCAT}) as github:
        feeds = ("-O", f"{tmp_path / 'x.jsonl'}", "-O", f"{tmp_path / 'x.csv'}:csv")
        done = profile({"b": {"url": "https://github.com/a/b"}}, github, more=feeds)
    assert done.code == 0, done.log
    item = json.loads((tmp_path / "x.jsonl").read_text())
    assert {name: item[name] for name in KNOWN if name not in ("repository", "url")} == {
        name: value for name, value in KNOWN.items() if name not in ("repository", "url")
    }
    (row,) = csv.DictReader((tmp_path / "x.csv").read_text(encoding="utf-8").splitlines())
    assert (row["id"], row["stars"], row["topics"], row["state"]) == ("a/b", "181", "ckan,dcat", "found")


KILLED = """
import os, signal, sys
from scrapy.cmdline import execute
from crawlers.ecosystem.github import GitHub

asked, ask = [], GitHub.ask_for_record

def ask_for_some_only(github, name):
    if len(asked) == 2:  # those are in the ledger
        github.repositories.spider.records.job.commit()
        os.kill(os.getpid(), signal.SIGKILL)
    asked.append(name)
    return ask(github, name)

GitHub.ask_for_record = ask_for_some_only
execute(["scrapy", *sys.argv[1:]])
"""


@pytest.mark.parametrize("more", [(), ("-a", "max_datasets=4")])
def test_a_kill_between_the_first_requests_leaves_no_repository_out(profile, output, tmp_path, more):
    packages, repositories = made(5)
    with GitHub(repositories) as github, Catalogue(packages) as catalogue:
        settings = {"GITHUB_API": github.url, "JOBDIR": str(tmp_path / "job"), "HTTPCACHE_DIR": str(tmp_path / "cache")}
        words = ["crawl", "ckan_extensions", *options(output, settings, catalogue=catalogue.url, source="extensions")]
        os.environ["GITHUB_TOKEN"] = ""
        killed = forked.run([sys.executable, "-c", KILLED, *words, *more], cwd=ROOT, stderr=None, check=False)
        done = profile(catalogue, github, token="", more=("-s", f"JOBDIR={tmp_path / 'job'}", *more))
    assert killed.returncode == -signal.SIGKILL
    assert (done.code, done.report["verdict"], done.errors) == (0, "partial" if more else "complete", [])
    assert len(documents(done)) == (4 if more else 5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_kills_lose_nothing_and_write_nothing_twice(profile, output, tmp_path, seed):
    """Three kills in one job, with and without a token; then it ends as a crawl that was never killed does."""
    chance, (packages, repositories) = random.Random(seed), made(60)
    packages |= {**at("a/old", "a/gone", "b/new", "a/dmca"), "lab": {"url": "https://gitlab.com/a/b"}, "none": {}}
    repositories |= {"b/new": DCAT, "a/dmca": Repository(status=451)}
    token, limits = (TOKEN, "")[seed % 2], {"core": 10**6, "graphql": 10**6}
    with GitHub(repositories, renamed={"a/old": "b/new"}, limits=limits) as github, Catalogue(packages) as catalogue:
        settings = {"GITHUB_API": github.url, "HTTPCACHE_DIR": str(tmp_path / "cache"), "JOBDIR": str(tmp_path / "job")}
        words = options(output, settings, catalogue=catalogue.url, source="extensions")
        command = [sys.executable, "-W", "error", "-m", "scrapy", "crawl", "ckan_extensions", *words]
        os.environ["GITHUB_TOKEN"] = token
        killed = 0
        for _ in range(3):
            before, wait = len(github.asked), chance.randrange(1, 30 if token else 90)
            crawl = forked.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL, text=True)
            until(lambda: len(github.asked) - before >= wait or crawl.poll() is not None)  # noqa: B023
            crawl.kill()
            crawl.communicate(timeout=HANG)
            killed += crawl.returncode == -signal.SIGKILL
        done = profile(catalogue, github, token=token, more=("-s", f"JOBDIR={settings['JOBDIR']}"))
        whole = profile(catalogue, github, token=token, more=("-s", f"OUTPUT_DIR={tmp_path / 'whole'}"))
    assert (done.code, done.report["verdict"], done.errors) == (0, "complete", []), done.log
    assert (killed > 1, done.report["resumed"]) == (True, True)
    left, expected = documents(done), documents(Crawl(0, "", tmp_path / "whole" / "extensions"))
    for document in (*left.values(), *expected.values()):
        del document["checked"]
    assert left == expected
    assert sorted(line["dataset_id"] for line in done.manifest) == sorted(left)
    assert done.report["counts"] == whole.report["counts"] == whole.report["counts"] | {"new": 65}
    assert done.report["repositories"] == whole.report["repositories"]
