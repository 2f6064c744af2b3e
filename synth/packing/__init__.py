"""Packing: many chunks, each with its own trees, into a box of steps, by local search."""
