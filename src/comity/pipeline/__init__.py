"""Runs a plan on Spark; the only package that imports pyspark."""
