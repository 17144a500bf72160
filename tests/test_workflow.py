"""The files of `scrapy genworkflow`: what GitHub, systemd, cron and a shell read, and that what they run exists."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import yaml
from cronsim import CronSim
from scrapy.cmdline import ScrapyArgumentParser, _get_commands_from_module
from scrapy.settings import Settings

from crawlers.operate.workflow import on_calendar
from tests import forked
from tests.conftest import ROOT
from tests.needed import needs

SOURCES = """
[hdx]
spider = "hdx"
schedule = "15 3 * * 1-5"

[town]
spider = "ckan"
arguments = { portal = "https://town.example.org" }
"""
HERE = {**forked.ENVIRONMENT, "PYTHONPATH": str(ROOT), "SCRAPY_SETTINGS_MODULE": "crawlers.settings"}
HAS_SYSTEMD = needs("systemd-analyze")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A project's folder, whose name is awkward for a shell, for cron and for systemd."""
    folder = tmp_path / "my 100% $project"
    folder.mkdir()
    (folder / "sources.toml").write_text(SOURCES)
    return folder


def generate(place: Path, *words: str) -> Any:
    command = [sys.executable, "-W", "error", "-m", "scrapy", "genworkflow", *words]
    return forked.run(command, cwd=place, env=HERE, capture_output=True, text=True, check=False)


def written(place: Path, *words: str) -> dict[str, str]:
    """The files that a command has written, by name."""
    ran = generate(place, *words)
    assert (ran.returncode, ran.stderr) == (0, "")
    paths = [
        place / line.removeprefix("Wrote ").removesuffix(".") for line in ran.stdout.splitlines() if "Wrote" in line
    ]
    return {path.name: path.read_text() for path in paths}


def accept(words: list[str]) -> None:
    """Read a command's words as `scrapy` does."""
    command = _get_commands_from_module("crawlers.operate.commands", inproject=True)[words[0]]
    command.settings = Settings()
    parser = ScrapyArgumentParser()
    command.add_options(parser)
    _, rest = parser.parse_known_args(words[1:])
    command.refuse_options(rest)


def commands(text: str) -> list[list[str]]:
    """The commands of this project in a file."""
    found = re.findall(r"(?:^|[\s/\"])scrapy\"?( [a-z][^\n|>]*)", text.replace("\\\n", "").replace(" 2>&1", ""))
    return [shlex.split(words) for words in found if not words.startswith(" genworkflow")]


# GitHub


def steps(text: str) -> dict[str, dict[str, Any]]:
    (job,) = yaml.safe_load(text)["jobs"].values()
    return {step.get("name") or step["uses"]: step for step in job["steps"]}


def test_a_workflow_runs_a_source_at_its_own_times(place):
    files = written(place, "hdx", "town")
    assert list(files) == ["harvest-hdx.yml", "harvest-town.yml"]
    parsed = {name: yaml.safe_load(text) for name, text in files.items()}
    on = {name: content[True] for name, content in parsed.items()}  # YAML 1.1 reads "on" as true
    assert on["harvest-hdx.yml"] == {"schedule": [{"cron": "15 3 * * 1-5"}], "workflow_dispatch": None}
    assert on["harvest-town.yml"] == {"workflow_dispatch": None}
    assert commands(files["harvest-hdx.yml"]) == [["harvest", "hdx"], ["report", "--format", "markdown"]]
    assert len({content["concurrency"]["group"] for content in parsed.values()}) == 2


def test_the_ecosystem_runs_on_sundays(place):
    files = written(
        place, "ecosystem", "--publish-to", "https://ecosystem.example.org", "--catalogue", "http://[::1]:80/x"
    )
    parsed = {name: yaml.safe_load(text) for name, text in files.items()}
    crons = {name: content[True]["schedule"][0]["cron"] for name, content in parsed.items()}
    assert crons == {"ecosystem-extensions.yml": "0 2 * * 0", "ecosystem-sites.yml": "0 3 * * 0"}
    assert {content["concurrency"]["group"] for content in parsed.values()} == {"ecosystem"}
    run = ["ecosystem", "run", "--skip", "sites", "--catalogue", "http://[::1]:80/x"]
    publish = ["--publish-to", "https://ecosystem.example.org", "--yes"]
    assert commands(files["ecosystem-extensions.yml"])[0] == [*run, *publish]


