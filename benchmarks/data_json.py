"""What a data.json takes, to a loop that only writes the same files; and again, unchanged."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from benchmarks.crawls import bare_records, scratch
from benchmarks.dcat import crawl_into, peak, served
from benchmarks.dcat_catalogue import DISTRIBUTIONS, FILES, LICENCE, dataset, iri_of
from benchmarks.listing import alike, all_alike
from benchmarks.table import Row, against, compared

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

DATASETS = 10_000
TIMES_BARE = 2.0


def published(options: argparse.Namespace) -> Iterator[Row]:
    first, again, bare, same = [], [], [], 0
    with scratch(options.folder) as site_folder, served(site_folder) as site:
        schema = "https://project-open-data.cio.gov/v1.1/schema"
        content = {"conformsTo": schema, "dataset": [record(number) for number in range(DATASETS)]}
        size = (site_folder / "data.json").write_text(json.dumps(content))
        for _ in range(options.repeat):
            with scratch(options.folder) as folder:
                first.append(crawl_into(folder, f"{site}/data.json"))
                bare.append(bare_records("data_json", f"{site}/data.json", folder / "bare"))
                again.append(crawl_into(folder, f"{site}/data.json"))
                same = alike(folder / "ours" / "datasets", folder / "bare")
    yield Row("the file", f"{size / 2**20:.0f} MiB")
    kept = compared(first, bare, "cpu").median <= TIMES_BARE
    yield Row("processor, to a bare loop", against(first, bare, "cpu"), f"at most {TIMES_BARE:g}x", kept=kept)
    yield Row("again, nothing changed", against(again, bare, "cpu"))
    yield Row("peak", f"{peak(first):.0f} MiB")
    yield all_alike(same, DATASETS)


def record(number: int) -> dict[str, Any]:
    """Return a dataset of the DCAT catalogue as Project Open Data has it."""
    said = defaultdict[str, list[Any]](list)
    for name, value in dataset(number, labelled=False).properties:
        said[name.partition(":")[2]].append(value)
    texts = {name: said[name][0].text for name in ("identifier", "title", "description", "issued", "modified")}
    start, end = (value.text for _, value in said["temporal"][0].properties)
    iri = iri_of(number)
    return {
        "@type": "dcat:Dataset",
        "accessLevel": "public",
        "license": LICENCE,
        "landingPage": f"{iri}.html",
        **texts,
        "keyword": [word.text for word in said["keyword"]],
        "publisher": {"@type": "org:Organization", "name": said["publisher"][0].properties[0][1].text},
        "contactPoint": {"fn": f"Desk {number % 500}", "hasEmail": f"mailto:desk{number % 500}@example.org"},
        "temporal": f"{start}/{end}",
        "accrualPeriodicity": "R/P1Y",
        "distribution": [
            {
                "@type": "dcat:Distribution",
                "title": f"{name}: {texts['title']}",
                "mediaType": media_type,
                "format": name,
                "downloadURL": f"{iri}/distribution/{nth}/data.{suffix}",
            }
            for nth, (name, suffix, media_type) in zip(range(DISTRIBUTIONS[number % 10]), FILES * 2, strict=False)
        ],
    }
