"""Proposals for contracts between two types: which attributes mean the same, how each side gives them, what a person
must decide.
"""

from comity.contract.suggest.proposal import Decision, Proposal, ProposedAttribute, Unmatched
from comity.contract.suggest.propose import contract_name, propose
from comity.contract.suggest.written import contract_text

__all__ = ["Decision", "Proposal", "ProposedAttribute", "Unmatched", "contract_name", "contract_text", "propose"]
