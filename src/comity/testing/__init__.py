"""For tests of Comity and of what plugs into it: Hypothesis strategies, and slow references to compare with. Needs `hypothesis`."""
