"""``scrapy export``: the datasets on disk, for other programs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from crawlers.exceptions import ExportError
from crawlers.operate.console import print_error
from crawlers.operate.strict_command import ProjectCommand
from crawlers.safety.redact import one_line

if TYPE_CHECKING:
    from crawlers.items import Dataset

INCOMPLETE = 3
_FOLDER = "folder"


class Command(ProjectCommand):
    """Exit code: 0 written, 1 not written, 3 written, but some documents can't be read or some datasets are invalid."""

    sources = slice(None)
    takes = (
        "--format FORMAT [-o FILE] [--validate] [--quality] [source ...] | SOURCE --at TIME --format folder -o FOLDER"
    )
    summary = "Write the datasets on disk as DCAT-AP, CSV, Parquet or Croissant, or a source's folder as it was"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        from crawlers.store.export.output import WRITERS

        super().add_options(parser)
        parser.add_argument("--format", required=True, choices=(*WRITERS, _FOLDER), help=", ".join((*WRITERS, _FOLDER)))
        parser.add_argument(
            "-o", "--output", type=Path, metavar="FILE", help="default and -: standard output; folder: a new folder"
        )
        parser.add_argument("--at", metavar="TIME", help="folder: as it was then: 2026-11-20 (its end)")
        parser.add_argument("--partial", action="store_true", help="folder: without documents that are not kept")
        parser.add_argument(
            "--quality", action="store_true", help="DCAT: add the points of each dataset's metadata (DQV)"
        )
        parser.add_argument("--validate", action="store_true", help="check each dataset by SHACL shapes")
        parser.add_argument(
            "--shapes",
            action="append",
            default=[],
            type=Path,
            metavar="PATH",
            help="a file of shapes in Turtle, or a folder of such; repeatable; default: what DCAT-AP 3 makes mandatory",
        )
        parser.add_argument(
            "--report",
            type=Path,
            metavar="FILE",
            help="what --validate finds; default: -o's with .validation.jsonl; -: standard output",
        )

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        self.lost = self.invalid = 0
        if opts.format == _FOLDER or opts.at or opts.partial:
            self._write_folder(args, opts)
        else:
            self._write(args, opts)
        self.exitcode = INCOMPLETE if self.lost or self.invalid else 0

    def _write(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawlers.store.export.output import BINARY, WRITERS, held_items, held_sources, target

        file_given = _file(opts.output)
        if opts.format in BINARY and not file_given:
            raise ExportError(f"{opts.format} is a binary format: name a file with -o FILE.")
        output = self.path("OUTPUT_DIR")
        self.tell_replaced(args)
        sources = held_sources(output, args)
        datasets = held_items(output, sources, self._report)
        with self._measures(opts, args, output) as scores, target(file_given) as file:
            write = partial(WRITERS[opts.format], **scores)
            if opts.validate:
                before = held_items(output, sources, lambda _: None)
                self._validate(datasets, before, file, opts, write)
            else:
                write(datasets, file)

    @contextmanager
    def _measures(self, opts: argparse.Namespace, args: list[str], output: Path) -> Iterator[dict[str, Any]]:
        """Give the writer of a format of DCAT what measures each dataset's metadata, if that is wanted."""
        from crawlers.store.export.output import PROFILES

        if not opts.quality:
            yield {}
            return
        if opts.format not in PROFILES:
            raise ExportError(f"--quality adds to DCAT, not {opts.format}: name {', '.join(PROFILES)} with --format.")
        from crawlers.store.figures.quality import scores
        from crawlers.store.index.database import connect, readable

        self.catch_up(args)
        with readable(output), closing(connect(output)) as db:
            yield {"scores": lambda dataset: scores(db, dataset.source, dataset.id)}

    def _write_folder(self, args: list[str], opts: argparse.Namespace) -> None:
        """Write a source's folder as it was."""
        from crawlers.records.moment import end, written
        from crawlers.store.export.folder import write
        from crawlers.store.export.output import held_sources
        from crawlers.store.figures.formatting import counted

        moment = self.moment("--at", opts.at, args[0] if args else None, end)
        is_named = len(args) == 1 and opts.output and _file(opts.output)
        if opts.format != _FOLDER or moment is None or not is_named or opts.validate or opts.quality:
            raise ExportError("A folder as it was is: SOURCE --at TIME --format folder -o FOLDER [--partial].")
        output = self.path("OUTPUT_DIR")
        (source,) = held_sources(output, args)
        done = write(output / source, written(moment, "milliseconds"), opts.output, is_partial=opts.partial)
        for file in done.lacking:
            self._report(one_line(f"{source}/{file}: bytes not kept", 5_000))
        print(f"{opts.output}: {counted(done.documents, 'document')} of {source} at {written(moment)}.")

    def _validate(
        self,
        datasets: Iterator[Dataset],
        before: Iterator[Dataset],
        file: IO[bytes],
        opts: argparse.Namespace,
        write: Callable[..., None],
    ) -> None:
        """Write the datasets, and what the shapes say of each."""
        from crawlers.store.export.output import PROFILES, target

        if opts.format not in PROFILES:
            raise ExportError(f"--validate checks DCAT, not {opts.format}: name {', '.join(PROFILES)} with --format.")
        path = _report_file(_file(opts.output), opts.report)
        from crawlers.store.export.validation import Validation

        with target(path) as report:
            validation = Validation(opts.shapes, PROFILES[opts.format], report)
            write(validation.passing(datasets, before), file)
        self.invalid = validation.invalid
        found = f"{validation.invalid} of {validation.datasets} datasets violate the shapes"
        print_error(f"{found}: see {path or 'standard output'}.")

    def _report(self, sentence: str) -> None:
        self.lost += 1
        print_error(sentence)


def _file(given: Path | None) -> Path | None:
    """Return the file that is named; ``None`` for standard output."""
    return None if str(given) == "-" else given


def _report_file(exported: Path | None, given: Path | None) -> Path | None:
    """Return the report's file, beside the export's if none is given; ``None`` for standard output."""
    if given is None:
        if exported is None:
            raise ExportError("--validate writes a report: name its file with --report FILE, or the export's with -o.")
        return exported.with_name(f"{exported.name}.validation.jsonl")
    report = _file(given)
    if (report and report.resolve()) == (exported and exported.resolve()):
        both = exported or "standard output"
        raise ExportError(f"The export and its report can't both be {both}: name another file with --report FILE.")
    return report
