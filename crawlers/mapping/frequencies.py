"""Frequencies into codes of the EU's vocabulary, http://publications.europa.eu/resource/authority/frequency."""

from __future__ import annotations

import re
from functools import lru_cache

_LONGEST = 200

# The code, then Dublin Core's, ISO 19115's, data.gov's and plain words in English, French, German, Spanish and Italian.
_WORDS = """
1MIN: every minute, chaque minute, minütlich, cada minuto, ogni minuto, pt1m
5MIN: every five minutes, every 5 minutes, pt5m
10MIN: every ten minutes, every 10 minutes, pt10m
15MIN: every fifteen minutes, every 15 minutes, pt15m
30MIN: every thirty minutes, every 30 minutes, half hourly, pt30m
HOURLY: every hour, horaire, toutes les heures, stündlich, cada hora, ogni ora, pt1h, pt60m
BIHOURLY: every two hours, pt2h
TRIHOURLY: every three hours, pt3h
12HRS: every twelve hours, every 12 hours, pt12h
CONT: continuous, continual, continu, continuo, kontinuierlich
UPDATE_CONT: continuously updated, continuously, live, real time, realtime, temps réel, en continu, echtzeit, \
laufend, ständig, tiempo real, en tiempo real, tempo reale, in tempo reale, pt1s
DAILY_3: three times a day
DAILY_2: twice a day, twice daily, semidaily, deux fois par jour, zweimal täglich
DAILY: every day, once a day, day, journalier, journalière, quotidien, quotidienne, quotidiennement, tous les jours, \
täglich, diario, diaria, diariamente, cada día, giornaliero, giornaliera, quotidiano, ogni giorno, p1d
WEEKLY_5: five times a week
WEEKLY_3: three times a week, p0.33w
WEEKLY_2: semiweekly, twice a week, twice weekly, deux fois par semaine, zweimal wöchentlich, p3.5d
WEEKLY: every week, once a week, week, hebdomadaire, toutes les semaines, wöchentlich, semanal, semanalmente, \
cada semana, settimanale, ogni settimana, p1w, p7d
BIWEEKLY: every two weeks, fortnightly, every fortnight, toutes les deux semaines, vierzehntägig, zweiwöchentlich, \
alle zwei wochen, cada dos semanas, ogni due settimane, p2w, p14d, p15d
MONTHLY_3: three times a month, p0.33m, p10d
MONTHLY_2: semimonthly, twice a month, bimensuel, bimensuelle, zweimal im monat, quincenal, quindicinale, p0.5m
MONTHLY: every month, once a month, month, mensuel, mensuelle, tous les mois, monatlich, mensual, mensualmente, \
cada mes, mensile, ogni mese, p1m, p30d
BIMONTHLY: every two months, bimestriel, bimestrielle, zweimonatlich, alle zwei monate, bimestral, bimestrale, p2m, p60d
QUARTERLY: every quarter, every three months, quarter, trimestriel, trimestrielle, vierteljährlich, quartalsweise, \
trimestral, trimestralmente, trimestrale, p3m, p90d
ANNUAL_3: three times a year, every four months, quadrimestriel, cuatrimestral, quadrimestrale, p4m, p0.33y, p120d
ANNUAL_2: semiannual, semi annually, biannual, biannually, twice a year, every six months, half yearly, \
every half year, semestriel, semestrielle, halbjährlich, semestral, semestrale, p6m, p0.5y, p180d
ANNUAL: annually, yearly, every year, once a year, year, annuel, annuelle, annuellement, tous les ans, jährlich, \
anual, anualmente, cada año, annuale, ogni anno, p1y, p12m, p365d
BIENNIAL: every two years, biennially, bisannuel, biennal, biennale, zweijährlich, alle zwei jahre, bienal, p2y
TRIENNIAL: every three years, triennal, triennale, dreijährlich, alle drei jahre, trienal, p3y
QUADRENNIAL: every four years, quadriennal, vierjährlich, cuatrienal, quadriennale, p4y
QUINQUENNIAL: every five years, quinquennal, fünfjährlich, alle fünf jahre, quinquenal, quinquennale, p5y
DECENNIAL: every ten years, décennal, zehnjährlich, decenal, decennale, p10y
BIDECENNIAL: every twenty years, p20y
TRIDECENNIAL: every thirty years, p30y
IRREG: irregular, irregularly, irrégulier, irrégulière, unregelmäßig, irregolare
AS_NEEDED: as required, ad hoc, adhoc, on demand, punctual, ponctuel, ponctuelle, si besoin, bei bedarf, \
nach bedarf, según sea necesario, cuando sea necesario, quando necessario
NEVER: jamais, nie, niemals, nunca, mai, no longer updated, not updated, static, one off, historical
NOT_PLANNED: none planned, no update planned, non planifié, nicht geplant, no planificado, non pianificato
OTHER: autre, andere, sonstige, otro, otra, altro
UNKNOWN: inconnu, inconnue, unbekannt, desconocido, desconocida, sconosciuto, not known
OP_DATPRO: provisional data
"""
_DURATION = re.compile(r"(?:R[0-9]*/)?(P(?:T?[0-9.]+[YMWDHS])+)", re.IGNORECASE)


def _key(words: str) -> str:
    return "".join(filter(str.isalnum, words.casefold()))


def _entries() -> dict[str, str]:
    """``P0.5M`` and ``P05M`` are one key: no source writes the second."""
    lines = (line.partition(": ") for line in _WORDS.strip().splitlines())
    return {_key(word): code for code, _, words in lines for word in (code, *words.split(","))}


_CODES = _entries()


def frequency(text: str) -> str | None:
    """From a code or URI of the EU's, Dublin Core's or ISO 19115's, an ISO 8601 duration, or words of five languages.

    >>> [frequency(text) for text in ("annually", "jährlich", "R/P1Y", "P0.5M", "ANNUAL_2", "as needed")]
    ['ANNUAL', 'ANNUAL', 'ANNUAL', 'MONTHLY_2', 'ANNUAL_2', 'AS_NEEDED']
    >>> frequency("http://purl.org/cld/freq/threeTimesAYear"), frequency("at full moon")
    ('ANNUAL_3', None)
    >>> frequency("http://a.org/codes.xml#MD_MaintenanceFrequencyCode_weekly"), frequency("freq:semiweekly")
    ('WEEKLY', 'WEEKLY_2')
    """
    return _frequency(text) if len(text) <= _LONGEST else None


@lru_cache(maxsize=512)
def _frequency(text: str) -> str | None:
    duration = _DURATION.fullmatch(text.strip())
    word = duration[1] if duration else re.split(r"[/#:]|FrequencyCode_", text.strip().rstrip("/"))[-1]
    return _CODES.get(_key(word))
