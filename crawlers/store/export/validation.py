"""What SHACL shapes say of each dataset of an export: a line of JSON for each."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pyoxigraph

from crawlers.exceptions import ExportError
from crawlers.records.rdf.graphs import graph, rdflib_graph
from crawlers.records.rdf.terms import DCAT, TYPE, is_blank
from crawlers.safety import strict_json
from crawlers.store.export.dcat import of_sources
from crawlers.store.export.description import description
from crawlers.store.export.nodes import Taken

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from crawlers.items import Dataset
    from crawlers.records.rdf.terms import Graph, Term

_SHAPES = "dcat-ap.shapes.ttl"
_MOST = 1000  # results of a dataset
_LONGEST = 200  # characters of a value


class Report(Protocol):
    """What takes a validation's lines: a file, or what reads them at once."""

    def write(self, line: bytes, /) -> object:
        """Take the line of a dataset."""


class ShapeResult(NamedTuple):
    """What a shape says of a node."""

    severity: str
    """Violation, Warning or Info."""
    node: str
    path: str | None
    value: str | None
    message: str


class _Names(Taken):
    """The names of an export, and the classes of its datasets."""

    def __init__(self) -> None:
        super().__init__()
        self.db.execute("CREATE TABLE classes (iri TEXT PRIMARY KEY, classes TEXT) WITHOUT ROWID")

    def keep(self, name: str, classes: Iterable[Term]) -> None:
        values = (name, "\n".join(map(str, classes)))
        self.db.execute("INSERT OR IGNORE INTO classes VALUES (?, ?)", values)

    def classes(self, name: str) -> list[Term]:
        found = self.db.execute("SELECT classes FROM classes WHERE iri = ?", (name,)).fetchone()
        return list(found[0].split("\n")) if found else []


class Validation:
    """Validates the datasets that pass, one after another, each listed in its catalogue, and reports each.

    Args:
        shapes: files of SHACL shapes in Turtle, and folders of such; none for the shapes of what DCAT-AP 3 makes
            mandatory, which come with the project.
        profile: the name of the profile that is exported.
        report: gets a line for each dataset.

    Attributes:
        datasets: how many have passed.
        invalid: how many of them violate a shape.

    Raises:
        ExportError: pyshacl is not installed, or a file can't be read as shapes.
    """

    def __init__(self, shapes: Sequence[Path], profile: str, report: Report) -> None:
        self.pyshacl = installed()
        self.shapes = _read(shapes)
        self.profile = profile
        self.report = report
        self.datasets = 0
        self.invalid = 0

    def passing(self, datasets: Iterable[Dataset], before: Iterable[Dataset] = ()) -> Iterator[Dataset]:
        """Yield the datasets, each once it is validated.

        Args:
            before: the same datasets, which are read first: one may cite another, whose class counts.
        """
        with _Names() as known:
            for nodes, subject, _, _ in self._described(before, known):
                if not is_blank(subject):
                    known.keep(subject, nodes[subject][TYPE])
            with _Names() as taken:
                for nodes, subject, dataset, catalogue in self._described(datasets, taken):
                    self._validate(nodes, subject, dataset, catalogue, known)
                    yield dataset

    def _described(self, datasets: Iterable[Dataset], taken: Taken) -> Iterator[tuple[Graph, str, Dataset, Graph]]:
        """Yield each dataset's graph, and that of its catalogue."""
        for graph_, catalogue, held in of_sources(datasets):
            taken.take(catalogue)
            for dataset in held:
                nodes, subject = description(dataset, taken, self.profile)
                nodes.setdefault(catalogue, {})[DCAT + "dataset"] = [subject]
                yield nodes, subject, dataset, graph_

    def _validate(self, nodes: Graph, subject: str, dataset: Dataset, catalogue: Graph, known: _Names) -> None:
        cited = {
            each for node in nodes.values() for values in node.values() for each in values if isinstance(each, str)
        }
        others: Graph = {}
        for name in cited - nodes.keys():
            if classes := known.classes(name):
                others[name] = {TYPE: classes}
        found = rdflib_graph(nodes | others)
        found += rdflib_graph(catalogue)  # whose blank nodes have names of their own
        _, report, _ = self.pyshacl.validate(found, shacl_graph=self.shapes, inplace=True)
        results = (one for one in _results(report) if one.node not in others)
        told = sorted(results, key=lambda result: tuple(map(str, result)))
        violations = sum(one.severity == "Violation" for one in told)
        self.datasets += 1
        self.invalid += bool(violations)
        line: dict[str, Any] = {"source": dataset.source, "id": dataset.id}
        line |= {"iri": None if is_blank(subject) else subject, "conforms": not violations}
        line |= {"violations": violations, "warnings": len(told) - violations}
        self.report.write(strict_json.line(line | {"results": [one._asdict() for one in told[:_MOST]]}))


def installed() -> Any:
    """Return the module pyshacl.

    Raises:
        ExportError: it is not installed.
    """
    try:
        import pyshacl  # noqa: PLC0415  # an extra, which takes half a second
    except ImportError:
        raise ExportError("Validation needs pyshacl: pip install 'catalogue-crawlers[validate]'.") from None
    return pyshacl


def _read(paths: Sequence[Path]) -> Any:
    if not paths:
        return rdflib_graph(_graph(resources.files(__package__).joinpath(_SHAPES).read_bytes()))
    shapes = rdflib_graph({})
    for path in paths:
        files = sorted(path.glob("*.ttl")) if path.is_dir() else [path]
        if not files:
            raise ExportError(f"{path} has no shapes: no file there ends with .ttl.")
        for file in files:
            found = rdflib_graph(_of_file(file))
            if not len(found):
                raise ExportError(f"{file} has no shapes: it is empty.")
            shapes += found
    return shapes


def _of_file(file: Path) -> Graph:
    try:
        return _graph(file.read_bytes())
    except OSError as error:
        raise ExportError(f"{file} can't be read: {error.strerror or error}.") from None
    except SyntaxError as error:
        reason = " ".join(str(error).split())[:_LONGEST].rstrip(".")
        raise ExportError(f"{file} is not a file of shapes in Turtle: {reason}.") from None


def _graph(body: bytes) -> Graph:
    return graph(pyoxigraph.parse(body, format=pyoxigraph.RdfFormat.TURTLE))


def _results(report: Any) -> Iterator[ShapeResult]:
    from rdflib import SH  # noqa: PLC0415  # with pyshacl

    for one in report.objects(None, SH.result):
        yield ShapeResult(
            severity=str(report.value(one, SH.resultSeverity)).rpartition("#")[2],
            node=_text(report.value(one, SH.focusNode)) or "",
            path=_text(report.value(one, SH.resultPath)),
            value=_text(report.value(one, SH.value)),
            message=_text(report.value(one, SH.resultMessage)) or "",
        )


def _text(term: Any) -> str | None:
    return None if term is None else str(term)[:_LONGEST]
