"""Many small portals, each at a port of its own, until standard input ends.

python benchmarks/small_portals.py 300 50

prints the address of each; all have the same datasets.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # it is run as a script, from any folder

from tests.portal.actions import Portal
from tests.portal.catalogue import Catalogue
from tests.portal.control import Log
from tests.portal.faults import Faults
from tests.portal.server import Server, Site

SELDOM = 3600.0  # seconds between two looks at whether a portal is to end: it ends with the process


def main(portals: int, datasets: int) -> None:
    catalogue = Catalogue()
    catalogue.grow(datasets)
    site = Site(Portal(catalogue, Faults(catalogue), rows_max=1000), Log(kept=False))
    for _ in range(portals):
        server = Server(0, site)
        threading.Thread(target=server.serve_forever, args=(SELDOM,), daemon=True).start()
        print(server.address, flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
