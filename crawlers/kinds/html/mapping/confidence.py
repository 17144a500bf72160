"""How sure a value is, from 0 to 1.

A field's confidence is that of how it was found, times a factor for each thing that speaks against it:

====================================================  ======
a constant                                             1
one element by id, ``itemprop``, ``property``, ``h1``  1
one element by any other selector                      0.95
the same by a position: ``nth-child``, ``[2]``         0.85
a label as the rule writes it                          1
a label that is a word for the field                   0.95
the same where the rule names other labels             0.9
a label that is like one of these                      its likeness, 0.94 at most
several elements or labels that differ, not ``many``   x 0.8
a label in a sidebar, and nowhere else                 x 0.9
one in a header, a footer, a navigation, comments,
related datasets, a search                             x 0.5
a date, an e-mail address or a web address unreadable  x 0.5
a text that was cut                                    x 0.8
====================================================  ======

What is empty has no confidence: the field is absent. What is less sure than `LEAST` stays in the document, and does not
reach the item.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crawlers.kinds.html.rules import Rule

LEAST = 0.6
SURE = 1.0
SYNONYM = 0.95
OTHER_WORD = 0.9
ALIKE = 0.94
AMBIGUOUS = 0.8
BESIDE = 0.9
OUTSIDE = 0.5
UNREADABLE = 0.5
CUT = 0.8

_NAMED = re.compile(
    r"@(?:id|itemprop|property|name|data-[\w-]+)\b|#[\w-]|\[(?:id|itemprop|property|name|data-)|(?:^|[\s/>])(?:h1|title)\b"
)
_COUNTED = re.compile(r":nth-|:first-|:last-|\[\s*[0-9]+\s*\]|position\(\)|last\(\)")


@lru_cache(maxsize=1024)
def of_selector(rule: Rule) -> float:
    """
    >>> from crawlers.kinds.html.rules import Rule
    >>> [of_selector(Rule(name="title", xpath="", css=css)) for css in ("#name b", "p.name", "p:nth-child(2)")]
    [1.0, 0.95, 0.85]
    """
    written = rule.css or rule.xpath or ""
    if _COUNTED.search(written):
        return 0.85
    return SURE if _NAMED.search(written) else 0.95
