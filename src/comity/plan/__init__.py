"""Plans: what happens to the events of a federation, as data that a runner carries out."""

from comity.plan.compile import compile_plan
from comity.plan.stages import Delivery, Plan, Route, Summary

__all__ = ["Delivery", "Plan", "Route", "Summary", "compile_plan"]
