"""Each private name of Scrapy, Twisted and scrapy-playwright used here is there and means what it meant."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from importlib import import_module
from pkgutil import walk_packages
from types import SimpleNamespace

from scrapy.core.downloader import Downloader, Slot
from scrapy.core.downloader.handlers import http11
from scrapy.core.engine import ExecutionEngine, _Slot
from twisted.internet.defer import Deferred
from twisted.web import _newclient, client

from crawlers.components import scrapy_internals
from tests.conftest import ROOT

FOREIGN = ("scrapy.", "twisted.", "scrapy_playwright.")
INHERITED = [(path, name) for path, names in scrapy_internals.INHERITED.items() for name in names.split()]


def source(owner: type) -> str:
    return inspect.getsource(owner)


def defines(owner: type, name: str) -> bool:
    """Whether a class has a member, or gives one to its objects."""
    return name in vars(owner) or re.search(rf"\b(?:self|cls)\.{name}\b", source(owner)) is not None


def test_each_inherited_name_is_there():
    gone = []
    for path, name in INHERITED:
        module, _, owner = path.partition(":")
        if not defines(getattr(import_module(module), owner), name):
            gone.append(f"{path}.{name}")
    assert gone == []


def test_the_engine_has_a_slot_that_knows_whether_it_closes():
    assert "self._slot: _Slot | None = None" in source(ExecutionEngine)
    assert "self.closing: Deferred[None] | None = None" in source(_Slot)
    engine = SimpleNamespace(_slot=None)
    crawler = SimpleNamespace(engine=engine)
    assert not scrapy_internals.is_closing(SimpleNamespace(engine=None))
    assert not scrapy_internals.is_closing(crawler)
    engine._slot = SimpleNamespace(closing=None)
    assert not scrapy_internals.is_closing(crawler)
    engine._slot.closing = Deferred()
    assert scrapy_internals.is_closing(crawler)


def test_the_engine_has_a_slot_that_knows_the_requests_in_progress():
    assert "self.inprogress: set[Request] = set()" in source(_Slot)
    slot = SimpleNamespace(inprogress={1})
    assert scrapy_internals.requests_in_progress(SimpleNamespace(engine=SimpleNamespace(_slot=slot))) == {1}


def test_the_downloader_processes_the_queue_of_a_slot():
    assert list(inspect.signature(Downloader._process_queue).parameters) == ["self", "slot"]
    assert {"latercall", "lastseen", "queue", "delay", "jitter"} <= set(dir(Slot(1, 0.0, 0.0)))


def test_the_pool_makes_protocols_with_its_factory():
    assert client.HTTPConnectionPool._factory is client._HTTP11ClientFactory
    assert "self._factory(" in source(client.HTTPConnectionPool)
    assert "self._pool._factory = _LenientHTTP11ClientFactory" in source(http11.HTTP11DownloadHandler)
    pool = SimpleNamespace(_factory=None)
    scrapy_internals.set_protocol(pool, scrapy_internals.LenientFactory)
    assert pool._factory is scrapy_internals.LenientFactory


def test_an_answer_has_a_transport_whose_connection_can_be_aborted():
    assert "_transport" in inspect.signature(_newclient.Response.__init__).parameters
    assert "self._producer" in source(_newclient.TransportProxyProducer)
    aborted = []
    producer = SimpleNamespace(abortConnection=lambda: aborted.append(1))
    transport = scrapy_internals.transport(SimpleNamespace(_transport=SimpleNamespace(_producer=producer)))
    scrapy_internals.abort(transport)
    scrapy_internals.abort(SimpleNamespace(_producer=None))
    assert aborted == [1]


def test_a_reader_has_a_buffer_and_says_when_it_has_finished():
    reader = http11._ResponseReader(
        finished=Deferred(),
        txresponse=None,
        request=None,
        maxsize=0,
        warnsize=0,
        fail_on_dataloss=False,
        crawler=None,
        tls_verbose_logging=False,
    )
    assert isinstance(scrapy_internals.finished(reader), Deferred)
    assert hasattr(reader, "_bodybuf")
    scrapy_internals.set_buffer(reader, buffer := object())
    assert reader._bodybuf is buffer


def test_the_parser_has_states_and_a_limit_of_lines():
    assert (scrapy_internals.BODY, scrapy_internals.DONE) == ("BODY", "DONE")
    assert hasattr(_newclient.HTTPParser, "lineLengthExceeded")


def test_a_protocol_takes_the_class_of_another_parser_which_sees_the_length():
    assert "self._parser.__class__ = _LenientHTTPClientParser" in source(http11._LenientHTTP11ClientProtocol)
    assert "_contentLength(self.connHeaders)" in source(_newclient.HTTPClientParser.allHeadersReceived)
    assert 'connHeaders.getRawHeaders(b"Connection"' in source(_newclient.HTTP11ClientProtocol)
    assert issubclass(scrapy_internals.LenientParser, _newclient.HTTPClientParser)


def test_each_name_is_used():
    files = [path for path in (ROOT / "crawlers").rglob("*.py") if path.name != "scrapy_internals.py"]
    words = {word for path in files for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    assert set(scrapy_internals.__all__) - words == set()


# Nothing private stands elsewhere


def test_private_names_are_imported_and_read_in_one_file():
    found = []
    for path in (ROOT / "crawlers").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith(tuple(name[:-1] for name in FOREIGN)):
                names = [str(node.module), *(alias.name for alias in node.names)]
                if any(part.startswith("_") for name in names for part in name.split(".")):
                    found.append(path.name)
        found += [path.name] * text.count("noqa: SLF001")
    assert set(found) == {"scrapy_internals.py"}


def test_all_inherited_private_names_are_listed():
    found = {(f"{owner.__module__}:{owner.__qualname__}", name) for owner, name in _inherited()}
    assert found == set(INHERITED)


def _inherited():
    """Yield the private members that classes of this project use of classes that are not its own, and those classes."""
    import crawlers  # noqa: PLC0415

    for module in walk_packages(crawlers.__path__, "crawlers."):
        for value in vars(import_module(module.name)).values():
            if inspect.isclass(value) and value.__module__ == module.name:
                foreign = [base for base in value.__mro__ if base.__module__.startswith(FOREIGN)]
                for name in _private(value) if foreign else ():
                    yield from [(base, name) for base in reversed(foreign) if defines(base, name)][:1]


def _private(owner: type) -> set[str]:
    nodes = list(ast.walk(ast.parse(textwrap.dedent(source(owner)))))
    names = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    names |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    return {name for name in names if re.match(r"_[^_]", name)}
