"""Commands of this project in forked children of a process that has already imported it.

Most of what a small crawl costs is Python importing Scrapy. `Popen` and `run` are those of `subprocess`; a plain
command ``[sys.executable, "-W", "error", "-m", "scrapy", ...]`` runs in a forked child. It has the arguments,
environment, folder and streams of a new process, runs ``-m scrapy`` from its first line to its exit handlers, and is a
child of the test's own process. The crawls that it starts are forked too, and are its own children; so is a harvest's
own fork server, which then forks as it does for users. All other commands are new processes. A test that is about the
process itself (its start, its memory, what it imports) uses `subprocess`.
"""

from __future__ import annotations

import atexit
import codecs
import ctypes
import gc
import io
import json
import os
import resource
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from functools import cache, partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from pkgutil import walk_packages
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parent.parent
STRICT = (["-W", "error"], ["-Werror"])
STARTING = {"harvest", "sources"}  # commands that start crawls
SERVER = str(ROOT / "tests" / "portal" / "server.py")
FORK_SERVER = str(ROOT / "crawlers" / "operate" / "harvest" / "fork_server.py")  # has less to import here
BEFORE_ANY_CODE = ("PYTHON", "LANG", "LC_", "LD_", "MALLOC_")  # variables that count only when a process starts
OWN = ("scrapy.cfg", "crawlers", "pipelines", "spiders")  # a folder with one of these may be another project
PLAIN = {"close_fds", "errors", "pass_fds", "start_new_session", "stderr", "stdin", "stdout", "text"}
"""What a forked command may be started with."""
LATE = (  # what is imported when a crawl begins, or a page needs it
    "encodings.charmap encodings.idna encodings.utf_8_sig markdownify nh3 protego "
    "scrapy.core.downloader.contextfactory scrapy.core.engine scrapy.core.scraper scrapy.crawler scrapy.pqueues "
    "scrapy.robotstxt scrapy.statscollectors scrapy.utils.engine scrapy.utils.ossignal text_unidecode "
    "twisted.internet.asyncioreactor twisted.protocols.tls twisted.web.client"
).split()
COMPONENTS = ("DOWNLOADER_MIDDLEWARES_BASE", "EXTENSIONS_BASE", "SPIDER_MIDDLEWARES_BASE")
DATASETS = 305  # that most of the tests' portals have
LONGEST = 1 << 17  # bytes of a request
FILES = 16  # that come with a request, at most
SET_CHILD_SUBREAPER = 36  # of prctl(2)


# In the test's process


def plain(environment: Any) -> dict[str, str]:
    """Return the environment without what a forked command may have otherwise."""
    kept = {name: value for name, value in environment.items() if name.startswith(BEFORE_ANY_CODE)}
    kept.pop("PYTHONIOENCODING", None)  # a forked command has it
    if kept.get("PYTHONPATH") == str(ROOT):
        del kept["PYTHONPATH"]
    return kept


ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


class Popen(subprocess.Popen):  # type: ignore[type-arg]
    """As `subprocess.Popen`, for keywords alone; commands of this project are forked.

    Args:
        limits: what the process may take, by the number of a limit of `resource`.
        closed: the streams that it does not have, as after ``>&-``; of a forked command.
        forks: whether what a forked command starts is forked, too; those that start crawls do so anyway.
    """

    def __init__(
        self,
        args: Any,
        *,
        limits: dict[int, int] | None = None,
        closed: tuple[int, ...] = (),
        forks: bool = False,
        **keywords: Any,
    ) -> None:
        self._request = request(args, **keywords)
        if self._request is not None:
            forks = forks or bool({*self._request["code"][2:3]} & STARTING)
            self._request |= {"limits": list((limits or {}).items()), "closed": closed, "forks": forks}
        elif closed:
            raise ValueError("a new process has all streams: ask a shell for one that has not")
        elif limits:
            keywords["preexec_fn"] = partial(limit, limits.items())
        super().__init__(args, **keywords)

    def _execute_child(self, *given: Any) -> None:
        if self._request is None:
            super()._execute_child(*given)
            return
        pipes = given[10:16]
        wanted = (pipes[0], pipes[3], pipes[5])
        streams = [own if one == -1 else one for own, one in enumerate(wanted)]
        self.pid = Zygote.here().fork(self._request, [*streams, *given[4]])
        self._child_created = True
        self._close_pipe_fds(*pipes)


