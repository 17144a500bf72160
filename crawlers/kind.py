"""What the project asks of a kind of catalogue: who crawls it, who recognises it, who reads its documents."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache, partial
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar
from urllib.parse import urlsplit

from crawlers.exceptions import AnswerError, CrawlersError

if TYPE_CHECKING:
    from scrapy.http import HtmlResponse, Response

    from crawlers.items import Dataset
    from crawlers.records.rdf.terms import Graph
    from crawlers.records.volatile import Volatile

    Reader = Callable[[Any, str, str, str], Dataset]
    Answer = Response | AnswerError

logger = logging.getLogger(__name__)

GROUP = "catalogue_crawlers.kinds"
"""The entry point group in which other packages name their kinds."""
UNREADABLE = (ValueError, AnswerError, SyntaxError)
"""What `dataset` raises for a document that it can't read; the last is pyoxigraph's for invalid JSON-LD."""

T = TypeVar("T")
Asking = Generator[str, "Answer", T]
"""A generator that yields one address at a time and is sent the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of catalogue. Code is named as ``module:object`` and imported when it is needed.

    Args:
        name: the kind's name, which its generic spider has too: ckan.
        title: what people call one catalogue of the kind: CKAN portal.
        spider: the class of its generic spider.
        address: the spider argument that says where the catalogue is.
        example: a value of that argument, for messages and docs.
        takes_file: whether that argument names a rules file, which `scrapy sources add` learns from a page.
        is_at_root: whether a catalogue may be at the root of its host. The address of others is that of a service or a
            file: a host's root is a home page, unless its name has the kind's.
        readers: the functions that read a document from disk, by the ``metadata_source`` of its manifest line. They
            take the document, the source, the dataset's id and the ``metadata_url``, and return the item.
        find_reader: for a kind whose ``metadata_source`` names are declared by users: the function that takes such a
            name and returns the reader, or ``None``.
        triples: the functions that return the RDF of a document, by the ``metadata_source`` of those that are RDF. They
            take the document and the ``metadata_url``, and return the description and the dataset's name in it, or
            ``None`` where that document has no RDF.
        volatile: the file that names what moves in a record although nobody edits it, in the package of the generic
            spider: a list ``documents``, whose tables have ``of`` (the ``metadata_source`` names), and ``counters`` and
            ``sets`` as `crawlers.records.volatile.Volatile` has them.
        find_volatile: for a kind whose ``metadata_source`` names are declared by users: the function that takes such a
            name and returns the `Volatile`, or ``None``.
        detector: the `Detector` that recognises catalogues of the kind.
        robots_exempt: paths that may be requested whatever robots.txt says, as regular expressions.
        template: the file for ``scrapy genspider``, in the package of the generic spider.
    """

    name: str
    title: str
    spider: str
    address: str
    example: str
    takes_file: bool = False
    is_at_root: bool = True
    readers: Mapping[str, str] = field(default_factory=dict)
    find_reader: str | None = None
    triples: Mapping[str, str] = field(default_factory=dict)
    volatile: str | None = None
    find_volatile: str | None = None
    detector: str | None = None
    robots_exempt: tuple[str, ...] = ()
    template: str | None = None

    def misplaced(self, address: str) -> str:
        """Return why an address is hardly one of this kind, as a sentence; empty if it may be one.

        >>> registered()["csw"].misplaced("https://www.example.org/")
        'https://www.example.org/ is the root of a host. An address of this kind (CSW catalogue service) is like \
https://example.org/geonetwork/srv/eng/csw.'
        >>> registered()["csw"].misplaced("https://csw.example.org/"), registered()["ckan"].misplaced("https://a.org")
        ('', '')
        """
        parts = urlsplit(address)
        is_root = parts.path.strip("/") == "" and not parts.query
        if self.is_at_root or not is_root or self.name in (parts.hostname or ""):
            return ""
        return f"{address} is the root of a host. An address of this kind ({self.title}) is like {self.example}."


# Detection


@dataclass(frozen=True, slots=True)
class Finding:
    """A catalogue that was found.

    Args:
        kind: the name of its kind.
        address: where it is: the portal's root, the file, the page.
        reason: why it is taken for that, as a clause for messages.
        page: the page at the address, if rules are to be learned from it.
        arguments: what the spider needs to know besides the address.
        note: what else people should know, as one sentence: other doors of the same portal.
        is_led: whether a link or a sign of the software leads there from what the user typed. What is elsewhere on the
            host without that may be another catalogue, and is not taken without asking.
    """

    kind: str
    address: str
    reason: str
    page: HtmlResponse | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    is_led: bool = False


class Probe(Protocol):
    """What a `Detector` may use while it looks for a catalogue (`crawlers.operate.sources.detect.Detection`)."""

    url: str
    """The address that the user typed."""
    first: Answer
    """The answer to it."""
    given: Mapping[str, str]
    """The spider's arguments that the user gave."""

    @property
    def is_settled(self) -> bool:
        """Whether a stronger kind was found, or may be there: then request nothing, and take only what is certain."""

    @property
    def is_unreachable(self) -> bool:
        """Whether the host does not answer: then request nothing more."""

    def is_named(self, kind: str) -> bool:
        """Return whether the user says that the catalogue is of this kind."""

    def is_inconclusive(self, address: str) -> bool:
        """Return whether the answer leaves open what is there: the host is busy, or the API refuses."""

    def ask(self, address: str) -> Asking[Answer]:
        """Return the answer of an address; an `AnswerError` once enough requests were made."""

    def look(self, address: str) -> Asking[Answer]:
        """Return the answer of an address, like `ask`, and tell people what it is."""

    def say(self, address: str, text: str) -> None:
        """Tell people what an address gave."""

    def leave_open(self, sentence: str) -> None:
        """Say why the user has to choose among several catalogues: then nothing weaker is looked for."""


