"""The tables of words that translators edit: each can be read, and says nothing twice."""

from __future__ import annotations

import csv
import re
import tomllib
from pathlib import Path

import langcodes
import pytest

from crawlers.records import languages

ROOT = Path(__file__).parent.parent / "crawlers"
KEYS = {
    "archive/causes.csv": {"kept", "denied", "bug"},
    "archive/links.toml": {"least", "words", "formats"},
    "archive/services.toml": {"wms", "arcgis", "sparql"},
    "archive/signatures.csv": {"0", "zip", "root", "json"},
    "archive/types.csv": {"text/csv", "application/zip"},
    "ecosystem/repository.csv": {"stars", "license"},
    "error_kinds.toml": {"http", "timeout", "bug"},
    "kinds/csw/schemas.toml": {"schema"},
    "kinds/html/mapping/synonyms.toml": {"en", "de", "ja"},
    "kinds/html/words.toml": {"en", "de", "ja"},
    "kinds/oai/software.toml": {"EPrints", "DSpace"},
    "kinds/registry.csv": {"paris", "milano"},
    "operate/sources/keys.csv": {"spider", "settings"},
    "operate/templates/init/sources.toml": set(),
    "operate/templates/workflow/workflows.toml": {"harvest", "ecosystem-sites", "ecosystem-extensions"},
    "kinds/ckan/volatile.toml": set(),
    "listing/other_answers.toml": {"xml", "json", "login"},
    "publish/fields.toml": {"site", "extension"},
    "publish/formats.csv": {"application/json"},
    "publish/packages.toml": {"identifier", "publisher"},
    "records/rdf/contexts.csv": {r"\S+/dcat-us[_-]3[0-9.]*\.jsonld"},
    "records/rdf/terms.csv": {"dct", "dcat"},
    "records/rdf/themes.csv": {"data-theme", "high-value", "inspire"},
    "store/figures/quality.toml": {"findability", "contextuality", "lists"},
    "store/export/dcat-ap.csv": {"dcat:Dataset", "dcat:Distribution", "foaf:Agent"},
    "store/export/dcat-us.csv": {"dcat:Dataset", "org:Organization", "vcard:Kind"},
    "records/file_types.csv": {"CSV", "GEOJSON"},
    "records/countries.csv": {"DE", "GB", "KR"},
    "records/formats.csv": {"text/turtle"},
    "records/format_words.toml": {"en", "de", "ja"},
    "records/frequencies.toml": {"durations", "codes", "en", "de", "ja"},
    "records/languages.csv": {"en", "de", "ja"},
    "records/latitude_first.csv": {"4326", "6318"},
    "records/license_words.toml": {"de", "fr", "ja"},
    "records/licenses.csv": {"cc-by", "odc-odbl"},
    "records/xml/iso_codes.csv": {"date", "role", "scope"},
    "records/xml/links.csv": {"function", "protocol", "ending", "archive"},
    "records/xml/iso_paths.csv": {"record", "identification", "party", "link"},
    "records/no_license.toml": {"en", "de", "ja"},
}
NO_WORDS = (
    "archive/",
    "error_kinds.toml",
    "kinds/ckan/",
    "kinds/csw/",
    "kinds/oai/",
    "operate/",
    "listing/",
    "publish/",
    "store/figures/",
)
WORDS = [name for name in KEYS if name.endswith(".toml") and not name.startswith(NO_WORDS)]
CSV = [name for name in KEYS if name.endswith(".csv")]
ELSEWHERE = ("kinds/api/", "kinds/html/layouts/", "former_names.csv")
"""Those have a reader and tests of their own."""
MAY_BE_EMPTY = {
    "archive/causes.csv": {"error", "then"},
    "kinds/registry.csv": {"title", "country", "arguments", "listed_datasets", "enabled"},
    "ecosystem/repository.csv": {"rest"},
    "store/export/dcat-ap.csv": {"value", "least", "most", "instead"},
    "store/export/dcat-us.csv": {"value", "least", "most", "instead"},
}


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def rows(name: str) -> list[list[str]]:
    return list(csv.reader(line for line in text(name).splitlines() if not line.startswith("#")))


def keys(name: str) -> list[str]:
    return list(tomllib.loads(text(name))) if name.endswith(".toml") else [row[0] for row in rows(name)[1:]]


def test_every_table_is_checked_here():
    found = {path.relative_to(ROOT).as_posix() for kind in ("toml", "csv") for path in ROOT.rglob(f"*.{kind}")}
    assert {name for name in found if not name.startswith(ELSEWHERE)} == set(KEYS)


def test_each_table_says_what_it_is_and_has_what_it_should():
    assert [name for name in KEYS if not text(name).startswith("# ")] == []
    assert {name: lacks for name in KEYS if (lacks := KEYS[name].difference(keys(name)))} == {}
    assert [name for name in WORDS if "# To add a language" not in text(name)] == []


def test_each_word_stands_once_in_its_language():
    wrong = []
    for name in WORDS:
        for language, table in tomllib.loads(text(name)).items():
            if language not in ("durations", "codes") and not langcodes.tag_is_valid(language):
                wrong.append(f"{name}: {language} is no language")
            wrong += [
                f"{name}: {language}: {words}"
                for words in table.values()
                if not words or len(words) != len({" ".join(word.split()) for word in words})
            ]
    assert wrong == []


def test_values_are_known_in_every_language_that_labels_are():
    """English says the licences' own names."""
    labels = set(tomllib.loads(text("kinds/html/mapping/synonyms.toml")))
    for name in ("format_words", "frequencies", "license_words", "no_license"):
        assert labels - set(tomllib.loads(text(f"records/{name}.toml"))) - {"en"} == set(), name


def test_each_row_has_what_the_header_names_and_stands_once():
    wrong = []
    for name in CSV:
        header, *lines = rows(name)
        needed = [place for place, column in enumerate(header) if column not in MAY_BE_EMPTY.get(name, set())]
        wrong += [
            f"{name}: {line}"
            for line in lines
            if len(line) != len(header) or not all(line[place].strip() for place in needed) or lines.count(line) > 1
        ]
    assert wrong == []


def test_a_frequency_is_said_by_one_code_alone():
    met: dict[str, str] = {}
    for table in tomllib.loads(text("records/frequencies.toml")).values():
        for code, words in table.items():
            for word in words:
                key = re.sub(r"[\W_]", "", word.casefold())
                assert met.setdefault(key, code) == code, word


def test_a_code_in_the_table_is_what_the_library_makes_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    known = languages._tags()
    codes = {name: tag for name, tag in known.items() if len(name) < 4 and langcodes.tag_is_valid(name)}
    assert {"en", "eng", "ger", "deu", "gre", "ell", "zho"} <= codes.keys()
    assert {name: langcodes.standardize_tag(name) for name in codes} == codes
    monkeypatch.setattr(languages, "_tag", lambda code: pytest.fail(f"{code} takes the library"))
    languages._language.cache_clear()
    found = languages.languages(["eng", "http://publications.europa.eu/resource/authority/language/FRA", "de"])
    assert found == ["en", "fr", "de"]