def test_sunday_is_0_for_github_which_refuses_7(place):
    text = written(place, "ecosystem", "--cron", "0 2 * * 5-7")["ecosystem-sites.yml"]
    assert yaml.safe_load(text)[True]["schedule"] == [{"cron": "0 2 * * 0,5,6"}]


def test_what_a_workflow_may_do_and_keeps(place):
    (text,) = written(place).values()
    content, by_name = yaml.safe_load(text), steps(text)
    assert content["permissions"] == {"contents": "read", "actions": "read"}
    assert content["concurrency"] == {"group": "harvest", "cancel-in-progress": False}
    used = [step["uses"] for step in by_name.values() if "uses" in step]
    assert next(by_name[one]["with"] for one in used if "/checkout@" in one) == {"persist-credentials": False}
    pinned = re.findall(r"uses: (actions/[\w/-]+@[0-9a-f]{40})  # v\d+\.\d+\.\d+$", text, re.MULTILINE)
    assert pinned == used, "by commit: a tag can be moved to another"
    assert len(used) == 6
    kept = {name: step["with"]["retention-days"] for name, step in by_name.items() if "retention-days" in str(step)}
    assert kept == {"Keep the files for 30 days": 30, "Keep the logs of a failure for 7 days": 7}
    assert by_name["Keep the logs of a failure for 7 days"]["if"].startswith(
        "(failure() || steps.run.outputs.incomplete)"
    )
    restored, saved = by_name["Restore what earlier runs left"], by_name["Save what this run left, for the next one"]
    assert restored["with"]["path"] == saved["with"]["path"] == "output\njobs\n"
    assert restored["with"]["key"] == saved["with"]["key"]
    assert saved["if"].startswith("always() && ")


def test_no_workflow_restores_what_another_one_left(place):
    """A cache is found by the beginning of its key: harvest- begins that of harvest-hdx, too."""
    (place / "sources.toml").write_text(SOURCES + SOURCES.partition("\n\n")[2].replace("town", "hdx-2"))
    files = written(place) | written(place, "hdx", "hdx-2")
    restored = {name: steps(text)["Restore what earlier runs left"]["with"] for name, text in files.items()}
    for name, one in restored.items():
        found = [other for other in restored if restored[other]["key"].startswith(one["restore-keys"])]
        assert found == [name]


def test_secrets_are_in_the_environment_of_one_step(place):
    (text,) = written(place, "-s", "NOTIFY_WEBHOOK_ENV=TOWN_WEBHOOK").values()
    by_name = steps(text)
    names = ("CKAN_API_TOKEN", "TOWN_WEBHOOK", "NOTIFY_SMTP_LOGIN")
    assert by_name["Run"]["env"] == {name: f"${{{{ secrets.{name} }}}}" for name in names}
    assert text.count("secrets.") == len(names)
    assert not [step for step in by_name.values() if "${{" in step.get("run", "")], "an expression in a script"


ARCHIVED = """
[lake]
spider = "hdx"
archive = true
settings = { API_TOKEN_ENV = "LAKE_TOKEN" }
arguments = { organization = "lake" }
"""
FORMS = '[[forms]]\naddress = "https://a.example.org/*"\nfields = { mail = { env = "FORM_MAIL" }, agree = true }\n'
S3 = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_ENDPOINT_URL"]
S3 += ["AWS_ALLOW_HTTP"]


@pytest.fixture
def archiving(place: Path) -> Path:
    """A project with an archive, and a form that stands before its files."""
    with (place / "sources.toml").open("a") as file:
        file.write(ARCHIVED)
    (place / "forms.toml").write_text(FORMS)
    return place


