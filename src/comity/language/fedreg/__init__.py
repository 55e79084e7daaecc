"""FedReg, the registration language of the federation in the seeds: subscriptions in XML, read and printed.

The language is described in docs/reference/fedreg.md. It is read here, above profiles, because what a value in it means
is up to the type of the attribute.
"""

from comity.language.fedreg.read import is_fedreg, read_fedreg
from comity.language.fedreg.subscription import FEDREG_URI, Subscription
from comity.language.fedreg.write import Printed, to_fedreg

__all__ = ["FEDREG_URI", "Printed", "Subscription", "is_fedreg", "read_fedreg", "to_fedreg"]
