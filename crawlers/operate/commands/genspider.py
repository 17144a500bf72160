"""``scrapy genspider``: Scrapy's own, with this project's template as the default; it writes no broken file."""

from __future__ import annotations

import argparse
import keyword
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from scrapy.commands import genspider
from scrapy.exceptions import UsageError

from crawlers.kind import Kind, enabled
from crawlers.operate.strict_command import StrictCommand


class Command(StrictCommand, genspider.Command):
    summary = "Write a new catalogue's spider"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        default = next((name for name, kind in self._kinds().items() if kind.template), "basic")
        parser.set_defaults(template=default)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) == 2:
            mistake, package = _mistake(*args), self.settings["NEWSPIDER_MODULE"]
            if not mistake and not find_spec(package):
                mistake = (
                    f"there is no package {package} here: `catalogue-crawlers init FOLDER` makes a folder with one"
                )
            if not (mistake or opts.force):
                folder = import_module(package).__path__[0]
                path = Path(folder, f"{genspider.sanitize_module_name(args[0])}.py")
                advice = "choose another name, or say --force to replace it"
                mistake = f"{path} already exists: {advice}" if path.exists() else ""
            if mistake:
                raise UsageError(mistake, print_help=False)
        super().run(args, opts)

    def _find_template(self, template: str) -> Path | None:
        """Return the template of a kind of catalogue, else Scrapy's own of that name."""
        kind = self._kinds().get(template)
        if kind is None or kind.template is None:
            return super()._find_template(template)
        package = import_module(kind.spider.partition(":")[0].rpartition(".")[0])
        return Path(str(package.__file__)).parent / kind.template

    def _list_templates(self) -> None:
        """Print the kinds of catalogue that have a template."""
        print("Available templates:")
        for name, kind in self._kinds().items():
            if kind.template is not None:
                print(f"  {name}")

    def _kinds(self) -> dict[str, Kind]:
        return enabled(self.settings.getlist("KINDS_ENABLED"))


def _mistake(name: str, address: str) -> str:
    """Return why no spider can be written, empty if one can.

    >>> _mistake("my town", "https://example.org")
    "'my town' is not a folder name of letters, digits, dots, dashes and underscores, at most 100: try my-town"
    >>> _mistake("1abc", "example.org"), _mistake("a-b.c", "http://127.0.0.1:8000/catalog")
    ('', '')
    """
    from crawlers.arguments import url
    from crawlers.listing.spider import source_name

    try:
        source_name(name)
    except ValueError as error:
        near = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:100]
        return f"{name[:100]!r} is not {error}" + (f": try {near}" if near else "")
    if keyword.iskeyword(genspider.sanitize_module_name(name)):
        return f"{name!r} is a Python keyword and can't name a file: try {name}-data"
    try:
        where = url(genspider.verify_url_scheme(address))
    except ValueError as error:
        return f"{address[:200]!r} is not {error}"
    is_plain = re.fullmatch(r"[!#-\[\]-~]+", where)
    return "" if is_plain else f"{address[:200]!r} has characters that are invalid in an address"
