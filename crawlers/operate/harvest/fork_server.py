"""The fork server: a process that has imported what crawls need, and forks a child for each crawl.

A harvest runs this file as a script, with a socket as its standard input and the names of further modules as words:
see `crawlers.operate.harvest.processes`.
Neither settings, spiders nor rules are imported here: each crawl reads them as they are then.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import socket
import sys
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType

from setproctitle import setproctitle, setthreadtitle

LONGEST = 1 << 17
"""Bytes of a request, at most."""
_DESCRIPTORS = 253  # that Linux passes at once, at most
_OURS = ("crawlers", "pipelines")
_ALLOCATOR = "_RJEM_MALLOC_CONF"  # the options of delta-rs's, which starts a thread when it is imported
_MODULES = (  # what Scrapy imports when a crawl begins, and what is not to be imported with its package
    *("encodings.charmap", "resource", "scrapy.cmdline", "scrapy.robotstxt", "scrapy.statscollectors"),
    *(f"scrapy.extensions.{name}" for name in ("closespider", "logcount", "memdebug", "memusage")),
    *("crawlers.archive.generic", "crawlers.ecosystem.ckan_extensions", "crawlers.ecosystem.ckan_sites"),
)
_PACKAGES = (
    *("scrapy.commands", "scrapy.downloadermiddlewares", "scrapy.spidermiddlewares", "crawlers.extensions"),
    *("crawlers.components.httpcache", "crawlers.kinds", "crawlers.operate.commands", "crawlers.operate.notify"),
    *(
        "crawlers.components.politeness",
        "crawlers.components.ledger",
        "crawlers.safety",
        "crawlers.components.spool",
        "crawlers.store.index",
    ),
    "pipelines",
)
_exit_codes: list[int] = []  # that of this process, once its crawl has ended


def python() -> list[str]:
    """Return the words that start Python as this process was started."""
    return [sys.executable, *(f"-W{option}" for option in sys.warnoptions)]


def main() -> None:
    """Fork a crawl for each request, until the harvest ends; in the child, be the crawl."""
    started = time.time_ns()
    atexit.register(_leave)  # before all others, so that it is called last
    _import()
    files = _files()
    stamps = _stamps(files)
    orders = socket.socket(fileno=0)
    while orders.recv(1, socket.MSG_PEEK):
        if stamps != _stamps(files) or started < max(stamps) < time.time_ns():
            _begin_again()
        content, descriptors, *_ = socket.recv_fds(orders, LONGEST, _DESCRIPTORS)
        if _fork():
            orders.detach()
            _crawl(json.loads(content), *descriptors[:2])
            return
        for descriptor in descriptors:
            os.close(descriptor)
    os._exit(0)


def _import() -> None:
    """Import what crawls need, as ``python -m scrapy`` finds it here; start no thread, no reactor and no event loop."""
    beside = str(Path(__file__).parent)
    sys.path[:] = [*([] if sys.flags.safe_path else [str(Path.cwd())]), *(path for path in sys.path if path != beside)]
    import_module("scrapy.utils.conf").init_env(os.environ.get("SCRAPY_PROJECT", "default"))
    is_given = _ALLOCATOR in os.environ
    os.environ.setdefault(_ALLOCATOR, "background_thread:false")
    for name in (*_MODULES, *_PACKAGES, *sys.argv[1:-1]):  # the last word is room for a crawl's title
        package = _imported(name)
        for below in walk_packages(getattr(package, "__path__", ()), f"{name}.", onerror=lambda _: None):
            _imported(below.name)
    if not is_given:  # crawls have the environment of their harvest
        del os.environ[_ALLOCATOR]
    with suppress(Exception):
        import_module("crawlers.kind").registered()
    gc.collect()
    gc.freeze()
    if len([*Path("/proc/self/task").iterdir()]) > 1:
        os._exit(1)  # a fork has no thread but its own, and what others have locked stays so


def _imported(name: str) -> ModuleType | None:
    """Return a module; ``None`` if it can't be imported: the crawl that needs it says what is wrong."""
    with suppress(Exception):
        return import_module(name)
    return None


def _files() -> list[str]:
    """Return what this process is made of: files of the project and of users' modules, and folders of packages."""
    installed = [folder for folder in sys.path if folder.endswith("-packages")]
    loaded = (file for module in sys.modules.values() if (file := getattr(module, "__file__", None)))
    others = {file for file in loaded if not file.startswith((*installed, str(Path(os.__file__).parent)))}
    folders = (Path(folder) for name in _OURS for folder in getattr(sys.modules.get(name), "__path__", ()))
    ours = {str(path) for folder in folders for path in folder.rglob("*") if path.suffix != ".pyc" and path.is_file()}
    return [*ours | others, *installed]


def _stamps(files: list[str]) -> list[int]:
    """Return when each file was last changed, in nanoseconds; 0 for one that has gone."""
    stamps = [0] * len(files)
    for number, path in enumerate(files):
        with suppress(OSError):
            stamps[number] = os.stat(path).st_mtime_ns  # noqa: PTH116 -- twice as fast
    return stamps


def _begin_again() -> None:
    """Become a new fork server, which finds the request where it is."""
    os.execv(sys.executable, [*python(), *sys.argv])  # noqa: S606 -- itself


def _fork() -> bool:
    """Fork a child of the harvest, in a session of its own; return whether this process is it."""
    between = os.fork()
    if between:
        os.waitpid(between, 0)
        return False
    between = os.getpid()
    if os.fork():
        os._exit(0)  # the harvest adopts the child
    os.setsid()
    while os.getppid() == between:
        os.sched_yield()
    return True


def _crawl(words: list[str], harvest: int, log: int) -> None:
    """Be ``python -m scrapy`` with these words, if the harvest still wants it.

    Args:
        harvest: the descriptor of a socket to the harvest, which gets the number of this process and answers.
        log: the descriptor of the file that has the output.
    """
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, stream in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(descriptor, stream)
    os.close(nothing)
    os.close(log)
    with socket.socket(fileno=harvest) as answers:
        with suppress(ConnectionError):
            answers.send(str(os.getpid()).encode())
        if not answers.recv(1):
            os._exit(0)
    setproctitle(" ".join([*python(), "-m", "scrapy", *words]))  # what `ps` shows
    setthreadtitle(Path(sys.executable).name)
    sys.argv = ["-m", *words]
    try:
        runpy.run_module("scrapy", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        if isinstance(ended.code, int | None):
            _exit_codes.append(ended.code or 0)
        raise


def _leave() -> None:
    """End as Python does, but for taking 1,500 modules apart, which costs a third of a small crawl."""
    if not _exit_codes:
        return
    try:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
    except (OSError, ValueError):  # Python has an exit code for that
        return
    os._exit(_exit_codes[0])


if __name__ == "__main__":
    main()
