"""The functions of the expression language, each a record that says all that is known of it.

Every function is missing when an argument is missing (`coalesce` apart) or of the wrong kind, so a function body
sees good values only. A new function is a record in one of the tuples here, and nothing else.
"""

from __future__ import annotations

from comity.expression.functions.numbers import NUMBER_FUNCTIONS
from comity.expression.functions.record import Arguments, Function, NoCounterpartError, XPathCall
from comity.expression.functions.spellings import SPELLING_FUNCTIONS
from comity.expression.functions.texts import TEXT_FUNCTIONS
from comity.expression.functions.times import TIME_FUNCTIONS

__all__ = ["FUNCTIONS", "LANGUAGE_FORMS", "Arguments", "Function", "NoCounterpartError", "XPathCall"]

FUNCTIONS: dict[str, Function] = {
    function.name: function for function in (*TEXT_FUNCTIONS, *NUMBER_FUNCTIONS, *SPELLING_FUNCTIONS, *TIME_FUNCTIONS)
}
"""By name. `coalesce` (the first that is present), `lookup`, `value` and `quantity` (units) are part of the language
itself.
"""

LANGUAGE_FORMS = frozenset({"coalesce", "lookup", "value", "quantity", "duration", "bytes"})
"""Names that look like functions and are part of the grammar; no function can have one of them."""
