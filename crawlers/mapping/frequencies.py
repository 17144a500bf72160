"""Frequencies into codes of the EU's vocabulary, http://publications.europa.eu/resource/authority/frequency."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_LONGEST = 200

# The code, then Dublin Core's, ISO 19115's, data.gov's and plain words in English, French, German, Spanish, Italian
# and Japanese.
_WORDS = """
1MIN: every minute, chaque minute, minütlich, cada minuto, ogni minuto, pt1m
5MIN: every five minutes, every 5 minutes, pt5m
10MIN: every ten minutes, every 10 minutes, pt10m
15MIN: every fifteen minutes, every 15 minutes, pt15m
30MIN: every thirty minutes, every 30 minutes, half hourly, pt30m
HOURLY: every hour, horaire, toutes les heures, stündlich, cada hora, ogni ora, pt1h, pt60m, \
毎時, 1時間ごと
BIHOURLY: every two hours, pt2h
TRIHOURLY: every three hours, pt3h
12HRS: every twelve hours, every 12 hours, pt12h
CONT: continuous, continual, continu, continuo, kontinuierlich
UPDATE_CONT: continuously updated, continuously, live, real time, realtime, temps réel, en continu, echtzeit, \
laufend, ständig, tiempo real, en tiempo real, tempo reale, in tempo reale, pt1s, \
リアルタイム, 常時, 逐次
DAILY_3: three times a day
DAILY_2: twice a day, twice daily, semidaily, deux fois par jour, zweimal täglich
DAILY: every day, once a day, day, journalier, journalière, quotidien, quotidienne, quotidiennement, tous les jours, \
täglich, diario, diaria, diariamente, cada día, giornaliero, giornaliera, quotidiano, ogni giorno, p1d, \
毎日, 日次, 日ごと, 1日1回
WEEKLY_5: five times a week
WEEKLY_3: three times a week, p0.33w
WEEKLY_2: semiweekly, twice a week, twice weekly, deux fois par semaine, zweimal wöchentlich, p3.5d
WEEKLY: every week, once a week, week, hebdomadaire, toutes les semaines, wöchentlich, semanal, semanalmente, \
cada semana, settimanale, ogni settimana, p1w, p7d, \
毎週, 週次, 週ごと, 週1回
BIWEEKLY: every two weeks, fortnightly, every fortnight, toutes les deux semaines, vierzehntägig, zweiwöchentlich, \
alle zwei wochen, cada dos semanas, ogni due settimane, p2w, p14d, p15d, \
隔週, 2週間ごと
MONTHLY_3: three times a month, p0.33m, p10d
MONTHLY_2: semimonthly, twice a month, bimensuel, bimensuelle, zweimal im monat, quincenal, quindicinale, p0.5m
MONTHLY: every month, once a month, month, mensuel, mensuelle, tous les mois, monatlich, mensual, mensualmente, \
cada mes, mensile, ogni mese, p1m, p30d, \
毎月, 月次, 月ごと, 月1回
BIMONTHLY: every two months, bimestriel, bimestrielle, zweimonatlich, alle zwei monate, bimestral, bimestrale, p2m, \
p60d, 隔月, 2か月ごと, 2ヶ月ごと
QUARTERLY: every quarter, every three months, quarter, trimestriel, trimestrielle, vierteljährlich, quartalsweise, \
trimestral, trimestralmente, trimestrale, p3m, p90d, \
四半期, 四半期ごと, 3か月ごと, 3ヶ月ごと, 年4回
ANNUAL_3: three times a year, every four months, quadrimestriel, cuatrimestral, quadrimestrale, p4m, p0.33y, p120d
ANNUAL_2: semiannual, semi annually, biannual, biannually, twice a year, every six months, half yearly, \
every half year, semestriel, semestrielle, halbjährlich, semestral, semestrale, p6m, p0.5y, p180d, \
半年, 半年ごと, 半期, 年2回, 6か月ごと
ANNUAL: annually, yearly, every year, once a year, year, annuel, annuelle, annuellement, tous les ans, jährlich, \
anual, anualmente, cada año, annuale, ogni anno, p1y, p12m, p365d, \
毎年, 年次, 年ごと, 年度ごと, 毎年度, 年1回, 1年ごと
BIENNIAL: every two years, biennially, bisannuel, biennal, biennale, zweijährlich, alle zwei jahre, bienal, p2y, \
隔年, 2年ごと
TRIENNIAL: every three years, triennal, triennale, dreijährlich, alle drei jahre, trienal, p3y, \
3年ごと
QUADRENNIAL: every four years, quadriennal, vierjährlich, cuatrienal, quadriennale, p4y
QUINQUENNIAL: every five years, quinquennal, fünfjährlich, alle fünf jahre, quinquenal, quinquennale, p5y, \
5年ごと
DECENNIAL: every ten years, décennal, zehnjährlich, decenal, decennale, p10y, \
10年ごと
BIDECENNIAL: every twenty years, p20y
TRIDECENNIAL: every thirty years, p30y
IRREG: irregular, irregularly, irrégulier, irrégulière, unregelmäßig, irregolare, \
不定期
AS_NEEDED: as required, ad hoc, adhoc, on demand, punctual, ponctuel, ponctuelle, si besoin, bei bedarf, \
nach bedarf, según sea necesario, cuando sea necesario, quando necessario, \
随時, 適宜, 必要に応じて, 都度
NEVER: jamais, nie, niemals, nunca, mai, no longer updated, not updated, static, one off, historical, \
更新なし, 更新しない, 更新終了
NOT_PLANNED: none planned, no update planned, non planifié, nicht geplant, no planificado, non pianificato, \
更新予定なし
OTHER: autre, andere, sonstige, otro, otra, altro, \
その他
UNKNOWN: inconnu, inconnue, unbekannt, desconocido, desconocida, sconosciuto, not known, \
不明, 未定
OP_DATPRO: provisional data
"""
_DURATION = re.compile(r"(?:R[0-9]*/)?(P(?:T?[0-9.]+[YMWDHS])+)", re.IGNORECASE)


def _key(words: str) -> str:
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", words).casefold()))


def _entries() -> dict[str, str]:
    """``P0.5M`` and ``P05M`` are one key: no source writes the second."""
    lines = (line.partition(": ") for line in _WORDS.strip().splitlines())
    return {_key(word): code for code, _, words in lines for word in (code, *words.split(","))}


_CODES = _entries()


def frequency(text: str) -> str | None:
    """From a code or URI of the EU's, Dublin Core's or ISO 19115's, an ISO 8601 duration, or words of six languages.

    >>> [frequency(text) for text in ("annually", "jährlich", "R/P1Y", "P0.5M", "ANNUAL_2", "as needed")]
    ['ANNUAL', 'ANNUAL', 'ANNUAL', 'MONTHLY_2', 'ANNUAL_2', 'AS_NEEDED']
    >>> frequency("http://purl.org/cld/freq/threeTimesAYear"), frequency("at full moon")
    ('ANNUAL_3', None)
    >>> frequency("http://a.org/codes.xml#MD_MaintenanceFrequencyCode_weekly"), frequency("freq:semiweekly")
    ('WEEKLY', 'WEEKLY_2')
    >>> frequency("年１回"), frequency("随時"), frequency("四半期ごと")
    ('ANNUAL', 'AS_NEEDED', 'QUARTERLY')
    """
    return _frequency(text) if len(text) <= _LONGEST else None


@lru_cache(maxsize=512)
def _frequency(text: str) -> str | None:
    duration = _DURATION.fullmatch(text.strip())
    word = duration[1] if duration else re.split(r"[/#:]|FrequencyCode_", text.strip().rstrip("/"))[-1]
    return _CODES.get(_key(word))