@pytest.mark.parametrize("names", [("lake",), ()])
def test_an_archive_goes_along_with_its_forms_and_its_bucket(archiving, names):
    given = ("-s", "ARCHIVE_STORE=s3://bucket/files", "-s", "GITHUB_TOKEN_ENV=OWN_TOKEN", "--cron", "daily")
    (text,) = written(archiving, *names, *given).values()
    passed = steps(text)["Run"]["env"]
    assert list(passed) == ["CKAN_API_TOKEN", "LAKE_TOKEN", "NOTIFY_WEBHOOK", "NOTIFY_SMTP_LOGIN", "FORM_MAIL", *S3]
    command, _ = commands(text)
    assert command[-4:] == ["-s", "ARCHIVE_STORE=s3://bucket/files", "-s", "GITHUB_TOKEN_ENV=OWN_TOKEN"]
    files = written(archiving, *names, "--systemd", *given) | written(archiving, *names, "--cron-file", *given)
    for name, content in files.items():
        assert name.endswith(".timer") or "FORM_MAIL=..., AWS_ACCESS_KEY_ID=..." in content


def test_a_token_has_the_name_that_a_setting_gives_it(place):
    files = written(place, "ecosystem", "-s", "GITHUB_TOKEN_ENV=OWN_TOKEN")
    text = files["ecosystem-extensions.yml"]
    assert steps(text)["Run"]["env"]["OWN_TOKEN"] == "${{ secrets.OWN_TOKEN }}"
    assert "GITHUB_TOKEN:" not in text
    assert commands(text)[0][-2:] == ["-s", "GITHUB_TOKEN_ENV=OWN_TOKEN"]


def test_a_unit_may_write_where_the_settings_say(archiving, tmp_path):
    elsewhere = tmp_path / "files"
    units = written(archiving, "lake", "--systemd", "--cron", "daily", "-s", f"ARCHIVE_STORE={elsewhere}")
    (line,) = (one for one in units["harvest-lake.service"].splitlines() if one.startswith("ReadWritePaths="))
    assert line.endswith(f" {elsewhere}")
    (archiving / "archive").symlink_to(elsewhere)
    units = written(archiving, "lake", "--systemd", "--cron", "daily", "--force")
    assert f" {elsewhere}\nPrivateTmp" in units["harvest-lake.service"], "systemd follows no link"


def test_what_is_in_a_bucket_is_mirrored_between_runs(place):
    (text,) = written(place, "-s", "OUTPUT_DIR=s3://bucket/metadata").values()
    assert steps(text)["Restore what earlier runs left"]["with"]["path"] == "mirror\njobs\n"
    assert set(S3) < set(steps(text)["Run"]["env"])
    assert set(S3) == set(steps(text)["Summary"]["env"])
    assert commands(text)[1] == ["report", "--format", "markdown", "-s", "OUTPUT_DIR=s3://bucket/metadata"]


def test_the_command_line_prevails_over_a_source(archiving):
    """As it does when the source is harvested."""
    text = (archiving / "sources.toml").read_text()
    (archiving / "sources.toml").write_text(text.replace('"LAKE_TOKEN" }', '"LAKE_TOKEN", ARCHIVE_STORE = "here" }'))
    files = written(archiving, "lake", "-s", "ARCHIVE_STORE=s3://bucket/files", "-s", "API_TOKEN_ENV=OWN")
    passed = steps(files["harvest-lake.yml"])["Run"]["env"]
    assert set(S3) < set(passed)
    assert ("OWN" in passed, "LAKE_TOKEN" in passed) == (True, False)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "lake keeps its files in the folder archive, which a runner of GitHub loses: set ARCHIVE_STORE to s3:/"),
        (("town", "-s", "OUTPUT_DIR=/srv/x"), "OUTPUT_DIR is /srv/x, which a runner of GitHub does not keep: name"),
        (("town", "-s", "JOBS_DIR=../x"), "JOBS_DIR is ../x, which a runner"),
        (("release", "-s", "OUTPUT_DIR=/srv/x"), "OUTPUT_DIR is /srv/x, which a runner of GitHub does not keep: name"),
        (
            ("lake", "-s", "ARCHIVE_STORE=s3://bucket/files", "-s", "FORMS_FILE=../forms.toml"),
            "FORMS_FILE is ../forms.toml, which a runner of GitHub lacks: move it into the repository.",
        ),
        (("town", "-s", "NOTIFY_WEBHOOK_ENV=GITHUB_HOOK"), "GitHub takes no secret called GITHUB_HOOK: choose a name"),
        (("town", "-s", "CONTACT=${{ secrets.X }}"), "A setting has ${{, which"),
        (("lake", "-s", "ARCHIVE_STORE=s3://"), "ARCHIVE_STORE is no s3://bucket/prefix"),
        (("hdx", "--cron-file", "-s", "NOTIFY_WEBHOOK_ENV=A\n* * * * * evil"), "is no name of a variable"),
        (("hdx", "--systemd", "-s", "CONTACT=A\nUser=root"), "A setting has a line break"),
    ],
)
def test_what_a_runner_does_not_keep_is_refused(archiving, words, sentence):
    (archiving.parent / "forms.toml").write_text(FORMS)
    ran = generate(archiving, *words)
    assert (ran.returncode, ran.stderr.count("\n")) == (1, 1)
    assert sentence in ran.stderr
    assert not (archiving / ".github").exists()
    assert not (archiving / "deploy").exists()


