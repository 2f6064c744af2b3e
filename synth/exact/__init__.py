"""The exact engine: one pseudo-Boolean model, two solvers, three encodings."""
