"""The subscription: a named filter or pattern, parsed and not bound, with its terms."""

from comity.profile.profile import Profile
from comity.profile.terms import Terms

__all__ = ["Profile", "Terms"]