@pytest.mark.parametrize("words", [("hdx",), ("ecosystem", "--publish-to", "https://a.example.org"), ("release",), ()])
@pytest.mark.parametrize("form", [(), ("--systemd",), ("--cron-file",)])
def test_what_the_files_run_exists(place, words, form):
    cron = ("--cron", "daily") if not words else ()
    found = [one for text in written(place, *words, *form, *cron).values() for one in commands(text)]
    assert found
    for one in found:
        accept(one)


def test_a_release_is_made_of_what_the_harvest_left(place):
    """From the same cache, and it saves nothing; but GitHub drops what waits in a group when another one comes."""
    (text,), (harvest,) = written(place, "release").values(), written(place).values()
    content, by_name = yaml.safe_load(text), steps(text)
    assert content["permissions"] == {"contents": "write", "actions": "read"}
    assert content[True]["schedule"] == [{"cron": "0 5 * * 1"}]
    assert content["concurrency"]["group"] != yaml.safe_load(harvest)["concurrency"]["group"]
    assert by_name["Restore what earlier runs left"] == steps(harvest)["Restore what earlier runs left"]
    assert set(re.findall(r"uses: (\S+)", text)) < set(re.findall(r"uses: (\S+)", harvest))
    assert "save" not in text
    assert commands(text) == [["release", "release"]]
    names = list(by_name)
    assert names.index("Take the release before, to tell what changed") < names.index("Run") < len(names) - 1
    assert by_name[names[-1]]["if"] == "steps.run.outcome == 'success'"
    assert "env" not in by_name["Run"]


@needs("bash")
@pytest.mark.parametrize("words", [(), ("release",)])
def test_scripts_are_those_of_a_shell(place, words):
    (text,) = written(place, *words).values()
    for step in steps(text).values():
        checked = subprocess.run(["bash", "-n"], input=step.get("run", ""), text=True, check=False, capture_output=True)
        assert checked.stderr == ""


def test_badges_are_for_the_readme(place):
    lines = generate(place, "hdx").stdout.splitlines()
    address = "../../actions/workflows/harvest-hdx.yml"
    assert lines[-1] == f"[![Harvest of hdx]({address}/badge.svg)]({address})"
    assert "CKAN_API_TOKEN, NOTIFY_SMTP_LOGIN, NOTIFY_WEBHOOK" in lines[-3]


# systemd and cron


@HAS_SYSTEMD
def test_systemd_accepts_the_units(place):
    files = written(place, "ecosystem", "--systemd", "--publish-to", "https://a.example.org/100%25")
    assert sorted(files) == [
        f"ecosystem-{name}.{kind}" for name in ("extensions", "sites") for kind in ("service", "timer")
    ]
    units = [str(place / "deploy" / name) for name in files]
    checked = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
    assert "Persistent=true" in files["ecosystem-sites.timer"]
    escaped = str(place).replace("%", "%%")
    assert f"WorkingDirectory={escaped}\n" in files["ecosystem-sites.service"]


