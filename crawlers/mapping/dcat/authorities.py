"""English labels of the themes that European catalogues name by IRI only."""

from __future__ import annotations

import re

_DATA_THEMES = """
AGRI Agriculture, fisheries, forestry and food
ECON Economy and finance
EDUC Education, culture and sport
ENER Energy
ENVI Environment
GOVE Government and public sector
HEAL Health
INTR International issues
JUST Justice, legal system and public safety
OP_DATPRO Provisional data
REGI Regions and cities
SOCI Population and society
TECH Science and technology
TRAN Transport
"""
_HIGH_VALUE = """
c_164e0bf5 Meteorological
c_a9135398 Companies and company ownership
c_ac64a52d Geospatial
c_b79e35eb Mobility
c_dd313021 Earth observation and environment
c_e1da4e07 Statistics
"""
_INSPIRE = """
ac Atmospheric conditions
ad Addresses
af Agricultural and aquaculture facilities
am Area management/restriction/regulation zones and reporting units
au Administrative units
br Bio-geographical regions
bu Buildings
cp Cadastral parcels
ef Environmental monitoring facilities
el Elevation
er Energy resources
ge Geology
gg Geographical grid systems
gn Geographical names
hb Habitats and biotopes
hh Human health and safety
hy Hydrography
lc Land cover
lu Land use
mf Meteorological geographical features
mr Mineral resources
nz Natural risk zones
of Oceanographic geographical features
oi Orthoimagery
pd Population distribution — demography
pf Production and industrial facilities
ps Protected sites
rs Coordinate reference systems
sd Species distribution
so Soil
sr Sea regions
su Statistical units
tn Transport networks
us Utility and governmental services
"""

HIGH_VALUE, INSPIRE = "hvd", "INSPIRE"
"""What a theme of these vocabularies says besides its label."""


def _labels(table: str) -> dict[str, str]:
    return dict(line.split(" ", 1) for line in table.strip().splitlines())


_VOCABULARIES = (
    (r"publications\.europa\.eu/resource/authority/data-theme/", _labels(_DATA_THEMES), None),
    (r"data\.europa\.eu/bna/", _labels(_HIGH_VALUE), HIGH_VALUE),
    (r"inspire\.ec\.europa\.eu/theme/", _labels(_INSPIRE), INSPIRE),
    (r"www\.eionet\.europa\.eu/gemet/(?:[a-z]{2}/)?inspire-theme/", _labels(_INSPIRE), INSPIRE),
)
_IRIS = [(re.compile(rf"https?://{prefix}([A-Za-z_0-9]+)/?"), labels, mark) for prefix, labels, mark in _VOCABULARIES]


def authority(iri: str) -> tuple[str | None, str | None]:
    """The label of a theme, and the mark of its vocabulary.

    >>> authority("http://publications.europa.eu/resource/authority/data-theme/TRAN")
    ('Transport', None)
    >>> authority("http://inspire.ec.europa.eu/theme/ps"), authority("http://data.europa.eu/bna/c_ac64a52d")
    (('Protected sites', 'INSPIRE'), ('Geospatial', 'hvd'))
    >>> authority("http://eurovoc.europa.eu/100156")
    (None, None)
    """
    if "europa.eu/" in iri:
        for pattern, labels, mark in _IRIS:
            if found := pattern.fullmatch(iri):
                return labels.get(found[1]), mark
    return None, None