def run(args: Any, **keywords: Any) -> subprocess.CompletedProcess[Any]:
    """As `subprocess.run`; commands of this project are forked."""
    checked, timeout = keywords.pop("check"), keywords.pop("timeout", None)
    if keywords.pop("capture_output", False):
        keywords |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Popen(args, **keywords) as process:
        try:
            streams = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            raise
    ran = subprocess.CompletedProcess(args, process.returncode, *streams)
    if checked:
        ran.check_returncode()
    return ran


def request(args: Any, cwd: Any = None, env: Any = None, **keywords: Any) -> dict[str, Any] | None:
    """Return what the zygote has to do; ``None`` if the command needs a new process."""
    unusual = {name for name, value in keywords.items() if value not in (None, False)} - PLAIN
    if isinstance(args, str) or unusual or sys.platform != "linux":
        return None
    words, folder = [*map(os.fspath, args)], Path(cwd or Path.cwd()).absolute()
    environment = dict(os.environ if env is None else env)
    flags = next((flags for flags in STRICT if words[1 : 1 + len(flags)] == flags), [])
    code = words[1 + len(flags) :]
    is_ours = words[0] == sys.executable and (code[:2] == ["-m", "scrapy"] or code[:1] in ([SERVER], [FORK_SERVER]))
    has_root = folder == ROOT or environment.get("PYTHONPATH") == str(ROOT)
    if not is_ours or not has_root or plain(environment) != plain(ENVIRONMENT):
        return None
    if folder != ROOT and any((folder / name).exists() for name in OWN):
        return None
    session = keywords.get("start_new_session", False)
    return {"strict": bool(flags), "code": code, "folder": str(folder), "environment": environment, "session": session}


def limit(limits: Iterable[tuple[int, int]]) -> None:
    for which, most in limits:
        resource.setrlimit(which, (most, most))


