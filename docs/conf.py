"""How Sphinx builds these pages: `make docs`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "catalogue-crawlers"
copyright = "the contributors; BSD-3-Clause"  # noqa: A001 -- Sphinx reads this name
extensions = ["myst_parser"]
exclude_patterns = ["_build", "kind-template"]
myst_heading_anchors = 4
html_theme = "furo"
html_title = "catalogue-crawlers"
html_copy_source = False
html_show_sphinx = False

_ELSEWHERE = re.compile(r"\[([^\]]+)\]\((?:\.\./|kind-template)[^)]*\)")


def _unlink(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Leave the text of links to files outside of these pages: the site has no copy of them."""
    source[0] = _ELSEWHERE.sub(r"\1", source[0])


def setup(app: Sphinx) -> None:
    """Register what a page goes through before it is parsed."""
    app.connect("source-read", _unlink)