class Detector:
    """How `scrapy sources add` recognises a kind; a subclass overrides what differs.

    Attributes:
        kind: the kind's name.
        is_fallback: whether the kind takes nearly any page, so that it is asked last.
        requests: how many requests are kept for this kind when earlier kinds could use up all of them.
    """

    kind: ClassVar[str]
    is_fallback: ClassVar[bool] = False
    requests: ClassVar[int] = 0

    def recognise(self, response: Response) -> str | None:
        """Return what an answer is if it is this kind's, for messages: "DCAT in Turtle"."""
        return None

    def find(self, probe: Probe) -> Asking[list[Finding]]:
        """Return the catalogues that are found from what the user typed: by default at that very address."""
        yield from ()
        reason = None if isinstance(probe.first, AnswerError) else self.recognise(probe.first)
        if reason is None or (self.is_fallback and probe.is_settled):
            return []
        return [Finding(self.kind, probe.url, f"it is {reason}")]

    def refusal(self, response: Response) -> str | None:
        """Return why a catalogue may be there although this answer does not show it: "CKAN's API refuses"."""
        return None

    def narrowed(self, url: str) -> dict[str, str]:
        """Return the spider arguments for the part of the catalogue that an address is about."""
        return {}

    def is_same(self, address: str, other: str) -> bool:
        """Return whether two addresses are the same catalogue's."""
        return address.rstrip("/") == other.rstrip("/")


