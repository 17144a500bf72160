"""The README and the tutorials, followed as a reader would: each command prints what its page shows."""

from __future__ import annotations

import pytest

from tests.follow import UnfollowableError, copy_project, follow, read, steps
from tests.needed import needs

FOLLOWED = (
    "README.md",
    "docs/first-harvest.md",
    "docs/first-survey.md",
    "docs/new-catalogue.md",
    "docs/html.md#ten-minutes",
    "docs/api.md#from-an-unknown-api-to-a-harvested-source",
)

LEFT_OUT = "<!-- not followed: it fails -->\n```sh\nfalse\n```\n"


@pytest.mark.slow
@needs("bash")
@pytest.mark.parametrize("page", FOLLOWED)
def test_a_page_can_be_followed(page, tmp_path):
    copy_project(tmp_path)
    if wrong := follow(read(page), tmp_path):
        pytest.fail("\n".join(wrong), pytrace=False)


@needs("bash")
@pytest.mark.parametrize(
    ("page", "wrong"),
    [
        ("```sh\necho rivers\n```\n\nIt prints:\n\n```text\nrivers\n```\n", None),
        ("```text\n$ echo rivers\nriver\n```\n", "-river\n+rivers"),
        ("```text\n$ echo rivers\n$ true\n```\n", "+rivers"),
        ("```text\n$ printf 'a\\nb\\nc\\n'\na\n...\n$ echo one two\none ...\n```\n", None),
        ("```text\n$ printf 'a\\nb\\n'\n...\nc\n```\n", "-c"),
        (
            "```text\n$ echo 2026-11-23 09:20 took 3 s, http://127.0.0.1:1\n2025-01-01 00:00 took 1.5 s, http://127.0.0.1:80\n```\n",
            None,
        ),
        ("```text\n$ river=elbe\n$ echo \\\n    $river\nelbe\n```\n", None),
        ("```sh\nfalse\n```\n", "exit code 1"),
        (LEFT_OUT, None),
        (
            f"{LEFT_OUT}\n```sh\n(exit 3)\n```\n\n{LEFT_OUT}",
            "exit code 3",
        ),
        ("<!-- file: a/b.toml -->\n```toml\nb = 1\n```\n\n```text\n$ cat a/b.toml\nb = 1\n```\n", None),
        ("<!-- file: a.csv -->\n```text\nb,c\n```\n\n```text\n$ cat a.csv\nb,c\n```\n", None),
        ("```text\n$ echo $http_proxy\n\n```\n", "+http://127.0.0.1:PORT"),
    ],
)
def test_what_a_page_shows_wrongly_is_found(page, wrong, tmp_path):
    [found] = follow(page, tmp_path) or [None]
    assert found is None if wrong is None else wrong in found


def test_a_block_that_no_command_prints_must_be_marked():
    with pytest.raises(UnfollowableError, match="no command prints: a folder"):
        list(steps("```text\na folder\n```\n"))
    assert not list(steps("<!-- not followed: a drawing -->\n```text\na folder\n```\n"))
