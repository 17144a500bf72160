"""``catalogue-crawlers``: Scrapy's command line in a folder of catalogues, or anywhere."""

from __future__ import annotations

import os
from pathlib import Path

from scrapy.cmdline import execute
from scrapy.utils.conf import closest_scrapy_cfg


def main() -> None:
    """Run a command with the settings of the folder that is around, else with this package's.

    Below that folder, output and sources.toml are still the folder's.
    """
    configuration = closest_scrapy_cfg()
    if not configuration:
        os.environ.setdefault("SCRAPY_SETTINGS_MODULE", "crawlers.settings")
    elif (folder := Path(configuration).parent) != Path.cwd():
        os.environ.setdefault("CRAWLERS_HOME", str(folder))
    execute()


if __name__ == "__main__":
    main()
