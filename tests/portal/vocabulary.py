"""The words that the invented datasets are made of: no dataset, organisation or person here exists."""

COUNTRIES = (
    ("afg", "Afghanistan"),
    ("bfa", "Burkina Faso"),
    ("civ", "Côte d'Ivoire"),
    ("cod", "Democratic Republic of the Congo"),
    ("ecu", "Ecuador"),
    ("eth", "Ethiopia"),
    ("hti", "Haïti"),
    ("idn", "Indonesia"),
    ("ken", "Kenya"),
    ("mmr", "Myanmar"),
    ("npl", "Nepal"),
    ("phl", "Philippines"),
    ("pse", "State of Palestine"),
    ("sdn", "Sudan"),
    ("syr", "Syrian Arab Republic"),
    ("tur", "Türkiye"),
    ("ukr", "Ukraine"),
    ("yem", "Yemen"),
)

TOPICS = (
    ("water points", ("water sanitation and hygiene-wash", "facilities-infrastructure")),
    ("health facilities", ("health", "health facilities")),
    ("market prices of staple food", ("food security", "markets", "prices")),
    ("school registrations", ("education", "children")),
    ("road network", ("roads", "transportation", "geodata")),
    ("flood extent", ("flooding", "hazards and risk", "geodata")),
    ("displacement sites", ("displacement", "internally displaced persons-idp")),
    ("population by age and sex", ("demographics", "population")),
    ("rainfall at district level", ("climate-weather", "rainfall")),
    ("who does what where", ("operational presence", "who is doing what and where-3w-4w-5w")),
    ("building footprints", ("facilities-infrastructure", "geodata")),
    ("earthquake shaking", ("earthquake-tsunami", "affected population")),
)

ORGANIZATIONS = (
    ("river-gauge-network", "River Gauge Network"),
    ("atlas-of-shelter", "Atlas of Shelter & Settlements"),
    ("observatoire-des-marches", "Observatoire des marchés"),
    ("mapas-abiertos", "Mapas Abiertos de la Región"),
    ("open-clinics", "Open Clinics Register"),
    ("statistics-house", "Statistics House"),
    ("early-warning-desk", "Early Warning Desk"),
)

TITLES = (
    "{country} - {topic}",
    "{country}: {topic} (2019 bis 2026)",
    "بيانات مفتوحة: {topic} - {country}",
    "{topic} in {country}, résumé par région, été 🌊",
    "人道主义数据 {country} {topic}",
    "{country} 🌍 {topic} 🚰",
    'Übersicht "{topic}" & more: {country}',
    "  {topic}  of {country} ",
)

SENTENCES = (
    "This dataset gives the **{topic}** of {country} as they were reported by the field offices.",
    "Each row is one place; the codes are those of the second administrative level.",
    "Values that could not be confirmed by a second visit are left empty rather than estimated.",
    "A description of the columns is in the [reading guide](https://example.org/guide?topic=1&lang=en).",
    "Les chiffres provisoires sont marqués d'un astérisque ; ils changent jusqu'à la fin du trimestre.",
    "Population figures are rounded to the next ten, *never* to the next hundred.",
    "Places without coordinates are joined to the centre of their district (see `place_code`).",
    "The survey took place in the dry season, when the roads are open; mountain districts were reached by air.",
    "Compared with the year before, about a third of the places is new & some were merged.",
    "يتم تحديث البيانات عند الحاجة فقط.",
)

CAVEATS = (
    "",
    "Districts in the north were not visited.\r\n\r\nTheir figures are those of the year before.",
    "Boundaries and names do not imply acceptance by anybody: they are here to test software.",
    None,
)

LICENSES = (
    ("cc-by", "Creative Commons Attribution International", "https://creativecommons.org/licenses/by/4.0/legalcode"),
    (
        "cc-by-igo",
        "Creative Commons Attribution for Intergovernmental Organisations",
        "https://creativecommons.org/licenses/by/3.0/igo/legalcode",
    ),
    ("hdx-odc-odbl", "Open Database License (ODC-ODbL)", "https://opendatacommons.org/licenses/odbl/1-0/"),
    ("hdx-other", "Other", None),
    ("hdx-multi", "Multiple Licenses", ""),
    (
        "cc-by-sa",
        "Creative Commons Attribution Share-Alike (CC BY-SA)",
        "https://creativecommons.org/licenses/by-sa/4.0/legalcode",
    ),
)

METHODOLOGIES = ("Census", "Sample Survey", "Registry", "Direct Observational Data/Anecdotal Data", "Other")

FREQUENCIES = {
    "1": "Every day",
    "7": "Every week",
    "14": "Every two weeks",
    "30": "Every month",
    "90": "Every three months",
    "180": "Every six months",
    "365": "Every year",
    "0": "Live",
    "-2": "As needed",
    "-1": "Never",
}

FORMATS = (
    ("CSV", "csv", "text/csv"),
    ("GeoJSON", "geojson", "application/geo+json"),
    ("XLSX", "xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("SHP", "zip", "application/zip"),
    ("JSON", "json", None),
)