@HAS_SYSTEMD
@pytest.mark.parametrize(
    "cron",
    [
        *("0 2 * * 0", "*/15 * * * *", "5,35 1-3 * * 1-5", "0 4 1,15 * *", "0 4 13 * 5", "30 23 */10 * MON"),
        *("0 0 29 2 *", "7 5 * JAN-MAR 7", "0 9 * 6 5-7"),
    ],
)
def test_a_timer_elapses_when_cron_runs(cron):
    expected = list(islice(CronSim(cron, datetime(2026, 11, 23, 5, 30, tzinfo=UTC)), 12))
    found = set()
    for value in on_calendar(cron):
        command = ["systemd-analyze", "calendar", "--base-time=2026-11-23 05:30:00 UTC", "--iterations=12", value]
        told = subprocess.run(
            command, env={**os.environ, "TZ": "UTC"}, capture_output=True, text=True, check=True
        ).stdout
        times = re.findall(r"(?:Next elapse|Iter\. #\d+): \w+ (\S+ \S+) UTC", told)
        found |= {datetime.fromisoformat(time).replace(tzinfo=UTC) for time in times}
    assert sorted(found)[:12] == expected


def test_a_line_of_the_crontab_runs(place):
    text = written(place, "--cron-file", "--cron", "*/7 * * * *")["harvest.cron"]
    *_, line = text.splitlines()
    time, command = line[:11], line[11:]
    assert time == "*/7 * * * *"
    assert not re.search(r"(?<!\\)%", command), "cron ends the command there"
    ran = subprocess.run(
        ["sh", "-c", command.replace(r"\%", "%").replace("--due", "--due --dry-run")],
        env=HERE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert re.search(r"^hdx +would run +never harvested before$", ran.stdout, re.MULTILINE)


# The recipes of docs/github-actions.md, one for each way

PAGE = (ROOT / "docs/github-actions.md").read_text()
DUE = ["harvest", "--due", "--parallel", "4"]


def recipe(heading: str) -> str:
    """The section of the page."""
    return PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def recipes(place: Path) -> dict[str, list[str]]:
    """The commands of this project that each way runs: as its files have them, or else as the page does."""
    ways = {"GitHub Actions": (), "systemd": ("--systemd",), "cron": ("--cron-file",)}
    texts = {heading: "".join(written(place, *words).values()) for heading, words in ways.items()}
    texts |= {
        heading: recipe(heading).replace("catalogue-crawlers harvest", "scrapy harvest")
        for heading in ("Containers", "Scrapyd")
    }
    return {heading: next(one for one in commands(text) if one[0] == "harvest") for heading, text in texts.items()}


def test_all_ways_run_the_same_command(place):
    found = recipes(place)
    node = ["--scrapyd", "http://localhost:6800"]
    assert found == {heading: DUE + (node if heading == "Scrapyd" else []) for heading in found}
    for command in found.values():
        accept(command)
    assert f"scrapy {shlex.join(DUE)}" in recipe("One command")


def test_the_page_shows_what_is_written(place):
    """Without what is only the folder's and the user's."""
    service, timer = (written(place, "--systemd")[f"harvest.{kind}"].splitlines() for kind in ("service", "timer"))
    shown = [line for line in recipe("systemd").splitlines() if re.match(r"(\w+=|\[)", line) and "srv" not in line]
    assert [line for line in shown if line not in service + timer] == ["User=harvest"]
    (line,) = (line for line in recipe("cron").splitlines() if line.startswith("*/15"))
    *_, own = written(place, "--cron-file")["harvest.cron"].splitlines()
    assert re.sub(r"cd \S+ && \S+/scrapy", "", line) == re.sub(r"cd '.*' && \S+/scrapy", "", own)


def test_what_is_incomplete_fails_no_unit(place):
    """Exit code 3: notifications tell it; the other sources are fine."""
    units = [
        *re.findall(r"\[Service\].*?(?=\n\n|```)", PAGE, re.DOTALL),
        written(place, "--systemd")["harvest.service"],
    ]
    assert [unit.count("\nSuccessExitStatus=3\n") for unit in units] == [1] * len(units)
    for text in written(place, "ecosystem", "--systemd").values():
        assert "[Service]" not in text or "\nSuccessExitStatus=3\n" in text


@needs("bash")
@pytest.mark.parametrize(("code", "ends"), [(0, 0), (3, 0), (4, 4), (1, 1)])
def test_what_is_incomplete_fails_no_workflow(place, tmp_path, code, ends):
    (text,) = written(place).values()
    fake = tmp_path / "bin/scrapy"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\nexit {code}\n")
    fake.chmod(0o755)
    output = tmp_path / "outputs"
    here = {"PATH": f"{fake.parent}:{os.environ['PATH']}", "GITHUB_OUTPUT": str(output)}
    script = steps(text)["Run"]["run"]
    ran = subprocess.run(["bash", "-e", "-c", script], env=here, capture_output=True, text=True, check=False)
    assert (ran.returncode, output.exists(), "::warning::" in ran.stdout) == (ends, code == 3, code == 3)


# Mistakes


def test_a_file_is_not_overwritten_unasked(place):
    written(place, "hdx", "town")
    folder = place / ".github" / "workflows"
    (folder / "harvest-town.yml").write_text("mine")
    (folder / "harvest-hdx.yml").unlink()
    ran = generate(place, "hdx", "town")
    assert ran.returncode == 1
    assert ran.stderr == (
        ".github/workflows/harvest-town.yml exists and is different: look at it, or overwrite it with --force.\n"
    )
    assert [path.name for path in folder.iterdir()] == ["harvest-town.yml"]
    assert (folder / "harvest-town.yml").read_text() == "mine"
    assert len(written(place, "hdx", "town", "--force")) == 2
    assert len(written(place, "hdx", "town")) == 2, "the same again"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["hdy"], "has no source 'hdy'. Did you mean hdx?"),
        (["ecosystem", "hdx"], "ecosystem goes by itself"),
        (["hdx", "release"], "release goes by itself"),
        (["hdx", "--cron", "61 * * * *"], "--cron: '61 * * * *' is not"),
        (["hdx", "--cron", "0 4 L * *"], "--cron: '0 4 L * *' has an L or a #"),
        (["town", "--systemd"], "Harvest of town has no schedule in sources.toml: give it one, or --cron."),
        (["hdx", "--publish-to", "https://a.example.org"], "--publish-to is for ecosystem"),
        (["ecosystem", "--publish-to", "ftp://a.example.org"], "--publish-to takes an http(s) address"),
        (["ecosystem", "--catalogue", "https://a.example.org/${{secrets.X}}"], "without special characters"),
        (["ecosystem", "--catalogue", "https://a.example.org/\n run: x"], "without special characters"),
        (["hdx", "-o", "sources.toml"], "sources.toml can't be used: File exists."),
    ],
)
def test_a_mistake_is_a_sentence(place, words, sentence):
    ran = generate(place, *words)
    assert ran.returncode == 1
    assert sentence in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert not (place / ".github").exists()


def test_a_source_with_a_mistake_is_told_by_it(place):
    with (place / "sources.toml").open("a") as file:
        file.write('\n[copy]\nspider = "hdx"\n')
    ran = generate(place, "copy")
    assert (ran.returncode, ran.stderr.count("\n")) == (1, 1)
    assert "[copy] harvests what [hdx] does" in ran.stderr


def test_a_schedule_in_a_time_zone_needs_a_time_in_utc(place):
    with (place / "sources.toml").open("a") as file:
        file.write('[lake]\nspider = "alberta"\nschedule = "daily 02:30"\ntimezone = "Europe/Zurich"\n')
    ran = generate(place, "lake")
    assert ran.returncode == 1
    assert "The schedule of lake is in Europe/Zurich, and a workflow's is in UTC: give it with --cron." in ran.stderr
    assert [{"cron": "30 1 * * *"}] in [
        yaml.safe_load(text)[True]["schedule"] for text in written(place, "lake", "--cron", "30 1 * * *").values()
    ]
