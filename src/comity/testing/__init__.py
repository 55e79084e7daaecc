"""Tests of Comity and its plugins: Hypothesis strategies, and slow references to compare with. Needs `hypothesis`."""
