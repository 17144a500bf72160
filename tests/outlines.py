"""Make crawlers/operate/dashboard/outlines.json, the outlines of the countries, from npm's world-atlas 2.0.2.

`npm pack world-atlas@2.0.2`, unpack it, then `python tests/outlines.py package/countries-110m.json`.
"""

from __future__ import annotations

import json
import sys
from itertools import accumulate
from pathlib import Path

WRITTEN = Path(__file__).parent.parent / "crawlers" / "operate" / "dashboard" / "outlines.json"


def outlines(atlas: dict[str, object]) -> list[list[int]]:
    """Return each line of TopoJSON in tenths of a degree: longitude, latitude, then the steps from point to point."""
    (across, up), (west, south) = atlas["transform"]["scale"], atlas["transform"]["translate"]
    found = []
    for arc in atlas["arcs"]:
        xs, ys = (list(accumulate(steps)) for steps in zip(*arc, strict=True))
        points = [(round(10 * (x * across + west)), round(10 * (y * up + south))) for x, y in zip(xs, ys, strict=True)]
        line = [*points[0]]
        for (x, y), (before_x, before_y) in zip(points[1:], points, strict=False):
            if abs(x - before_x) > 1800:  # round the back of the map
                found.append(line)
                line = [x, y]
            elif (x, y) != (before_x, before_y):
                line += [x - before_x, y - before_y]
        found.append(line)
    return [line for line in found if len(line) > 2]


if __name__ == "__main__":
    lines = outlines(json.loads(Path(sys.argv[1]).read_bytes()))
    WRITTEN.write_text("[\n" + ",\n".join(json.dumps(line, separators=(",", ":")) for line in lines) + "\n]\n")
