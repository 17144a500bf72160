"""An API that no declaration of the project knows: the example of docs/api.md."""

from __future__ import annotations

import json
from typing import Any

from tests.site import Answer, Asked, Site

TOTAL = 25


def record(number: int) -> dict[str, Any]:
    return {
        "nr": number,
        "names": {"de": f"Pegel {number}", "en": f"Gauge {number}" if number % 5 else ""},
        "about": f"<p>Water levels of gauge <b>{number}</b>, every 15 minutes.</p>",
        "changed": 1_735_689_600 + number * 86_400,
        "office": {"title": "River Office", "mail": "mailto:rivers@example.org"},
        "words": "water, level, Water",
        "area": [9.5, 53.4, 10.2, 53.7],
        "terms": "CC BY 4.0",
        "files": [{"path": f"/files/{number}.csv", "bytes": 1_000 + number}],
    }


def answer(asked: Asked) -> Answer:
    if not asked.path.startswith("/v1/gauges"):
        return Answer(b"", 404)
    start = int(asked.parameters.get("from", 0))
    rows = min(int(asked.parameters.get("limit", 10)), 10)
    found = {"found": str(TOTAL), "list": [record(number) for number in range(start, min(start + rows, TOTAL))]}
    return Answer(json.dumps(found).encode())


def rivers(port: int = 0) -> Site:
    return Site(answer, port=port)
