"""``scrapy users``: who may log in to the dashboard, in users.toml."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from crawlers.operate.strict_command import ProjectCommand, Verb

_IN = "crawlers.operate.dashboard.users"


class Command(ProjectCommand):
    reads_output = False

    verbs: Mapping[str, Verb] = {
        "add": Verb(f"{_IN}:add", ("role", "no_password"), 1, 1),
        "list": Verb(f"{_IN}:print_list", ("json",), 0, 0),
        "remove": Verb(f"{_IN}:remove", (), 1, 1),
    }

    takes = "[list [--json]] | add NAME [--role viewer|operator|admin] [--no-password] | remove NAME"
    summary = "List, add and remove those who may log in to the dashboard"
    description = (
        "Without arguments: list the users of users.toml, which is beside sources.toml. add asks for a password on "
        "the terminal, or reads it from standard input; users.toml has its hash. A viewer reads, an operator "
        "harvests, stops, reviews and edits sources, an admin does all. Exit code: 0 done, 1 not done."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--json", action="store_true", help="list: print JSON")
        parser.add_argument("--role", default="viewer", metavar="ROLE", help="add: viewer (default), operator or admin")
        parser.add_argument("--no-password", action="store_true", help="add: one whom only a trusted proxy names")

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawlers.operate.dashboard.users import Call

        verb, names = self.verb(args or ["list"], opts)
        self.exitcode = verb.function(Call(self, names, opts))
