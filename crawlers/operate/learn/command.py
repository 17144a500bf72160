"""What `scrapy learn` does: it requests the pages, learns rules from them, and writes the file."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from crawlers.kinds.html.rules import loads
from crawlers.operate.learn import LearnError, Listing, Result, Sample, check_names, confirmed, learn, listing, turned
from crawlers.operate.learn.report import report
from crawlers.operate.learn.result import ALL_FILES
from crawlers.operate.learn.toml import toml
from crawlers.operate.pages import Turn, is_address, pages

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection

    from scrapy.commands import ScrapyCommand

    from crawlers.kinds.html.mapping import Page
    from crawlers.kinds.html.rules import Where


def learn_rules(command: ScrapyCommand, address: str, opts: argparse.Namespace) -> None:
    """Write a rules file, and print what it finds on the pages.

    Args:
        address: a dataset's page, as an address or a file.
        opts: the command's options.

    Raises:
        LearnError: the rules can't be learned or written.
    """
    values, named = _fields(opts.value, "--value"), _fields(opts.label, "--label")
    check_names([*values, *named], opts.without)
    _check_options(values, named, opts.without)
    labels = {name: texts[0] for name, texts in named.items()}
    output = _output(opts)
    asked = [address, *opts.more]
    looked = _ListingPages(asked, opts.listing)
    every = [*asked, *([opts.listing] if opts.listing else [])]
    in_browser = {one for one in every if is_address(one)} if opts.browser else ()
    emptied: set[str] = set()
    found = pages(command, every, then=looked.further, in_browser=in_browser, encoding=opts.encoding, emptied=emptied)
    samples = [Sample(found[one]) for one in dict.fromkeys(asked)]
    listing_, where = looked.listing(found), _where(opts.listing, asked, {*in_browser, *emptied})
    result = learn(samples, values, labels, opts.without)
    result = replace(result, listing=listing_, browser=where, encoding=opts.encoding)
    _check_found(result, samples[0], is_final="datasets" in where)
    text = toml(result)
    _write(text, output)
    print("\n".join(report(result, samples, loads(text))), file=sys.stdout if output else sys.stderr)


_LATE, _SCROLLED = "the listing later", "the listing after scrolling"
_WAIT = "await new Promise(done => setTimeout(done, 3000))"  # milliseconds in which a button may come


def _where(listing_: str | None, asked: list[str], loaded: set[str]) -> tuple[Where, ...]:
    """Return which pages scripts fill, as `browser` of the rules has them.

    Args:
        loaded: the addresses that a browser has loaded; it loads no saved file.
    """
    found: dict[Where, bool] = {"listing": listing_ in loaded, "datasets": not loaded.isdisjoint(asked)}
    return tuple(name for name, is_so in found.items() if is_so)


class _ListingPages:
    """Learns from the listing while the crawl runs, as its second page is requested, too.

    Args:
        asked: the datasets' pages, as typed.
    """

    def __init__(self, asked: list[str], address: str | None) -> None:
        self.asked = asked
        self.address = address
        self.first: Listing | None = None

    def further(self, found: dict[str, Page], in_browser: Collection[str]) -> list[str | Turn]:
        """Return the second page; where there is none, what a browser shows later, and after scrolling."""
        if self.address is None:
            return []
        known = list(dict.fromkeys(one for text in self.asked for one in (found[text].url, text)))
        is_shown = self.address in in_browser
        self.first = listing(Sample(found[self.address]), known, in_browser=is_shown)
        following = self.first.pager.following
        if following and is_address(self.address):
            return [following]
        tried = (
            {"kind": "script", "script": _WAIT, "wait": 5.0, "times": 1},
            {"kind": "scroll", "wait": 4.0, "times": 1},
        )
        names = (_LATE, _SCROLLED) if is_shown and not self.first.pager.table else ()
        return [Turn(name, self.address, turning) for name, turning in zip(names, tried, strict=False)]

    def listing(self, found: dict[str, Page]) -> Listing | None:
        if self.first is None or self.address is None:
            return None
        first, second = Sample(found[self.address]), found.get(self.first.pager.following or "")
        if second is not None:
            return confirmed(self.first, first, Sample(second))
        late, scrolled = (Sample(found[name]) if name in found else None for name in (_LATE, _SCROLLED))
        return turned(self.first, first, late, scrolled)


def _fields(given: list[str], option: str) -> dict[str, list[str]]:
    """Return the texts by field.

    Raises:
        LearnError: an option is not FIELD=TEXT.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not value.strip():
            raise LearnError(f'{option} {text!r} is not FIELD=TEXT, such as {option} title="Street trees".')
        found[name.strip()].append(value.strip())
    return found


def _check_options(values: dict[str, list[str]], labels: dict[str, list[str]], without: list[str]) -> None:
    """
    Raises:
        LearnError: options contradict each other, or name a label of a file.
    """
    of_files = {name for name in values if name.startswith("resource.")}
    for name in labels:
        if name.startswith("resource."):
            raise LearnError(
                f"--label {name}: labels are of datasets; say what is seen of one file by --value {name}=TEXT."
            )
    for name in without:
        if name in values or name in labels or (name == ALL_FILES and of_files):
            raise LearnError(f"--without {name} contradicts --value or --label of the same: give one of them.")
    for option, given in (("--label", labels), ("--value", {name: values[name] for name in of_files})):
        if twice := next((name for name, texts in given.items() if len(texts) > 1), None):
            raise LearnError(f"{option} {twice} is given twice: it takes one text.")


def _output(opts: argparse.Namespace) -> Path | None:
    """Return the file to write; ``None`` for standard output.

    Raises:
        LearnError: the file exists, or has no name.
    """
    if opts.output is not None and not opts.output.strip():
        raise LearnError("-o needs a file name.")
    path = None if opts.output in (None, "-") else Path(opts.output)
    if path is not None and path.exists() and not opts.force:
        raise LearnError(f"{path} exists: --force overwrites it.")
    return path


def _check_found(result: Result, sample: Sample, *, is_final: bool) -> None:
    if result.fields or result.files or result.structured:
        return
    if sample.looks_empty and is_final:
        raise LearnError(f"{sample.address} is empty, in a browser too.")
    if sample.looks_empty:
        raise LearnError(f'{sample.address} is empty until scripts have run: try --browser, with browser = "datasets".')
    raise LearnError(f"{sample.address} has no known label and no h1: name what you see with --value title=...")


def _write(text: str, path: Path | None) -> None:
    if path is None:
        print(text, end="")
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise LearnError(f"{path} can't be written: {error.strerror}.") from None