class GuardedDetector(Detector):
    """A detector of whatever package: if its code fails, that is one sentence, and it recognises nothing from then on.

    Attributes:
        failure: the sentence; empty as long as its code does not fail.
    """

    def __init__(self, detector: Any) -> None:
        self.detector = detector
        self.kind, self.failure = detector.kind, ""  # type: ignore[misc]  # each has its detector's own
        self.is_fallback, self.requests = detector.is_fallback, detector.requests  # type: ignore[misc]

    def recognise(self, response: Response) -> str | None:
        return self._call("recognise", None, response)

    def find(self, probe: Probe) -> Asking[list[Finding]]:
        try:
            return (yield from _findings(self.detector.find(probe)))
        except (Exception, SystemExit) as error:  # noqa: BLE001 -- another package's code may raise anything
            self._fail(error)
            return []

    def refusal(self, response: Response) -> str | None:
        return self._call("refusal", None, response)

    def narrowed(self, url: str) -> dict[str, str]:
        return self._call("narrowed", {}, url)

    def is_same(self, address: str, other: str) -> bool:
        return self._call("is_same", False, address, other)

    def _call(self, method: str, default: T, *given: Any) -> T:
        if self.failure:
            return default
        try:
            return getattr(self.detector, method)(*given)  # type: ignore[no-any-return]
        except (Exception, SystemExit) as error:  # noqa: BLE001 -- as above
            self._fail(error)
            return default

    def _fail(self, error: BaseException) -> None:
        """
        Raises:
            CrawlersError: the mistake is the user's, not the detector's.
        """
        if isinstance(error, CrawlersError) and not isinstance(error, AnswerError):
            raise error
        says = " ".join(str(error).split()).rstrip(".")
        self.failure = f"Catalogues of kind {self.kind} can't be recognised: {type(error).__name__}: {says}."


def _findings(asking: Any) -> Asking[list[Finding]]:
    if not isinstance(asking, Generator):
        raise TypeError("find() is not a generator")
    found = yield from asking
    if not (isinstance(found, list) and all(isinstance(one, Finding) for one in found)):
        raise TypeError(f"find() returns {found!r:.100}, not a list of findings")
    return found


@cache
def detector(name: str) -> GuardedDetector | None:
    """Return the detector of a kind; ``None`` if the kind is unknown, has none, or it can't be imported."""
    kind = registered().get(name)
    if kind is None or kind.detector is None:
        return None
    where = f"Catalogues of kind {name} are not recognised"
    found = loaded(kind.detector, where)
    return _attempt(lambda: GuardedDetector(found()), where) if found else None


# The registry


class NoReaderError(ValueError):
    """Nothing here reads the documents of a ``metadata_source``: they are of another version, or of a missing kind."""


@cache
def registered() -> dict[str, Kind]:
    """Return all kinds by name: the project's own, then those of other packages.

    A broken kind of another package, or one whose name is taken, is left out with a warning.
    """
    found: dict[str, Kind] = {}
    own = (import_module(name).KIND for name in import_module("crawlers.kinds").KINDS)
    for kind in (*own, *_others()):
        other = found.setdefault(kind.name, kind)
        if other is not kind:
            logger.warning(
                "Two kinds of catalogue are named %r: that of %s is used, that of %s is not. Rename one of them.",
                *(kind.name, other.spider.partition(":")[0], kind.spider.partition(":")[0]),
            )
    return found


def _others() -> Iterator[Kind]:
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        where = f"The kind of catalogue {entry.name!r} ({entry.value}) is left out"
        kind = loaded(entry.value, where)
        if isinstance(kind, Kind):
            yield from [kind] if _has_valid_patterns(kind, where) else []
        elif kind is not None:
            logger.warning("%s: it is a %s, not a crawlers.kind.Kind.", where, type(kind).__name__)


def _has_valid_patterns(kind: Kind, where: str) -> bool:
    """Return whether the robots exemptions are regular expressions, none of them empty; warn if not."""
    try:
        is_valid = all(pattern and re.compile(pattern) for pattern in kind.robots_exempt)
    except re.error:
        is_valid = False
    if not is_valid:
        logger.warning("%s: robots_exempt has a text that is not a regular expression.", where)
    return is_valid


def enabled(patterns: list[str]) -> dict[str, Kind]:
    """Return the kinds whose names match one of the patterns of KINDS_ENABLED.

    >>> list(enabled(["c*"]))
    ['ckan', 'csw']
    """
    found = registered().items()
    return {name: kind for name, kind in found if any(fnmatchcase(name, pattern) for pattern in patterns)}


