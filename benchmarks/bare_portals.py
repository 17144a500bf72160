"""The loop over portals that comes to mind: ten threads, requests with retries, the same questions to each.

python benchmarks/bare_portals.py sites.csv found.csv
"""

from __future__ import annotations

import csv
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

TIMEOUT = 15
RETRIES = Retry(total=2, backoff_factor=1, status_forcelist=(429, 500, 502, 503, 504), raise_on_status=False)
QUESTIONS: dict[str, tuple[str, dict[str, str]]] = {
    "num_datasets": ("package_search", {"rows": "1", "sort": "metadata_modified desc"}),
    "oldest_modified": ("package_search", {"rows": "1", "sort": "metadata_modified asc"}),
    "ckan_version": ("status_show", {}),
    "num_organizations": ("organization_list", {}),
    "num_groups": ("group_list", {}),
    "num_resources": ("resource_search", {"query": "url:", "limit": "0"}),
}


def visit(site: dict[str, str]) -> dict[str, Any]:
    """Ask a portal; leave it alone after a question that has no answer at all."""
    found: dict[str, Any] = {"name": site["name"]}
    with requests.Session() as session:
        session.trust_env = False
        for scheme in ("http://", "https://"):
            session.mount(scheme, HTTPAdapter(max_retries=RETRIES))
        for field, (action, parameters) in QUESTIONS.items():
            try:
                answer = session.get(f"{site['url']}/api/3/action/{action}", params=parameters, timeout=TIMEOUT)
                found[field] = value(field, answer.json()["result"])
            except (requests.exceptions.JSONDecodeError, KeyError):
                found[field] = None
            except requests.RequestException:
                break
    return found


def value(field: str, result: Any) -> Any:
    if field == "ckan_version":
        return result.get("ckan_version")
    if field == "oldest_modified":
        return result["results"][0]["metadata_modified"]
    return len(result) if isinstance(result, list) else result["count"]


def main(sites: str, found: str) -> None:
    with Path(sites).open(newline="") as file, ThreadPoolExecutor(10) as threads:
        profiles = list(threads.map(visit, csv.DictReader(file)))
    with Path(found).open("w", newline="") as file:
        writer = csv.DictWriter(file, ["name", *QUESTIONS])
        writer.writeheader()
        writer.writerows(profiles)


if __name__ == "__main__":
    main(*sys.argv[1:])
