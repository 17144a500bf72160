"""The document and the item of each page in a folder, by html_pages.RULES, with nothing else of a crawl.

python benchmarks/extraction.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # it is run as a script, from any folder

from benchmarks.html_pages import RULES
from crawlers.kinds.html.mapping import Page, dataset, document, missing
from crawlers.kinds.html.rules import loads
from crawlers.safety import strict_json


def main() -> None:
    rules = loads(RULES)
    names = {rule.name for rule in rules.fields}
    for path in Path(sys.argv[1]).glob("*.html"):
        found = document(Page(path.read_text(encoding="utf-8"), f"http://127.0.0.1/dataset/{path.stem}"), rules)
        if missing(found, rules) or names - found["fields"].keys():
            sys.exit(f"{path} lacks {names - found['fields'].keys()}")
        dataset(found, source="benchmark", id=path.stem)
        strict_json.dumps(found)


if __name__ == "__main__":
    main()