def load(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


@cache
def loaded(path: str, consequence: str) -> Any:
    """Return the object that ``module:object`` names; warn and return ``None`` if that fails."""
    return _attempt(partial(load, path), consequence)


def _attempt(call: Callable[[], Any], consequence: str) -> Any:
    """Return what a call to another package's code returns; warn and return ``None`` if it fails."""
    try:
        return call()
    except (Exception, SystemExit) as error:  # noqa: BLE001 -- another package's code may raise anything
        logger.warning("%s: %s: %s.", consequence, type(error).__name__, " ".join(str(error).split()).rstrip("."))
        return None


# Documents


def dataset(
    document: Any,
    *,
    source: str,
    id: str,  # noqa: A002 -- an item's field
    metadata_source: str | None,
    metadata_url: str | None,
    retrieved: str | None,
) -> Dataset:
    """Return the item that a document on disk was written from.

    Args:
        metadata_source: of its manifest line; names the reader.
        metadata_url: where it came from.
        retrieved: when the portal last had it.

    Raises:
        ValueError: it is neither a JSON object nor XML, or not that dataset's.
        NoReaderError: nothing here reads its ``metadata_source``.
        AnswerError: it is not what its ``metadata_source`` gives.
        SyntaxError: it is invalid JSON-LD.
    """
    if not isinstance(document, dict | bytes):
        raise ValueError("it is no JSON object")  # noqa: TRY004
    item = reader(metadata_source)(document, source, id, metadata_url or "")
    item.id = id
    for resource in item.resources:
        resource.dataset_id = id
    item.metadata_source, item.metadata_url, item.retrieved = metadata_source, metadata_url, retrieved
    return item


def triples(document: Any, metadata_source: str | None, metadata_url: str | None) -> tuple[Graph, str] | None:
    """Return what a document on disk says in RDF, and the dataset's name there; ``None`` for others.

    Args:
        metadata_source, metadata_url: of its manifest line.

    Raises:
        ValueError, AnswerError, SyntaxError: as `dataset`.
    """
    read = _triples_reader(metadata_source)
    return read(document, metadata_url or "") if read and document else None


@cache
def _triples_reader(metadata_source: str | None) -> Callable[[Any, str], tuple[Graph, str] | None] | None:
    for kind in registered().values():
        if path := kind.triples.get(str(metadata_source)):
            return loaded(path, f"The RDF of {metadata_source} can't be read")  # type: ignore[no-any-return]
    return None


@cache
def reader(metadata_source: str | None) -> Reader:
    """Return the function that reads the documents of a ``metadata_source``.

    Raises:
        NoReaderError: there is none, or it can't be imported.
    """
    where = f"Documents of {metadata_source} can't be read"
    for kind in registered().values():
        if metadata_source in kind.readers and (found := loaded(kind.readers[str(metadata_source)], where)):
            return found  # type: ignore[no-any-return]
    for kind in registered().values():
        finder = loaded(kind.find_reader, where) if kind.find_reader else None
        if finder and (found := finder(metadata_source)):
            return found  # type: ignore[no-any-return]
    raise NoReaderError(f"nothing here reads what {metadata_source or None} gives")


@cache
def volatile(metadata_source: str | None) -> Volatile:
    """Return what moves in the documents of a ``metadata_source`` although nobody edits them."""
    from crawlers.records.volatile import Volatile  # noqa: PLC0415 -- few commands compare documents

    where = f"Counters in documents of {metadata_source} count as changes"
    for kind in registered().values():
        if found := (_attempt(partial(_volatile, kind), where) or {}).get(str(metadata_source)):
            return found  # type: ignore[no-any-return]
        finder = loaded(kind.find_volatile, where) if kind.find_volatile else None
        if finder and (declared := finder(metadata_source)):
            return declared  # type: ignore[no-any-return]
    return Volatile()


def _volatile(kind: Kind) -> dict[str, Volatile]:
    from crawlers.records.tables import toml_table  # noqa: PLC0415
    from crawlers.records.volatile import Volatile  # noqa: PLC0415

    if kind.volatile is None:
        return {}
    tables = toml_table(kind.spider.rpartition(".")[0], kind.volatile)["documents"]
    return {name: Volatile.named(one.get("counters", ()), one.get("sets", ())) for one in tables for name in one["of"]}
