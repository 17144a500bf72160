"""RDF in which others say all of a dataset."""

from __future__ import annotations

import io

from crawlers.kinds.dcat.rules import loads
from crawlers.kinds.dcat.translation import TaughtPage
from crawlers.records.rdf import formats
from crawlers.records.rdf.terms import TYPE

RULES = """[rdf]
class = "ex:Chart"
prefixes.ex = "https://a.org/ns#"
fields.title = ["ex:name", "^ex:about/ex:name"]
"""
TRIPLES = f"""<https://a.org/1> <{TYPE}> <https://a.org/ns#Chart> .
<https://a.org/note> <https://a.org/ns#about> <https://a.org/1> .
<https://a.org/note> <https://a.org/ns#name> "One" .
<https://a.org/2> <{TYPE}> <https://a.org/ns#Chart> .
<https://a.org/2> <https://a.org/ns#name> "Two" .
<https://a.org/3> <{TYPE}> <https://a.org/ns#Chart> .
"""


def test_a_dataset_of_which_only_others_say_something() -> None:
    """Of the third one nobody says anything."""
    triples, of_lines = io.BytesIO(TRIPLES.encode()), formats.by_suffix("a.nt")
    assert of_lines
    page = TaughtPage(loads(RULES, "harbour"), triples, of_lines, "https://a.org/", name="s", language=None)
    list(page.load())
    assert [record.item().title for record in page.records()] == ["One", "Two"]
    page.close()
