"""Compiled parts of the simulator."""
