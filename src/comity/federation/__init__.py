"""Domains, contracts and profiles: the files and the model."""

from comity.federation.files import load
from comity.federation.model import Contract, Domain, Federation, Subscription

__all__ = ["Contract", "Domain", "Federation", "Subscription", "load"]