class Zygote:
    """The process that forks.

    Args:
        orders: where it is told to.
        process: itself, where it is not a fork of this process.
    """

    running: ClassVar[Zygote | None] = None

    def __init__(self, orders: socket.socket, process: subprocess.Popen[bytes] | None = None) -> None:
        self.lock = threading.Lock()
        self.orders = orders
        self.process = process

    @classmethod
    def here(cls) -> Zygote:
        """Return that of this process; there is one."""
        cls.running = cls.running or cls.started()
        return cls.running

    @classmethod
    def started(cls) -> Zygote:
        orders, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            process = subprocess.Popen(
                [sys.executable, *STRICT[0], __file__, str(other.fileno())],
                env=ENVIRONMENT,
                cwd=ROOT,
                pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        return cls(orders, process)

    def fork(self, what: dict[str, Any], files: list[int]) -> int:
        """Start a command; return its process, a child of this one.

        Args:
            files: its streams, then what else it has open.
        """
        with self.lock:
            adopt(True)
            try:
                socket.send_fds(self.orders, [json.dumps(what).encode()], files)
                return sum(int(self.orders.recv(LONGEST)) for _ in ("it runs", "its parent has ended"))
            finally:
                adopt(False)


def adopt(orphans: bool) -> None:
    """Say whether this process becomes the parent of a descendant's orphans."""
    if ctypes.CDLL(None, use_errno=True).prctl(SET_CHILD_SUBREAPER, int(orphans), 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


# In the zygote


def prepare() -> None:
    """Import what commands import; start no thread, no reactor and no event loop."""
    sys.path[0] = str(ROOT)
    for name in [*LATE, "scrapy.cmdline", "scrapy.settings.default_settings", "tests.portal.server"]:
        import_module(name)
    for name in COMPONENTS:
        for component in getattr(sys.modules["scrapy.settings.default_settings"], name):
            import_module(component.rpartition(".")[0])
    for name in ("scrapy.commands", "crawlers", "pipelines", "spiders"):
        for module in walk_packages(import_module(name).__path__, f"{name}."):
            import_module(module.name)
    cmdline = sys.modules["scrapy.cmdline"]
    cmdline.entry_points = cache(cmdline.entry_points)  # it reads the metadata of all that is installed
    cmdline.entry_points(group="scrapy.commands")
    sys.modules["tests.portal.catalogue"].Catalogue().grow(DATASETS)
    sys.modules["crawlers.records.licenses"].license("cc-by")  # it reads SPDX's list once
    del sys.modules["crawlers.settings"]  # it reads the arguments and the environment
    sys.path[:] = [folder for folder in sys.path if folder != str(ROOT)]
    gc.collect()
    gc.freeze()


def serve(orders: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Fork for each request; return, in the child, its request and its files."""
    while True:
        content, files, *_ = socket.recv_fds(orders, LONGEST, FILES)
        if not content:
            os._exit(0)
        if (between := os.fork()) == 0:
            if os.fork():
                os._exit(0)  # now the test's process is the child's parent
            what = json.loads(content)
            if what["session"]:
                os.setsid()
            orders.send(str(os.getpid()).encode())
            return what, files
        os.waitpid(between, 0)
        orders.send(b"0")
        for file in files:
            os.close(file)


def stream_like(own: Any, number: int) -> io.TextIOWrapper:
    """Return a standard stream as Python opens it."""
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "").partition(":")
    errors = errors or "strict" if encoding and number < 2 else own.errors
    buffering = -1 if hasattr(own.buffer, "raw") else 0
    binary = open(number, f"{own.mode}b", buffering=buffering, closefd=False)  # noqa: SIM115
    is_line = own.line_buffering or binary.isatty()
    encoding = codecs.lookup(encoding or own.encoding).name
    made = io.TextIOWrapper(binary, encoding, errors, "\n", is_line, own.write_through)
    made.mode = own.mode
    return made


def take(files: list[int]) -> None:
    """Have these files open, the streams first, and no other."""
    for number, stream in enumerate(files[:3]):
        os.dup2(stream, number)
    for below, above in pairwise((2, *sorted(files[3:]), os.sysconf("SC_OPEN_MAX"))):
        os.closerange(below + 1, above)


def fork_what_it_starts() -> None:
    """Leave a process like this one behind, which forks for it."""
    orders, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        orders.close()
        nothing = os.open(os.devnull, os.O_RDWR)
        take([nothing] * 3 + [other.fileno()])
        obey(other)
    other.close()
    Zygote.running = Zygote(orders)
    subprocess.Popen = Popen  # type: ignore[misc]


def become(what: dict[str, Any]) -> None:
    """Make this process what a new one would be."""
    os.environ.clear()
    os.environ.update(what["environment"])
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        new = None if number in what["closed"] else stream_like(getattr(sys, name), number)
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)
        if new is None:
            os.close(number)
    time.tzset()
    os.chdir(what["folder"])
    sys.path[:0] = [what["folder"]] * (what["code"][0] == "-m") + [str(ROOT)] * ("PYTHONPATH" in os.environ)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    limit(what["limits"])
    if not what["strict"]:
        sys.warnoptions.clear()
        warnings.filters.remove(("error", None, Warning, None, 0))


def execute(code: list[str]) -> None:
    if code[0] == "-m":
        sys.argv = code[1:]
        runpy.run_module("scrapy", run_name="__main__", alter_sys=True)
    else:
        sys.argv = code
        runpy.run_path(code[0], run_name="__main__")


def leave(code: int) -> None:
    """End as Python does, but for taking 1,500 modules apart, which costs a third of a small crawl."""
    threading._shutdown()
    atexit._run_exitfuncs()
    gc.collect()  # what was not closed says so
    try:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
    except (OSError, ValueError):  # Python has words for that
        return
    os._exit(code)


def obey(orders: socket.socket) -> None:
    """Fork for each order; in the child, be the command."""
    what, files = serve(orders)
    orders.detach()
    take(files)
    if what["forks"] and not what["limits"]:
        fork_what_it_starts()
    become(what)
    try:
        execute(what["code"])
    except SystemExit as ended:
        if isinstance(ended.code, int | None):
            leave(ended.code or 0)
        raise


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    orders = socket.socket(fileno=int(sys.argv[1]))
    prepare()
    obey(orders)


if __name__ == "__main__":
    main()
