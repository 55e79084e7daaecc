"""The subscription: a named filter, and the files that hold many of them."""

from comity.profile.files import read_profiles
from comity.profile.profile import Profile

__all__ = ["Profile", "read_profiles"]
