"""How fine a dataset is: in metres, and in time."""

from __future__ import annotations

import re

_LONGEST = 100
_DISTANCE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(?:[eE]([-+]?[0-9]))? ?([^\W\d]{0,12})\.?")
_METRES = {
    **dict.fromkeys(("", "m", "meter", "meters", "metre", "metres", "metro", "metros", "mètres", "metri"), 1.0),
    **dict.fromkeys(("km", "kilometer", "kilometers", "kilometre", "kilometres", "kilómetros"), 1000.0),
    **dict.fromkeys(("cm", "centimeter", "centimeters", "centimetre", "centimetres"), 0.01),
    **dict.fromkeys(("mm", "millimeter", "millimeters", "millimetre", "millimetres"), 0.001),
    **dict.fromkeys(("ft", "foot", "feet"), 0.3048),
}
_DURATION = re.compile(
    r"P(?=[0-9T])(?:[0-9]{1,6}Y)?(?:[0-9]{1,6}M)?(?:[0-9]{1,6}W)?(?:[0-9]{1,6}D)?"
    r"(?:T(?=[0-9])(?:[0-9]{1,6}H)?(?:[0-9]{1,6}M)?(?:[0-9]{1,6}(?:\.[0-9]{1,9})?S)?)?"
)


def metres(text: str) -> float | None:
    """Return a distance on the ground in metres; degrees and scales are none.

    >>> metres("10"), metres("0.5 km"), metres("30 metres"), metres("3.0E1"), metres("1:5000"), metres("0.25 degrees")
    (10.0, 500.0, 30.0, 30.0, None, None)
    """
    found = _DISTANCE.fullmatch(text.strip()) if len(text) <= _LONGEST else None
    unit = _METRES.get(found[3].casefold()) if found else None
    if not found or unit is None:
        return None
    return round(float(f"{found[1]}e{found[2] or 0}") * unit, 9) or None


def duration(text: str) -> str | None:
    """Return an ISO 8601 duration.

    >>> duration("p1d"), duration("PT15M"), duration("P"), duration("daily")
    ('P1D', 'PT15M', None, None)
    """
    text = text.strip().upper() if len(text) <= _LONGEST else ""
    return text if _DURATION.fullmatch(text) else None
