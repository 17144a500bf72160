"""``scrapy sources``: the catalogues that are harvested, in sources.toml."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from functools import partial

from scrapy.exceptions import UsageError

from crawlers.exceptions import StoreError
from crawlers.operate.strict_command import ProjectCommand, Verb

_IN = "crawlers.operate.sources"
_EDITED = ("schedule", "contact", "spargs")
_ADDED = ("known", "rules", "force", "review", "yes", "country", "kind", "preview", "json")
_READING = ("list", "show", "add", "rename", "attach", "purge")  # what is in OUTPUT_DIR


class Command(ProjectCommand):
    takes_valid_settings_only = False  # sources.toml's are checked when it is written
    requires_crawler_process = True
    reads_output = False  # most of its verbs do not

    misuse = staticmethod(partial(UsageError, print_help=False))
    verbs: Mapping[str, Verb] = {
        "list": Verb(f"{_IN}.listing:print_list", ("json",), 0, 0),
        "known": Verb(f"{_IN}.registry:print_known", ("json", "country", "kind"), 0, 1),
        "add": Verb(
            f"{_IN}.add:add",
            (*_EDITED, "known", "rules", "force", "review", "yes", "country", "kind", "preview", "json"),
            1,
            3,
        ),
        "validate": Verb(f"{_IN}.dry_run:validate", ("show",)),
        **dict.fromkeys(("enable", "disable"), Verb(f"{_IN}.file:set_state", (), 1)),
        **dict.fromkeys(("approve", "refuse"), Verb(f"{_IN}.file:set_state", ("why",), 1)),
        "accept-shrink": Verb(f"{_IN}.shrink:accept_shrink", ("yes",), 1, 1),
        "edit": Verb(f"{_IN}.file:edit_table", _EDITED, 1),
        "schedule": Verb(f"{_IN}.file:schedule", (), 2),
        "rename": Verb(f"{_IN}.folders:rename", (), 2, 2),
        "attach": Verb(f"{_IN}.attach:attach", (), 2, 2),
        "remove": Verb(f"{_IN}.file:remove", (), 1),
        "purge": Verb(f"{_IN}.folders:purge", ("yes",), 1, 1),
        "show": Verb(f"{_IN}.listing:show", ("json",), 1, 1),
    }

    takes = (
        "[--json] | show NAME [--json] | known [TEXT] | add NAME [SPIDER] URL | add NAME --known PORTAL | "
        "validate [NAME ...] [--show N] | enable|disable|approve|remove NAME ... | refuse NAME ... --why TEXT | "
        "accept-shrink NAME [--yes] | "
        "edit NAME KEY=VALUE ... [-a NAME=VALUE] [-s NAME=VALUE] | schedule NAME WHEN|none | "
        "rename OLD NEW | attach NAME ids.csv | purge NAME [--yes]"
    )
    summary = "List the sources of sources.toml; add, validate, approve, edit and remove them"
    description = (
        "Without arguments: list the sources with their last verdict and their next run. add finds out what an "
        "address is, and writes the table, with the settings of -s. known lists public portals of the registry, add "
        "--known takes the address and the kind from there, and add --preview writes nothing. validate crawls at most "
        "20 records of each source into a temporary folder, and shows what was found. accept-shrink shows what the "
        "last run refused to withdraw, and harvests the source with that list accepted, once. edit changes any key of "
        "a table, such as archive=true or exclude.tag=test; an empty value removes it. rename moves what the source "
        "has on disk, too; attach gives datasets on disk the ids that the source has now; purge deletes what a removed "
        "source left. Exit code: 0 done, 1 not done, 3 a dry run is neither complete nor partial."
    )

    def usage(self, args: list[str]) -> str:
        """Return what is wrong with the words: argparse prints what the verb takes."""
        named = args and args[0] in self.verbs
        return (
            f"this is not what {args[0]} takes."
            if named
            else self.unknown_verb(args) or f"there is no {args[0][:100]}."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--json", action="store_true", help="print the list as JSON")
        group = parser.add_argument_group(title="Known portals")
        group.add_argument("--country", metavar="XX", help="only those of a country, by its code: FR")
        group.add_argument("--kind", metavar="KIND", help="only those of a kind: ckan, opendatasoft, csw")
        group = parser.add_argument_group(title="Validating and reviewing")
        group.add_argument("--show", metavar="N", help="validate: print N whole records, too")
        group.add_argument("--why", metavar="TEXT", help="refuse, approve: the reason, which the table keeps")
        group = parser.add_argument_group(title="Adding and editing")
        group.add_argument("--known", metavar="PORTAL", help="a portal of the registry: its address and its kind")
        group.add_argument("--review", action="store_true", help="add the source as open: not harvested unless named")
        group.add_argument("--schedule", metavar="WHEN", help='"daily", "weekly sun 01:00-05:00", "15 3 * * *"')
        group.add_argument("--contact", metavar="TEXT", help="whom to ask at the catalogue; it is sent nowhere")
        group.add_argument("-a", dest="spargs", action="append", default=[], metavar="NAME=VALUE", help="an argument")
        group.add_argument(
            "--rules", metavar="FILE", help="file for learned rules; default: catalogues/NAME.toml beside sources.toml"
        )
        group.add_argument("--preview", action="store_true", help="add: show what would be added, and five records")
        group.add_argument("--force", action="store_true", help="write the table without checking the address")

        parser.add_argument("--yes", action="store_true", help="purge, add, accept-shrink: do it without asking")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Read the options; settings that go into a table are checked with the table."""
        self.takes_known_settings_only = not {"add", "edit"} & set(args[:1])
        super().process_options(args, opts)

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawlers.operate.mirrored import bring_up, owning
        from crawlers.operate.sources.file import Call
        from crawlers.operate.sources.folders import changed_folders, renamed

        words = args or ["list"]
        if words[0] in _READING:
            bring_up(self.settings, words[1:] if words[0] == "show" else (), creates=True)
        with owning(self.settings, changed_folders(self.settings, words)) as owners:
            verb, names = self.verb(words, opts)
            self.exitcode = verb.function(Call(self, words[0], names, opts))
            gone = [name for name in renamed(words) if name in owners]
            try:
                for name in owners.keys() - set(gone) if gone else ():
                    owners[name].store(is_end=True)  # before the old name is no more
                for name in gone:
                    owners[name].empty()
            except StoreError as error:
                old, new = words[1:3]
                advice = f"`scrapy harvest {new}` stores it, then `scrapy sources purge {old}` removes that"
                half = f"[{old}] is [{new}] here; the store has its old name still: {advice}."
                raise StoreError(f"{error} {half}") from None
