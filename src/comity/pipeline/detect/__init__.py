"""Patterns on Spark."""
