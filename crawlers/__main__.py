"""``catalogue-crawlers``: Scrapy's command line in a folder of catalogues, or anywhere."""

from __future__ import annotations

import io
import os
import sys
from contextlib import redirect_stdout
from pathlib import Path

from scrapy.cmdline import execute
from scrapy.utils.conf import closest_scrapy_cfg

from crawlers.exceptions import COMMAND, with_command


def main() -> None:
    """Run a command with the settings of the folder that is around, else with this package's.

    Below that folder, output and sources.toml are still the folder's.
    """
    configuration = closest_scrapy_cfg()
    if not configuration:
        os.environ.setdefault("SCRAPY_SETTINGS_MODULE", "crawlers.settings")
    elif (folder := Path(configuration).parent) != Path.cwd():
        os.environ.setdefault("CRAWLERS_HOME", str(folder))
    os.environ[COMMAND] = "catalogue-crawlers"
    if sys.argv[1:2] == ["--version"]:
        sys.argv[1] = "version"
    if not all(word.startswith("-") for word in sys.argv[1:]):
        execute()
        return
    listed = io.StringIO()  # Scrapy lists the commands
    try:
        with redirect_stdout(listed):
            execute()
    finally:
        sys.stdout.write(with_command(listed.getvalue()))


if __name__ == "__main__":
    main()
