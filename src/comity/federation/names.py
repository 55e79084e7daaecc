"""What expressions in the files of a federation can name, beside the attributes of their types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from comity.event.taxonomy import Taxonomy
from comity.event.types import EventType
from comity.expression.extensions import ExtensionFunction
from comity.expression.scope import Scope, Table
from comity.meaning.rates import Rates


@dataclass(frozen=True, slots=True)
class Names:
    """Tables, extension functions, exchange rates and code systems."""

    tables: Mapping[str, Table] = field(default_factory=dict)
    functions: Mapping[str, ExtensionFunction] = field(default_factory=dict)
    rates: Rates | None = None
    codes: Mapping[tuple[str, str], Table] = field(default_factory=dict)

    def scope(self, type: EventType, taxonomy: Taxonomy) -> Scope:
        """The names of a type, and these."""
        return Scope(type, taxonomy, self.tables, functions=self.functions, rates=self.rates, codes=self.codes)
