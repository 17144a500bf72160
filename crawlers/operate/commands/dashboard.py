"""``scrapy dashboard``: the live report with search, on the loopback interface."""

from __future__ import annotations

import argparse
import os
import sys
import threading
import webbrowser
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from crawlers.exceptions import CrawlersError
from crawlers.operate.console import print_error
from crawlers.operate.mirrored import bring_up, follow
from crawlers.operate.strict_command import StrictCommand

if TYPE_CHECKING:
    from crawlers.operate.dashboard.login import Project
    from crawlers.operate.dashboard.operators import Operators

PORT = 8710
NOT_STARTED = 1


class Command(StrictCommand):
    """Exit code: 0 stopped by Ctrl-C or SIGTERM, 1 not started."""

    requires_project = True
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    takes = "[--port PORT] [--open]"
    summary = "Show the datasets, runs and errors in a browser, on this machine only"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--port", type=int, default=PORT, help=f"default: {PORT}; 0: any free port")
        parser.add_argument("--open", action="store_true", help="open it in a browser")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawlers.archive.store import open_blobs
        from crawlers.operate import dashboard
        from crawlers.operate.dashboard.login import Project
        from crawlers.operate.dashboard.server import Server
        from crawlers.operate.sources.file import SourcesFile

        if args:
            print(f"scrapy dashboard takes {self.syntax()}, not {args[0]!r}: it shows all sources.", file=sys.stderr)
            self.exitcode = NOT_STARTED
            return
        settings: Any = self.settings
        output = Path(settings["OUTPUT_DIR"])
        folders = {"jobs": Path(settings["JOBS_DIR"]), "logs": Path(settings["LOGS_DIR"])}
        listed = Path(settings["SOURCES_FILE"])
        blobs = partial(open_blobs, settings)
        try:
            bring_up(settings, creates=True)
            allowed, reviews = settings.getlist("ALLOWED_PRIVATE_HOSTS"), settings.getbool("REVIEW")
            places = (SourcesFile(listed), output, folders["jobs"], folders["logs"])
            done = Project(*places, opts.set, settings["QUEUE"], allowed, reviews)
            operators = self._operators(done)
            app = dashboard.app(
                output, **folders, blobs=blobs, listed=listed, operators=operators, url=settings["DASHBOARD_URL"] or ""
            )
            server = Server(app, opts.port)
        except CrawlersError as error:
            print(error, file=sys.stderr)
            self.exitcode = NOT_STARTED
            return
        server.run(partial(_begin, settings, server.url, browser=opts.open))

    def _operators(self, project: Project) -> Operators:
        """Return who may change something; the first user may be added later."""
        from crawlers.operate.dashboard.login import Login, Proxies
        from crawlers.operate.dashboard.operators import Operators
        from crawlers.operate.dashboard.users import FILE, Users, take_password

        settings = self.settings
        password = take_password(settings["DASHBOARD_PASSWORD_ENV"], os.environ)
        proxies = Proxies(settings.getlist("TRUSTED_PROXIES"), settings["DASHBOARD_USER_HEADER"])
        users = Users(project.file.path.parent / FILE, password)
        users.read()  # a file that can't be read is told now
        return Operators(Login(users, proxies), project)


def _begin(settings: Any, url: str, *, browser: bool) -> None:
    output = Path(settings["OUTPUT_DIR"])
    _catch_up(output)
    follow(settings, lambda changed: _catch_up(output, changed))
    print(f"{url} shows the catalogues until Ctrl-C.", flush=True)
    if browser:  # a text browser returns only when the user quits it
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


def _catch_up(output: Path, named: list[str] | None = None) -> None:
    """Update the index once; later the crawls do, or, of other nodes' sources, what follows the store."""
    from crawlers.store.index import catch_up

    try:
        catch_up(output, print_error, named)
    except CrawlersError as error:
        print_error(f"{error} The pages may be outdated.")
