"""The datasets that every layout shows: the same ones for the same language, each with more or fewer fields."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import Any

UNSEEN = range(2, 12)
"""The records whose pages are not shown to the learner; 0 is its sample, 1 its further page."""

WORDS = {
    "en": (
        (
            "Street trees|Air quality|Public toilets|Bus stops|School districts|Noise map|Election results|Playgrounds"
            "|Bathing waters|Budget|Crossings|Wind turbines"
        ),
        "Environment Agency|City Council|Transport for the County|Office for Statistics",
        "CC BY 4.0|Open Government Licence v3.0|Public Domain|ODbL 1.0",
        "daily|weekly|monthly|annually",
        "Environment|Transport|Education|Finance",
        "trees|nature|traffic|schools|elections|noise|water|parks",
    ),
    "de": (
        (
            "Straßenbäume|Luftgüte|Öffentliche Toiletten|Haltestellen|Schulbezirke|Lärmkarte|Wahlergebnisse|Spielplätze"
            "|Badegewässer|Haushaltsplan|Bahnübergänge|Windräder"
        ),
        "Umweltamt|Amt für Statistik|Stadtwerke Musterstadt|Vermessungsbüro Süd",
        "Datenlizenz Deutschland Namensnennung 2.0|CC BY 4.0|Datenlizenz Deutschland Zero 2.0|Amtliches Werk",
        "täglich|wöchentlich|monatlich|jährlich",
        "Umwelt|Verkehr|Bildung|Finanzen",
        "Bäume|Natur|Verkehr|Schulen|Wahlen|Lärm|Gewässer|Grünflächen",
    ),
    "es": (
        (
            "Árboles urbanos|Calidad del aire|Aseos públicos|Paradas de autobús|Distritos escolares|Mapa de ruido"
            "|Resultados electorales|Parques infantiles|Aguas de baño|Presupuesto|Pasos a nivel|Aerogeneradores"
        ),
        "Ayuntamiento|Consejería de Medio Ambiente|Instituto de Estadística|Diputación Provincial",
        "CC BY 4.0|Aviso legal de reutilización|Dominio público|ODbL 1.0",
        "diaria|semanal|mensual|anual",
        "Medio ambiente|Transporte|Educación|Hacienda",
        "árboles|naturaleza|tráfico|colegios|elecciones|ruido|agua|parques",
    ),
    "fr": (
        (
            "Arbres d'alignement|Qualité de l'air|Toilettes publiques|Arrêts de bus|Secteurs scolaires|Carte du bruit"
            "|Résultats électoraux|Aires de jeux|Eaux de baignade|Budget|Passages à niveau|Éoliennes"
        ),
        "Mairie|Direction de l'environnement|Régie des transports|Service statistique",
        "Licence Ouverte 2.0|CC BY 4.0|Domaine public|ODbL 1.0",
        "quotidienne|hebdomadaire|mensuelle|annuelle",
        "Environnement|Transports|Éducation|Finances",
        "arbres|nature|circulation|écoles|élections|bruit|eau|parcs",
    ),
    "el": (
        (
            "Δέντρα δρόμων|Ποιότητα αέρα|Δημόσιες τουαλέτες|Στάσεις λεωφορείων|Σχολικές περιφέρειες|Χάρτης θορύβου"
            "|Αποτελέσματα εκλογών|Παιδικές χαρές|Νερά κολύμβησης|Προϋπολογισμός|Διαβάσεις|Ανεμογεννήτριες"
        ),
        "Δήμος|Υπουργείο Περιβάλλοντος|Στατιστική Αρχή|Περιφέρεια",
        "CC BY 4.0|Κοινό κτήμα|ODbL 1.0|CC BY-SA 4.0",
        "ημερήσια|εβδομαδιαία|μηνιαία|ετήσια",
        "Περιβάλλον|Μεταφορές|Παιδεία|Οικονομικά",
        "δέντρα|φύση|κυκλοφορία|σχολεία|εκλογές|θόρυβος|νερό|πάρκα",
    ),
    "ar": (
        (
            "أشجار الشوارع|جودة الهواء|دورات المياه العامة|مواقف الحافلات|المناطق التعليمية|خريطة الضوضاء|نتائج الانتخابات"  # noqa: E501
            "|الملاعب|مياه السباحة|الميزانية|المعابر|توربينات الرياح"
        ),
        "وزارة البيئة|أمانة المدينة|هيئة الإحصاء|هيئة النقل",
        "CC BY 4.0|رخصة البيانات المفتوحة|ملكية عامة|ODbL 1.0",
        "يومي|أسبوعي|شهري|سنوي",
        "البيئة|النقل|التعليم|المالية",
        "أشجار|طبيعة|مرور|مدارس|انتخابات|ضوضاء|مياه|حدائق",
    ),
}
FORMATS = ("CSV", "XLSX", "GeoJSON", "PDF", "SHP", "JSON")


@dataclass(frozen=True)
class File:
    title: str
    url: str
    format: str
    size: str


@dataclass(frozen=True)
class Record:
    """What is true of a dataset.

    Args:
        shows_empty: whether a page has the labels of what is ``None`` or empty, with nothing beside them.
    """

    number: int
    slug: str
    title: str
    description: tuple[str, ...]
    publisher: str
    license: str | None
    issued: str
    modified: str | None
    frequency: str | None
    theme: str | None
    keywords: tuple[str, ...]
    email: str | None
    files: tuple[File, ...]
    related: tuple[Record, ...] = field(default=(), repr=False)
    shows_empty: bool = False

    def truth(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "description": " ".join(self.description),
            "publisher": self.publisher,
            "license": self.license,
            "issued": self.issued,
            "modified": self.modified,
            "frequency": self.frequency,
            "themes": [self.theme] if self.theme else None,
            "keywords": list(self.keywords) or None,
            "contact_email": self.email,
            "resource.url": [one.url for one in self.files] or None,
            "resource.title": [one.title for one in self.files] or None,
            "resource.format": [one.format for one in self.files] or None,
        }


def record(number: int, language: str) -> Record:
    """The sample has every field; its neighbours lack some; two other datasets are related to each."""
    others = tuple(_record((number + step) * 7 + 100, language) for step in (3, 5))
    return replace(_record(number, language), related=others)


def _record(number: int, language: str) -> Record:
    # S311: which page shows what must be the same every time
    chance = random.Random(f"{language}{number}")
    titles, publishers, licenses, frequencies, themes, keywords = (one.split("|") for one in WORDS[language])
    all_there = number == 0
    title = f"{titles[number % len(titles)]} {chance.randint(2005, 2024)}"
    slug = f"ds-{number * 37 + 1000}"

    def perhaps(value: str, share: float = 0.75) -> str | None:
        return value if all_there or chance.random() < share else None

    count = 3 if all_there else chance.choice((0, 1, 2, 4, 5))
    words = chance.sample(keywords, 3 if all_there else chance.choice((0, 1, 2, 4, 5)))
    year = chance.randint(2012, 2022)
    return Record(
        number=number,
        slug=slug,
        title=title,
        description=_description(title, chance, 2 if all_there else chance.randint(1, 3)),
        publisher=chance.choice(publishers),
        license=perhaps(chance.choice(licenses), 0.8),
        issued=f"{year}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}",
        modified=perhaps(f"{year + 1}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"),
        frequency=perhaps(chance.choice(frequencies)),
        theme=perhaps(chance.choice(themes)),
        keywords=tuple(words),
        email=perhaps(f"office{chance.randint(10, 99)}@{chance.choice(('data', 'open', 'info'))}.example.org"),
        files=tuple(_file(slug, title, part, chance) for part in range(count)),
    )


def _description(title: str, chance: random.Random, count: int) -> tuple[str, ...]:
    texts = ("{0}: Lorem ipsum dolor sit amet, consectetur.", "Sed do eiusmod tempor & incididunt.", "Ut enim ad {0}.")
    return tuple(f"{text.format(title)} ({chance.randint(100, 999)} m)" for text in texts[:count])


def _file(slug: str, title: str, part: int, chance: random.Random) -> File:
    kind = chance.choice(FORMATS)
    address = f"https://data.example.org/files/{slug}/{part + 1}.{kind.lower()}"
    return File(f"{title} ({part + 1})", address, kind, f"{chance.randint(1, 900)} KB")
